"""Pairs that can be read again and again, of a corpus or of files: filtered, divided, joined; and their languages."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Literal

from openwork.base.config import fingerprint
from openwork.base.errors import DataError
from openwork.base.files import read_lines, sha256_file
from openwork.data.corpora import catalogue as corpora
from openwork.data.filters import FilterReport, FilterSettings, apply
from openwork.data.readers.file_lists import PICTURES, SOUNDS, FileKind, digest_of, read_list
from openwork.data.readers.formats import Skips, format_of, read_file, without_skips
from openwork.data.readers.lines import read_columns, read_parallel
from openwork.data.readers.series import read_series, split_by_time
from openwork.data.records import UNSAID, Languages, Pair
from openwork.data.settings import DataSettings, OriginSettings
from openwork.signals.questions import file_of
from openwork.text.languages import language_in_name
from openwork.text.pieces.alphabet import Again


@dataclass(frozen=True)
class PairSource:
    """Pairs that can be read again and again; `identity` changes when they do.

    `skips`: what the last whole reading skipped because the file says that it is no pair. `unit`: what the position of
    a pair counts. `files`: the SHA-256 of its files, that of the targets last. `header`: lines before the first pair.
    `alone`: every pair is a target without a source. `root`: the folder of sources that are paths.
    """

    read: Callable[[], Iterator[Pair]]
    identity: str
    description: str
    skips: Skips = field(default_factory=dict)
    unit: str = "line"
    files: Mapping[str, str] = field(default_factory=dict)
    header: int = 0
    alone: bool = False
    root: Path | None = None

    def place(self, number: int) -> str:
        """The file and line of a pair's target; the first pair of `read` has the number 1."""
        name = [self.description, *self.files][-1]
        return f"{name}:{number + self.header}" if self.unit == "line" else f"{name}: {self.unit} {number}"

    def side(self, name: Literal["source", "target"]) -> Again:
        """The sentences of one side."""
        return Again(lambda: (getattr(pair, name) for pair in self.read()))

    def read_unchanged(self) -> Iterator[Pair]:
        """The pairs; at their end DataError if a file has changed since its checksum was taken."""
        yield from self.read()
        for path, checksum in self.files.items():
            if sha256_file(path) != checksum:
                raise DataError(
                    f"{path}: the file has changed while it was being read",
                    hint="run the command again when nothing writes to it any more",
                    code="D111",
                )

    def is_empty(self) -> bool:
        return next(self.read(), None) is None


@dataclass(frozen=True)
class CorpusPart:
    """A corpus that a run trains on: the pairs that passed, what was left out, and the SHA-256 of their texts."""

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
    count, columns, format_name, name = origin.count, origin.columns, origin.format, origin.corpus
    if name is not None:
        read = partial(corpora.load, name, split, count=count)
        return PairSource(read, f"corpus {name} {split} {count}", f"{name} ({split})")
    for path, kind in ((origin.pictures, PICTURES), (origin.sounds, SOUNDS)):
        if path is not None:
            return _files(Path(path), kind, count)
    if origin.series is not None:
        return _series(Path(origin.series), origin.columns, split, count)
    named = (origin.file, origin.text, origin.source, origin.target)
    paths = [Path(path) for path in named if path is not None]
    checksums = [sha256_file(path) for path in paths]
    skips, unit, header = Skips(), "line", 0
    if origin.file is not None and columns:
        read, kind, header = partial(read_columns, paths[0], columns), f"columns {' '.join(columns)}", 1
    elif origin.file is not None:
        read = partial(read_file, paths[0], languages, format_name=format_name, skips=skips)
        kind = "tsv" if format_name == "tsv" else f"file {format_name} {languages.source} {languages.target}"
        unit = format_of(paths[0], format_name).unit
    elif origin.text is not None:
        read, kind = (lambda: (Pair("", line) for line in read_lines(paths[0]))), "text"
    else:
        read, kind = partial(read_parallel, *paths), "files"
    return PairSource(
        lambda: islice(read(), count),
        f"{kind} {' '.join(checksums)}{'' if count is None else f' first {count}'}",
        ", ".join(map(str, paths)),
        skips,
        unit,
        dict(zip(map(str, paths), checksums, strict=True)),
        header,
        alone=origin.text is not None,
    )


def _files(path: Path, kind: FileKind, count: int | None) -> PairSource:
    """Those of a folder or table; each is read once, so that a changed file is noticed."""
    skips, table = Skips(), {} if path.is_dir() else {str(path): sha256_file(path)}
    return PairSource(
        lambda: islice(without_skips(read_list(path, kind), skips), count),
        f"{kind.name} {digest_of(islice(read_list(path, kind), count))}",
        str(path),
        skips,
        "line" if table else "file",
        table,
        header=1 if table else 0,
        root=path.parent if table else path,
    )


