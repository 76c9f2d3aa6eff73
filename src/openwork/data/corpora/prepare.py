"""A corpus with a name as plain text files, one sentence a line: fetched, filtered, written whole or not at all."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from openwork.base.config import fingerprint
from openwork.base.errors import DataError, OpenworkError
from openwork.base.files import atomic_file, atomic_write_text, sha256_file, writing
from openwork.base.limits import LENGTH, RATIO
from openwork.base.outputs import check_new_folder
from openwork.base.printing import json_text
from openwork.data.corpora import catalogue as corpora
from openwork.data.corpora.download import Progress, silent
from openwork.data.filters import FilterSettings, apply
from openwork.data.records import Pair
from openwork.machine.pool import OneProcess, Pool

RECORD = "prepared.json"
PARTS = "parts"  # of splits; a folder of this name is hidden, and there only meanwhile
_EVERYTHING = FilterSettings(maximum_characters=LENGTH, maximum_ratio=RATIO, drop_blank=False)


@dataclass(frozen=True)
class PreparedSplit:
    """One split as two files. `left_out`: pairs that filters left out, by reason; `kept`: it was there already;
    `absent`: why there is no such split."""

    name: str
    files: tuple[str, str]
    pairs: int = 0
    left_out: dict[str, int] | None = None
    kept: bool = False
    absent: str = ""

    def to_json(self) -> dict[str, object]:
        if self.absent:
            return {"absent": self.absent}
        return {"files": list(self.files), "pairs": self.pairs, "left_out": self.left_out or {}, "kept": self.kept}


@dataclass(frozen=True)
class CorpusRange:
    """The pairs of a split from `start` to `stop` (None: to its end), and the two files that they are written to."""

    corpus: str
    split: str
    folder: Path | None
    filters: FilterSettings
    bounds: tuple[int, int | None]
    files: tuple[Path, Path]


@dataclass(frozen=True)
class WrittenRange:
    """How many pairs of a range were kept, and left out by reason. `absent`: why there is no such split."""

    pairs: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    absent: DataError | None = None


def write_range(part: CorpusRange) -> WrittenRange:
    """Filters a range of a split and writes it. All pairs before it are read, and passed over."""
    try:
        pairs = corpora.load(part.corpus, part.split, part.folder)
    except DataError as error:
        return WrittenRange(absent=error)
    kept, report = apply(islice(pairs, *part.bounds), part.filters)
    _write(kept, *part.files)
    return WrittenRange(report.kept, {reason: dropped.count for reason, dropped in report.dropped.items()})


def prepare(
    name: str,
    out: Path,
    filters: FilterSettings,
    *,
    folder: Path | None = None,
    progress: Progress = silent,
    pool: Pool | None = None,
    shards: int = 1,
) -> Iterator[PreparedSplit]:
    """Write train, valid and test of a corpus into the folder `out`, and yield each split when it is there.

    Only training pairs are filtered. A split that an earlier call has written in the same way stays. `progress`
    receives the progress of a download. The workers of `pool` write the training pairs in so many `shards`, which are
    joined, and the other splits; the files are the same for any pool. `OpenworkError` for a folder that holds anything
    else than what an earlier call has written.
    """
    corpus = corpora.find(name)
    record = _Record(out, name)
    endings = corpus.languages or ("source", "target")
    planned = {split: (f"{split}.{endings[0]}", f"{split}.{endings[1]}") for split in corpora.ROLES}
    for files in planned.values():
        record.need_free(files)
    corpora.fetch(name, folder, progress)
    chosen = {split: fingerprint(filters) if split == "train" else "" for split in planned}
    before = {split: record.whole(split, files, chosen[split]) for split, files in planned.items()}
    missing = [split for split in planned if before[split] is None]
    with ExitStack() as stack:
        _, parts = stack.enter_context(writing(out / PARTS))
        if missing:
            parts.mkdir()
        ranges = {split: _ranges(name, split, folder, filters, (parts, shards)) for split in missing}
        written = stack.enter_context(closing(_by_split(pool or OneProcess(), ranges)))
        for split, files in planned.items():
            if (entry := before[split]) is not None:
                yield PreparedSplit(split, files, entry["pairs"], entry["left_out"], kept=True)
                continue
            done = next(written)
            if absent := done[0].absent:
                if split == "train":
                    raise absent
                yield PreparedSplit(split, files, absent=absent.what)
                continue
            left_out = Counter[str]()
            for part in done:
                left_out.update(part.left_out)
            pairs = sum(part.pairs for part in done)
            record.put(split, dict.fromkeys(files, ""), "", 0, {})  # from here on these files are ours, whole or not
            for side, file in enumerate(files):
                _join([part.files[side] for part in ranges[split]], out / file)
            record.put(split, {file: sha256_file(out / file) for file in files}, chosen[split], pairs, dict(left_out))
            yield PreparedSplit(split, files, pairs, dict(left_out))


def _ranges(
    name: str, split: str, folder: Path | None, filters: FilterSettings, parts: tuple[Path, int]
) -> list[CorpusRange]:
    """The ranges of a split: as many as wanted of the training pairs, where their number is known.

    `parts`: the folder for their files, and the number wanted. The last range has no end, since the number may differ.
    """
    size = corpora.find(name).pairs[0] if split == "train" else None
    count = parts[1] if size is not None else 1
    starts = [(size or 0) * number // count for number in range(count)]
    chosen = filters if split == "train" else _EVERYTHING
    place = None if folder is None else folder.absolute()  # a worker may run in another folder
    return [
        CorpusRange(
            name, split, place, chosen, bounds,
            (parts[0] / f"{split}.{number}.source", parts[0] / f"{split}.{number}.target"),
        )
        for number, bounds in enumerate(zip(starts, [*starts[1:], None], strict=True))
    ]  # fmt: skip


def _by_split(pool: Pool, ranges: Mapping[str, list[CorpusRange]]) -> Generator[list[WrittenRange], None, None]:
    """Yields what was written of each split in its turn, as soon as all its ranges are there."""
    items = [part for parts in ranges.values() for part in parts]
    found: dict[tuple[Path, Path], WrittenRange] = {}
    with closing(pool.run(lambda: write_range, items)) as results:
        for parts in ranges.values():
            while not all(part.files in found for part in parts):
                part, result = next(results)
                if isinstance(result, OpenworkError):
                    raise result
                found[part.files] = result
            yield [found[part.files] for part in parts]


def _write(pairs: Iterator[Pair], source: Path, target: Path) -> None:
    with ExitStack() as stack:
        partials = [stack.enter_context(atomic_file(path)) for path in (source, target)]
        files = [stack.enter_context(partial.open("w", encoding="utf-8", newline="\n")) for partial in partials]
        for pair in pairs:
            for file, text in zip(files, pair, strict=True):
                file.write(text.replace("\n", " ") + "\n")


def _join(parts: Sequence[Path], path: Path) -> None:
    """Writes the parts one behind another, and removes them; a single one is only renamed."""
    with atomic_file(path) as partial:
        os.replace(parts[0], partial)
        with partial.open("ab") as joined:
            for part in parts[1:]:
                with part.open("rb") as file:
                    shutil.copyfileobj(file, joined, 1 << 20)
                part.unlink()


class _Record:
    """The file in a prepared folder by which a second call knows which files are its own, and whole."""

    def __init__(self, out: Path, corpus: str) -> None:
        self._path = out / RECORD
        if out.exists() and not out.is_dir():
            raise OpenworkError(f"{out}: --out is a file", hint="name a folder, it will be made", code="E013")
        check_new_folder(out, is_own=lambda _: self._path.exists())
        self._values: dict[str, Any] = self._read() if self._path.exists() else {"corpus": corpus, "splits": {}}
        if self._values["corpus"] != corpus:
            raise OpenworkError(
                f"{out}: the folder holds the corpus {self._values['corpus']}",
                hint="name a new or empty folder",
                code="E014",
            )

    def need_free(self, files: tuple[str, str]) -> None:
        """Refuse to overwrite what an earlier call has not written."""
        own = {file for split in self._values["splits"].values() for file in split["files"]}
        for file in files:
            path = self._path.with_name(file)
            if path.exists() and file not in own:
                raise OpenworkError(
                    f"{path}: a file of that name is there already", hint="name a new or empty folder", code="E015"
                )

    def whole(self, split: str, files: tuple[str, str], filters: str) -> dict[str, Any] | None:
        """What is known of a split that was written in this very way and has not changed since."""
        entry = self._values["splits"].get(split)
        if entry is None or entry["filters"] != filters or set(entry["files"]) != set(files):
            return None
        paths = {self._path.with_name(file): digest for file, digest in entry["files"].items()}
        return entry if all(path.is_file() and sha256_file(path) == digest for path, digest in paths.items()) else None

    def put(self, split: str, digests: dict[str, str], filters: str, pairs: int, left_out: dict[str, int]) -> None:
        corpus = corpora.find(self._values["corpus"])
        self._values |= {"terms": corpus.terms, "origin": corpus.origin}
        self._values["splits"][split] = {"files": digests, "filters": filters, "pairs": pairs, "left_out": left_out}
        atomic_write_text(self._path, json_text(self._values, indent=2) + "\n")

    def _read(self) -> dict[str, Any]:
        try:
            values = json.loads(self._path.read_text("utf-8"))
            if not isinstance(values["corpus"], str):
                raise TypeError("the corpus is not a name")
            for entry in values["splits"].values():
                if not set(entry) >= {"files", "filters", "pairs", "left_out"} or not isinstance(entry["files"], dict):
                    raise TypeError("a split has other entries")
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise OpenworkError(
                f"{self._path}: not the record of a prepared corpus",
                why=f"{type(error).__name__}: {error}",
                hint="name a new or empty folder",
                code="E016",
            ) from error
        return values
