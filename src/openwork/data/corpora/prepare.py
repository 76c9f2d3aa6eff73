"""A corpus with a name as plain text files, one sentence a line: fetched, filtered, written whole or not at all."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from openwork.base.errors import DataError
from openwork.base.files import atomic_write_text, sha256_file
from openwork.base.folders import atomic_folder
from openwork.base.limits import LENGTH, RATIO
from openwork.base.outputs import FolderKind, check_folder
from openwork.base.printing import json_text
from openwork.data.corpora import catalogue as corpora
from openwork.data.corpora.download import Progress, silent
from openwork.data.filters import FilterSettings, apply
from openwork.data.records import Pair

_EVERYTHING = FilterSettings(maximum_characters=LENGTH, maximum_ratio=RATIO, drop_blank=False)


class PreparedSplit(NamedTuple):
    """One split as two files. `left_out`: pairs that filters left out, by reason; `absent`: why there is no split."""

    name: str
    files: tuple[str, str]
    pairs: int
    left_out: dict[str, int]
    absent: str = ""

    def to_json(self) -> dict[str, object]:
        if self.absent:
            return {"absent": self.absent}
        return {"files": list(self.files), "pairs": self.pairs, "left_out": self.left_out}


def prepare(
    name: str, out: Path, filters: FilterSettings, *, folder: Path | None = None, progress: Progress = silent
) -> Iterator[PreparedSplit]:
    """Write train, valid and test of a corpus into the folder `out`, which appears at the end; yield each split.

    Only training pairs are filtered. An earlier result for the same corpus is replaced. `progress` receives the
    progress of a download. `UsageError` for a folder that holds anything else.
    """
    corpus = corpora.find(name)
    source, target = corpus.languages or ("source", "target")
    planned = {split: (f"{split}.{source}", f"{split}.{target}") for split in corpora.ROLES}
    names = (file for files in planned.values() for file in files)
    kind = FolderKind(f"openwork corpus {name}", ("prepared.json", *names))
    check_folder(out, kind)
    corpora.fetch(name, folder, progress)
    with atomic_folder(out, kind.own_in(out)) as partial:
        splits = []
        for split, files in planned.items():
            splits.append(_prepared(name, split, partial, files, filters if split == "train" else _EVERYTHING, folder))
            yield splits[-1]
        record = {
            "format": kind.format,
            "terms": corpus.terms,
            "origin": corpus.origin,
            "splits": {split.name: split.to_json() for split in splits},
            "sha256": {path.name: sha256_file(path) for path in sorted(partial.iterdir())},
        }
        atomic_write_text(partial / kind.mark, json_text(record, indent=2) + "\n")


def _prepared(
    name: str, split: str, out: Path, files: tuple[str, str], filters: FilterSettings, folder: Path | None
) -> PreparedSplit:
    try:
        pairs, report = apply(corpora.load(name, split, folder), filters)
    except DataError as error:
        if split == "train":
            raise
        return PreparedSplit(split, files, 0, {}, error.what)
    _write(pairs, out / files[0], out / files[1])
    return PreparedSplit(split, files, report.kept, {reason: one.count for reason, one in report.dropped.items()})


def _write(pairs: Iterator[Pair], source: Path, target: Path) -> None:
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("w", encoding="utf-8", newline="\n")) for path in (source, target)]
        for pair in pairs:
            for file, text in zip(files, pair, strict=True):
                file.write(text.replace("\n", " ") + "\n")
