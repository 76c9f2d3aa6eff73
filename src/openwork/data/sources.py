"""Pairs that can be read again and again: of a corpus, of files, filtered, divided, one after another."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Literal

from openwork.base.config import fingerprint
from openwork.base.errors import DataError
from openwork.base.files import read_lines, sha256_file
from openwork.data.corpora import catalogue as corpora
from openwork.data.filters import FilterReport, FilterSettings, apply
from openwork.data.readers.formats import Skips, format_of, read_file
from openwork.data.readers.lines import read_columns, read_parallel
from openwork.data.records import Languages, Pair
from openwork.data.settings import OriginSettings


@dataclass(frozen=True)
class PairSource:
    """Pairs that can be read again and again, and what they are: `identity` changes when they do.

    `skips`: what the last whole reading passed over because the file says that it is no pair. `unit`: what the place of
    a pair in it counts. `files`: the SHA-256 of the files behind it, that of the targets last. `header`: lines before
    the first pair. `alone`: every pair is a target without a source.
    """

    read: Callable[[], Iterator[Pair]]
    identity: str
    description: str
    skips: Skips = field(default_factory=dict)
    unit: str = "line"
    files: Mapping[str, str] = field(default_factory=dict)
    header: int = 0
    alone: bool = False

    def place(self, number: int) -> str:
        """Where the target of a pair stands; the first pair of `read` has the number 1."""
        name = [self.description, *self.files][-1]
        return f"{name}:{number + self.header}" if self.unit == "line" else f"{name}: {self.unit} {number}"

    def side(self, name: Literal["source", "target"]) -> "Side":
        """The sentences of one side."""
        return Side(self.read, name)

    def read_unchanged(self) -> Iterator[Pair]:
        """The pairs; at their end DataError if a file is not what it was: who knows what was read of it before."""
        yield from self.read()
        for path, checksum in self.files.items():
            if sha256_file(path) != checksum:
                raise DataError(
                    f"{path}: the file has changed while it was being read",
                    hint="run the command again when nothing writes to it any more",
                    code="D111",
                )

    def is_empty(self) -> bool:
        """Whether there is no pair at all."""
        return next(self.read(), None) is None

    def is_blank(self) -> bool:
        """Whether no pair has any text."""
        return not any(pair.source.strip() or pair.target.strip() for pair in self.read())


@dataclass(frozen=True)
class Side:
    """The sentences of one side of the pairs, read anew each time, so that no corpus need fit into memory."""

    read: Callable[[], Iterator[Pair]]
    name: Literal["source", "target"]

    def __iter__(self) -> Iterator[str]:
        return (getattr(pair, self.name) for pair in self.read())


@dataclass(frozen=True)
class CorpusPart:
    """One of the corpora that a run trains on: the pairs that passed the filters, and what was left out.

    `digest`: the SHA-256 of the texts that passed.
    """

    pairs: PairSource
    report: FilterReport
    weight: float | None = None
    digest: str = ""


def source_of(origin: OriginSettings, split: str, languages: Languages) -> PairSource:
    """The pairs of an origin; `split` matters where it is a corpus. Files are read once, to know them again."""
    found = _pairs_of(origin, split, languages)
    if (side := origin.side) is None or found.alone:
        return found
    return replace(
        found,
        read=lambda: (Pair("", getattr(pair, side)) for pair in found.read()),
        identity=f"{found.identity} {side}",
        description=f"{found.description}, its {side}s",
        alone=True,
    )


def _pairs_of(origin: OriginSettings, split: str, languages: Languages) -> PairSource:
    """With both sides, where there are two."""
    count = origin.count
    if origin.corpus is not None:
        name = origin.corpus
        return PairSource(
            lambda: corpora.load(name, split, count=count), f"corpus {name} {split} {count}", f"{name} ({split})"
        )
    first = "" if count is None else f" first {count}"
    if origin.file is not None and origin.columns:
        path, columns = Path(origin.file), origin.columns
        checksum = sha256_file(path)
        return PairSource(
            lambda: islice(read_columns(path, columns), count),
            f"columns {' '.join(columns)} {checksum}{first}",
            str(path),
            files={str(path): checksum},
            header=1,
        )
    if origin.file is not None:
        path, format_name, skips = Path(origin.file), origin.format, Skips()
        kind = "tsv" if format_name == "tsv" else f"file {format_name} {languages.source} {languages.target}"
        checksum = sha256_file(path)
        return PairSource(
            lambda: islice(read_file(path, languages, format_name=format_name, skips=skips), count),
            f"{kind} {checksum}{first}",
            str(path),
            skips,
            format_of(path, format_name).unit,
            {str(path): checksum},
        )
    if origin.text is not None:
        path = Path(origin.text)
        checksum = sha256_file(path)
        return PairSource(
            lambda: (Pair("", line) for line in islice(read_lines(path), count)),
            f"text {checksum}{first}",
            str(path),
            files={str(path): checksum},
            alone=True,
        )
    source, target = Path(origin.source or ""), Path(origin.target or "")
    files = {str(path): sha256_file(path) for path in (source, target)}
    return PairSource(
        lambda: islice(read_parallel(source, target), count),
        f"files {files[str(source)]} {files[str(target)]}{first}",
        f"{source}, {target}",
        files=files,
    )


def filtered(pairs: PairSource, filters: FilterSettings, weight: float | None = None) -> CorpusPart:
    """The pairs that pass, and the report of one complete reading (which also finds every bad line at once)."""
    kept, report = apply(pairs.read(), filters, pairs.unit, alone=pairs.alone)
    digest = hashlib.sha256()
    for _ in digested(kept, digest):
        pass
    if report.kept == 0:
        raise nothing_to_train_on(pairs, "; ".join(report.lines()) if report.dropped_pairs else "the corpus is empty")
    source = PairSource(
        lambda: apply(pairs.read(), filters, alone=pairs.alone)[0],
        f"{pairs.identity} {fingerprint(filters)}",
        pairs.description,
        pairs.skips,
        files=pairs.files,
        alone=pairs.alone,
    )
    return CorpusPart(source, report, weight, digest.hexdigest())


def nothing_to_train_on(pairs: PairSource, why: str) -> DataError:
    """The error for pairs of which there are none."""
    return DataError(
        f"{pairs.description}: no sentence pair to train on",
        why=why,
        hint="check the files, or the limits in the run file's [filters]",
        code="D091",
    )


def digested(pairs: Iterable[Pair], digest: "hashlib._Hash") -> Iterator[Pair]:
    """The same pairs, whose texts go into the digest as they pass."""
    for pair in pairs:
        digest.update(f"{pair.source}\0{pair.target}\n".encode("utf-8", errors="surrogatepass"))
        yield pair


def hold_out(pairs: PairSource, share: float) -> tuple[PairSource, PairSource]:
    """Every pair goes to one side by a hash of its source, so that no sentence stands on both sides.

    Where there is no source the target says it.
    """

    def is_held_out(pair: Pair) -> bool:
        digest = hashlib.blake2b((pair.source or pair.target).encode("utf-8"), digest_size=8).digest()
        return int.from_bytes(digest) < share * 2**64

    def part(held_out: bool) -> PairSource:
        name = f"{share:.1%} of {pairs.description}, held out" if held_out else pairs.description
        read = lambda: (pair for pair in pairs.read() if is_held_out(pair) == held_out)  # noqa: E731
        return PairSource(
            read, f"{pairs.identity} share {share:.6f} {held_out}", name, files=pairs.files, alone=pairs.alone
        )

    return part(False), part(True)


def joined(sources: Sequence[PairSource]) -> PairSource:
    """The pairs of all, one source after another."""
    if len(sources) == 1:
        return sources[0]

    def read() -> Iterator[Pair]:
        for source in sources:
            yield from source.read()

    identity = " + ".join(source.identity for source in sources)
    files = {path: checksum for source in sources for path, checksum in source.files.items()}
    return PairSource(
        read, identity, " + ".join(source.description for source in sources), files=files,
        alone=all(source.alone for source in sources),
    )  # fmt: skip
