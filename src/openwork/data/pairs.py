"""The pairs of a run: from its data settings to training and validation pairs, their token stores and their origins.

The origins are saved with the stores: a run that is continued on other pairs is refused.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from numpy.typing import NDArray

from openwork.base.errors import ConfigError, DataError
from openwork.base.files import atomic_write_text, sha256_values
from openwork.base.messages import msg
from openwork.base.printing import json_text
from openwork.data.batching import CorpusMixture
from openwork.data.corpora import catalogue as corpora
from openwork.data.filters import Dropped, FilterReport, FilterSettings
from openwork.data.readers.lines import read_parallel
from openwork.data.records import Pair
from openwork.data.settings import DataSettings, OriginSettings
from openwork.data.sources import CorpusPart, PairSource, count_and_digest, filtered, hold_out, joined, source_of
from openwork.data.store import TokenStore, write_store
from openwork.text.pair import TokenizerPair
from openwork.text.placeholder_data import with_placeholders

ORIGINS = "origins.json"
KEPT_BYTES = 1 << 28  # of pictures or sounds that are read in several ways
ReadPairs = Callable[[], Iterator[Pair]]


@dataclass(frozen=True)
class Splits:
    """The pairs to train on, those to validate with, and what was left out of the former, corpus by corpus."""

    train: PairSource
    valid: PairSource
    parts: tuple[CorpusPart, ...]
    mixture: CorpusMixture | None = None

    @property
    def report(self) -> FilterReport:
        """What the filters did to all corpora together."""
        if len(self.parts) == 1:
            return self.parts[0].report
        dropped: dict[str, Dropped] = {}
        for part in self.parts:
            for reason, found in part.report.dropped.items():
                dropped[f"{reason}, in {part.pairs.description}"] = found
        return FilterReport(sum(part.report.kept for part in self.parts), dropped, unit="pair")

    def report_to(self, report: Callable[[str], None]) -> None:
        """Reports which pairs there are, what was left out, and how corpora are mixed."""
        for part in self.parts:
            report(f"training pairs: {part.pairs.description}")
            for line in part.report.lines():
                report(f"  {line}")
            for reason, skipped in part.pairs.skips.items():
                report(f"  skipped {skipped.count:,}: {reason} (the first in line {skipped.first_lines[0]:,})")
        if self.mixture is not None:
            total = sum(self.mixture.taken)
            report(f"an epoch takes {total:,} pairs of the mix:")
            for part, size, taken in zip(self.parts, self.mixture.sizes, self.mixture.taken, strict=True):
                report(f"  {taken:,} ({taken / total:.1%}) from the {size:,} of {part.pairs.description}")


def find_splits(
    data: DataSettings, filters: FilterSettings, checked: Callable[[PairSource], PairSource] | None = None
) -> Splits:
    """The splits that the settings name; without validation pairs, some training pairs are held out.

    Training pairs are filtered, given validation pairs are not: there, every line counts. `checked` returns the same
    pairs, which raise an error where one that is read is wrong.
    """

    def source(part: OriginSettings, split: str) -> PairSource:
        found = source_of(part, split, data.languages)
        return checked(found) if checked else found

    parts = tuple(filtered(source(part, "train"), filters, getattr(part, "weight", None)) for part in data.parts)
    sources = [part.pairs for part in parts]
    if data.validation is not None:
        valid = source(data.validation, "valid")
        if not any(pair.source.strip() or pair.target.strip() for pair in valid.read()):
            raise DataError(
                f"{valid.description}: there is nothing to validate with",
                why="the corpus is empty" if valid.is_empty() else "all its lines are blank",
                hint="name other pairs to validate with, or none: some of the training are then held out",
                code="D092",
            )
        return Splits(joined(sources), valid, parts, _mixture(parts, sources))
    kept = sum(part.report.kept for part in parts)
    divided = [hold_out(source, min(data.held_out / kept, 0.1)) for source in sources]
    sources = [train for train, _ in divided]
    train, valid = joined(sources), joined([valid for _, valid in divided])
    if train.is_empty() or valid.is_empty():
        raise DataError(
            f"{train.description}: too few pairs to hold some out for validation",
            why=f"there are {kept}, and those with the same source stay together",
            hint="give more pairs, or validation files of your own (--valid-source, --valid-target)",
            code="D093",
        )
    return Splits(train, valid, parts, _mixture(parts, sources))


def _mixture(parts: tuple[CorpusPart, ...], sources: list[PairSource]) -> CorpusMixture | None:
    """How often an epoch takes the pairs of each source; None where it takes each once."""
    weights = [part.weight for part in parts if part.weight is not None]
    if not weights:
        return None
    sizes = [sum(1 for _ in source.read()) for source in sources]
    if 0 in sizes:
        raise DataError(
            f"{sources[sizes.index(0)].description}: no pair is left for training",
            why="all of them were held out for validation",
            hint="give more pairs, or validation files of your own (--valid-source, --valid-target)",
            code="D094",
        )
    return CorpusMixture.by_weight(sizes, weights)


def training_pairs(data: DataSettings) -> PairSource:
    """The pairs to train on, unfiltered."""
    return joined([source_of(part, "train", data.languages) for part in data.parts])


@dataclass(frozen=True)
class Sampling:
    """Random segmentation (sub-word regularisation): how strong, in how many versions, and from which seed."""

    strength: float
    versions: int
    seed: int


def store_pairs(
    folder: Path,
    pairs: PairSource,
    tokenizers: TokenizerPair,
    *,
    started: bool = False,
    sampling: Sampling | None = None,
    changes: Sequence[Any] = (),
    placeholder_share: float = 0.0,
    report: Callable[[str], None] = lambda text: None,
) -> TokenStore:
    """The token store of these pairs; one that was made of the same pairs and tokenizers is used again, if it is whole.

    With `sampling`, the store has several versions of all pairs, each segmented anew. `changes`: ways in
    which each source is read, keywords of its encoder. `placeholder_share`: of the pairs that get a placeholder.
    ConfigError for other pairs when the training has `started`: it could not continue with them.
    """
    made_of = f"{pairs.identity} {tokenizers.fingerprint}{f' {sampling}' if sampling else ''}"
    made_of += f" placeholders in {placeholder_share}" if placeholder_share else ""
    identity = hashlib.sha256(made_of.encode()).hexdigest()
    if folder.exists():
        try:
            store = TokenStore.open(folder)
            if store.fingerprint == identity:
                store.verify()
                return store
            if started:
                raise ConfigError(
                    f"{pairs.description}: not the pairs that this run started with",
                    why=f"the data, or how it is read, has changed since {folder} was written",
                    hint="bring the data back to continue, or give another --out to start again",
                    code="C046",
                )
        except DataError as error:
            report(f"{error.what}; it is written again")
    size = max(tokenizers.sizes)

    def read() -> Iterator[Pair]:
        every = pairs.read_unchanged()
        return (Pair(*with_placeholders(*pair, placeholder_share)) for pair in every) if placeholder_share else every

    if sampling:
        encoded = _sampled(read, tokenizers, sampling)
    elif changes:
        encoded = _changed(read, tokenizers, changes)
    else:
        encoded = encoded_pairs(read(), tokenizers)
    form = tokenizers.encoder.numbers
    return write_store(folder, encoded, vocabulary_size=size, fingerprint=identity, form=form)


def _sampled(read: ReadPairs, tokenizers: TokenizerPair, sampling: Sampling) -> Iterator[tuple[list[int], list[int]]]:
    """Every version has seeds of its own, and so have the two sides."""
    seeds = Random(sampling.seed)
    for _ in range(sampling.versions):
        for chunk in _chunks(read(), tokenizers.encoder.at_once):
            encoders = [
                partial(side.encode_batch_sampled, seed=seeds.getrandbits(64), strength=sampling.strength)
                for side in (tokenizers.source, tokenizers.target)
            ]
            yield from tokenizers.encode_pairs(*chunk, (encoders[0], encoders[1]))


def _changed(read: ReadPairs, tokenizers: TokenizerPair, changes: Sequence[Any]) -> Iterator[tuple[Any, list[int]]]:
    """All sources in the first way, then all in the next. The files of the first ones are read but once."""
    opened = tokenizers.encoder.opened if len(changes) == 1 else _Kept(tokenizers.encoder.opened)
    for change in changes:
        encoders = partial(tokenizers.encoder.encode_batch, **change), tokenizers.target.encode_batch
        for sources, targets in _chunks(read(), tokenizers.encoder.at_once):
            yield from tokenizers.encode_pairs([opened(source) for source in sources], targets, encoders)


class _Kept:
    """Opened sources, arrays and their questions, of which the first stay in memory while there is room."""

    def __init__(self, open_source: Callable[[str], tuple[NDArray[Any], str]]) -> None:
        self._open, self._room = open_source, KEPT_BYTES
        self._kept: dict[str, tuple[NDArray[Any], str]] = {}

    def __call__(self, source: str) -> tuple[NDArray[Any], str]:
        if (opened := self._kept.get(source)) is None:
            opened = self._open(source)
            if opened[0].nbytes <= self._room:
                self._kept[source] = opened
                self._room -= opened[0].nbytes
        return opened


def encoded_pairs(pairs: Iterator[Pair], tokenizers: TokenizerPair) -> Iterator[tuple[Any, list[int]]]:
    """The ids of each pair, without symbols; numbers of a source that is no text."""
    for chunk in _chunks(pairs, tokenizers.encoder.at_once):
        yield from tokenizers.encode_pairs(*chunk)


def _chunks(pairs: Iterator[Pair], count: int) -> Iterator[tuple[list[str], list[str]]]:
    """The sources and the targets of so many pairs at a time."""
    while chunk := list(islice(pairs, count)):
        yield [pair.source for pair in chunk], [pair.target for pair in chunk]


def read_pairs(source: Path | None, target: Path | None, corpus: str | None, split: str) -> list[Pair]:
    """All the pairs of two files, or of one split of a known corpus, unfiltered."""
    return list(iterate_pairs(source, target, corpus, split))


def iterate_pairs(source: Path | None, target: Path | None, corpus: str | None, split: str) -> Iterator[Pair]:
    """The same one by one. DataError where neither is named."""
    if corpus is not None:
        return corpora.load(corpus, split)
    if source is None or target is None:
        raise DataError(
            "name a corpus, or a source and a target file",
            hint="give --corpus NAME, or --source FILE and --target FILE",
            code="D095",
        )
    return read_parallel(source, target)


@dataclass(frozen=True)
class PairsOrigin:
    """Some pairs: the SHA-256 of each file that they come from, how many they are, and a digest of their texts."""

    name: str
    files: Mapping[str, str]
    pairs: int
    digest: str


@dataclass(frozen=True)
class Origins:
    """All that a run trains and validates on, and the fingerprint of its vocabulary."""

    data: tuple[PairsOrigin, ...]
    vocabulary: str = ""


def origins_of(parts: Sequence[CorpusPart], valid: PairSource | None) -> Origins:
    """The origins of today's pairs; `valid` where validation has pairs of its own."""
    data = [PairsOrigin(part.pairs.description, part.pairs.files, part.report.kept, part.digest) for part in parts]
    if valid is not None:
        data.append(PairsOrigin(valid.description, valid.files, *count_and_digest(valid.read())))
    return Origins(tuple(data))


