"""The record in a folder of translations: how they were made, and the checksums of each shard that is finished.

One JSON object a line, appended whole, so a killed process loses nothing but the shards it was at.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from openwork import __version__
from openwork.base.errors import OpenworkError
from openwork.base.folders import locked
from openwork.base.outputs import check_new_folder
from openwork.base.records import RecordWriter, read_records
from openwork.inference.bulk.shards import Shard
from openwork.inference.bulk.work import ShardResult, ShardSums

NAME = "_translated.jsonl"
LOCK = ".translated.lock"


class TranslationRecord:
    """What is known of the shards of a folder. `open_record` makes one."""

    def __init__(self, out: Path, writer: RecordWriter) -> None:
        self._path = out / NAME
        self._writer = writer
        self._planned: set[str] = set()
        self._finished: dict[str, ShardSums] = {}
        self._identity: Mapping[str, Any] | None = None
        try:
            for record in read_records(self._path):
                self._take(record)
        except (KeyError, TypeError) as error:
            raise OpenworkError(
                f"{self._path}: not the record of translations",
                why=f"{type(error).__name__}: {error}",
                hint="name a new or empty folder",
                code="E042",
            ) from error

    def _take(self, record: Mapping[str, Any]) -> None:
        match record["kind"]:
            case "plan":
                self._identity = dict(record["identity"])
            case "shards":
                self._planned.update(record["names"])
            case "finished":
                sums = ShardSums(record["source"], record["translation"], int(record["lines"]))
                self._finished[record["name"]] = sums
            case "failed":
                self._finished.pop(record["name"], None)

    def plan(self, identity: Mapping[str, Any], shards: Iterable[Shard]) -> None:
        """Notes how these shards will be translated.

        OpenworkError if those that are here were made otherwise, or if a file of the user would be replaced.
        """
        if self._identity is None:
            self._writer.write("plan", openwork=__version__, identity=identity)
        elif changes := _changes(self._identity, identity):
            raise OpenworkError(
                f"{self._path.parent}: the translations in this folder were made otherwise: {'; '.join(changes[:5])}",
                why="a folder holds translations of one kind",
                hint="give the same bundle and options to go on, or name a new folder",
                code="E043",
            )
        new = [shard for shard in shards if shard.name not in self._planned]
        for shard in new:
            if shard.target.exists():
                raise OpenworkError(
                    f"{shard.target}: there already, and this command did not write it",
                    hint="name a new or empty folder, or remove the file",
                    code="E044",
                )
        if new:
            self._writer.write("shards", names=[shard.name for shard in new])

    def before(self, shard: Shard) -> ShardSums | None:
        """What an earlier call has noted of a shard that it finished."""
        return self._finished.get(shard.name)

    def put(self, result: ShardResult) -> None:
        if result.is_kept:
            return
        if result.sums is None:
            self._writer.write("failed", name=result.name, problem=str(result.problem))
        else:
            seconds = round(result.seconds, 3)
            self._writer.write("finished", name=result.name, seconds=seconds, **vars(result.sums))


@contextlib.contextmanager
def open_record(out: Path, reads: Iterable[Path | None]) -> Iterator[TranslationRecord]:
    """Yields the record of a folder, which is made; meanwhile no other process translates into it.

    `reads`: what the command reads, and must not write to. UsageError for a folder with other things in it.
    """
    check_new_folder(out, reads, is_own=_is_own)
    out.mkdir(parents=True, exist_ok=True)
    busy = OpenworkError(
        f"{out}: another openwork is translating into this folder",
        hint="wait for it, or give another --out",
        code="E045",
    )
    with locked(out / LOCK, busy), RecordWriter(out / NAME) as writer:
        yield TranslationRecord(out, writer)


def _is_own(out: Path) -> bool:
    """Whether this command has made the folder, and perhaps was killed before its record was there."""
    return (out / NAME).is_file() or {path.name for path in out.iterdir()} == {LOCK}


def _changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The values that differ, as `key: old -> new`; checksums by their keys alone."""
    keys = [key for key in dict.fromkeys((*before, *now)) if before.get(key) != now.get(key)]
    return [
        key if key in ("bundles", "terms", "shortlist") else f"{key}: {before.get(key)} -> {now.get(key)}"
        for key in keys
    ]
