"""The table of formats with both sides in one file. To add one: a reader in this folder, and a line here."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from openwork.base.compression import ENDINGS
from openwork.base.errors import DataError
from openwork.data.filters import Dropped
from openwork.data.readers.conll import read_conll
from openwork.data.readers.exchange import read_tmx, read_xliff
from openwork.data.readers.lines import read_jsonl, read_tsv
from openwork.data.readers.po import read_po
from openwork.data.records import UNSAID, Languages, Pair, Skipped

Skips = dict[str, Dropped]
"""The entries that a reading skipped: for each reason how many, and the lines of the first few."""


@dataclass(frozen=True)
class Format:
    """A reader, the endings of file names by which it is chosen, and what a file has one of for each pair."""

    read: Callable[[Path, Languages], Iterator[Pair | Skipped]]
    endings: tuple[str, ...]
    unit: Literal["line", "pair"] = "pair"


FORMATS: dict[str, Format] = {
    "tsv": Format(lambda path, _: read_tsv(path), (".tsv", ".tab"), "line"),
    "jsonl": Format(read_jsonl, (".jsonl", ".ndjson"), "line"),
    "tmx": Format(read_tmx, (".tmx",)),
    "xliff": Format(read_xliff, (".xlf", ".xliff")),
    "po": Format(read_po, (".po", ".pot")),
    "conll": Format(lambda path, _: read_conll(path), (".conll", ".iob", ".bio")),
}


def read_file(
    path: Path | str, languages: Languages = UNSAID, *, format_name: str | None = None, skips: Skips | None = None
) -> Iterator[Pair]:
    """The pairs of a file that holds both sides; the ending of its name chooses the format if none is named.

    Each reading replaces the content of `skips` at its end. `DataError` for an unknown ending, and for each fault of
    the file, with its line.
    """
    path = Path(path)
    chosen = format_of(path, format_name)
    return without_skips(chosen.read(path, languages), {} if skips is None else skips)


def without_skips(items: Iterable[Pair | Skipped], skips: Skips) -> Iterator[Pair]:
    """The pairs among what a reader gives; what it skips becomes the content of `skips` at the end."""
    found: Skips = {}
    for item in items:
        if isinstance(item, Skipped):
            found.setdefault(item.reason, Dropped()).add(item.line)
        else:
            yield item
    skips.clear()
    skips.update(found)


def format_of(path: Path, format_name: str | None = None) -> Format:
    """The format of that name, or without one that of the file's ending; `DataError` for an unknown ending."""
    if format_name is not None:
        return FORMATS[format_name]
    name = path.name.lower()
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    for known in FORMATS.values():
        if name.endswith(known.endings):
            return known
    raise DataError(
        f"{path}: the format of the file is not clear from its name",
        why=f"known endings are {', '.join(ending for known in FORMATS.values() for ending in known.endings)}",
        hint=f"name it with format in the run file's [data]: one of {', '.join(FORMATS)}",
        code="D031",
    )