def _series(path: Path, columns: Sequence[str], split: str, count: int | None) -> PairSource:
    """A split of each of a file's series."""
    files = {str(path): sha256_file(path)}
    return PairSource(
        lambda: (split_by_time(values, split) for values in islice(read_series(path, columns).values(), count)),
        f"series {split} {' '.join(columns)} {count} {files[str(path)]}",
        str(path),
        unit="series",
        files=files,
    )


def filtered(pairs: PairSource, filters: FilterSettings, weight: float | None = None) -> CorpusPart:
    """The pairs that pass, and the report of one complete reading (which also finds every bad line at once)."""
    kept, report = apply(pairs.read(), filters, pairs.unit, alone=pairs.alone)
    _, digest = count_and_digest(kept)
    if report.kept == 0:
        raise nothing_to_train_on(pairs, "; ".join(report.lines()) if report.dropped_pairs else "the corpus is empty")
    source = replace(
        pairs,
        read=lambda: apply(pairs.read(), filters, alone=pairs.alone)[0],
        identity=f"{pairs.identity} {fingerprint(filters)}",
    )
    return CorpusPart(source, report, weight, digest)


def nothing_to_train_on(pairs: PairSource, why: str) -> DataError:
    return DataError(
        f"{pairs.description}: no sentence pair to train on",
        why=why,
        hint="check the files, or the limits in the run file's [filters]",
        code="D091",
    )


def count_and_digest(pairs: Iterable[Pair]) -> tuple[int, str]:
    """How many pairs there are, and the SHA-256 of their texts."""
    digest, count = hashlib.sha256(), 0
    for pair in pairs:
        count += 1
        digest.update(f"{pair.source}\0{pair.target}\n".encode("utf-8", errors="surrogatepass"))
    return count, digest.hexdigest()


def hold_out(pairs: PairSource, share: float) -> tuple[PairSource, PairSource]:
    """The pairs to train on and those to hold out, by a hash of the source, so that no sentence is on both sides.

    Where there is no source, the target decides; of a path, what comes after the folder and without its question, so
    that copies of a folder are divided alike and a file is on one side.
    """

    def is_held_out(pair: Pair) -> bool:
        source = pair.source if pairs.root is None else file_of(pair.source).removeprefix(f"{pairs.root}{os.sep}")
        key = source or pair.target
        digest = hashlib.blake2b(key.encode("utf-8"), digest_size=8).digest()
        return int.from_bytes(digest) < share * 2**64

    def part(held_out: bool) -> PairSource:
        name = f"{share:.1%} of {pairs.description}, held out" if held_out else pairs.description
        return replace(
            pairs,
            read=lambda: (pair for pair in pairs.read() if is_held_out(pair) == held_out),
            identity=f"{pairs.identity} share {share:.6f} {held_out}",
            description=name,
        )

    return part(False), part(True)


def joined(sources: Sequence[PairSource]) -> PairSource:
    """The pairs of all, one source after another."""
    if len(sources) == 1:
        return sources[0]
    return PairSource(
        lambda: chain.from_iterable(source.read() for source in sources),
        " + ".join(source.identity for source in sources),
        " + ".join(source.description for source in sources),
        files={path: checksum for source in sources for path, checksum in source.files.items()},
        alone=all(source.alone for source in sources),
    )


def languages_of(data: DataSettings) -> Languages:
    """Source and target language: those of the settings, of a known corpus, or of two files' names (`train.en`)."""
    source, target = shared_languages([named_languages(part) for part in data.parts])
    return Languages(data.source_language or source, data.target_language or target)


def corpus_languages(names: Iterable[str | None]) -> Languages:
    """The languages that all these corpora share; None for a corpus without a name, or made-up languages."""
    known = [corpora.find(name).languages if name is not None else () for name in names]
    return shared_languages([Languages(*languages) for languages in known])


def named_languages(part: OriginSettings) -> Languages:
    """The languages in the name of a corpus or in the names of two files."""
    if part.source is None or part.target is None:
        return corpus_languages([part.corpus])
    found = Languages(*(language_in_name(Path(path).name) for path in (part.source, part.target)))
    return UNSAID if found.source == found.target or None in found else found


def shared_languages(found: Sequence[Languages]) -> Languages:
    """The languages that all parts have."""
    return found[0] if len(set(found)) == 1 else UNSAID