def write_origins(folder: Path, origins: Origins) -> None:
    """Writes them into the folder of the stores."""
    values = asdict(origins)
    content = {"sha256": sha256_values(values), "origins": values}
    atomic_write_text(folder / ORIGINS, json_text(content, indent=1) + "\n")


def read_origins(folder: Path) -> Origins | None:
    """The saved origins; None where there are none, or where the file is damaged."""
    try:
        content = json.loads((folder / ORIGINS).read_text(encoding="utf-8"))
        values = content["origins"]
        if content["sha256"] != sha256_values(values):
            return None
        return Origins(tuple(PairsOrigin(**one) for one in values["data"]), values["vocabulary"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def check_origins(before: Origins, now: Origins, folder: Path) -> None:
    """ConfigError, with the names of the files, if the pairs are not those that the run in the folder started with."""
    changes = []
    for was, is_now in zip(before.data, now.data, strict=False):
        files = [path for path, checksum in is_now.files.items() if was.files.get(path) != checksum]
        if files or was.digest != is_now.digest:
            changes.append(msg(f"{', '.join(files) or is_now.name} ({was.pairs:,} -> {is_now.pairs:,} pairs)"))
    if changes:
        raise ConfigError(
            f"{folder}: not the pairs that this run started with: {'; '.join(changes[:5])}",
            why="its vocabulary, its place in the data and its validation figures belong to those pairs; "
            "with others it would be another training",
            hint="bring the data back to continue, or give another --out to start again; to keep what it has "
            "learned: openwork average, then openwork train --from-bundle",
            code="C070",
        )
