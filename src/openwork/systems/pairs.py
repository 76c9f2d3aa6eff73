"""The pairs of a run: from its data settings to training and validation pairs, and from those to token stores."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from openwork.base.config import fingerprint
from openwork.base.errors import ConfigError, DataError
from openwork.base.files import sha256_file
from openwork.data import corpora
from openwork.data.filters import FilterReport, FilterSettings, apply
from openwork.data.readers.parallel import read_parallel
from openwork.data.readers.tsv import read_tsv
from openwork.data.records import Pair
from openwork.data.store import TokenStore, write_store
from openwork.systems.run_file import DataSettings
from openwork.text.pair import TokenizerPair

ENCODING_CHUNK = 4096  # pairs that are tokenised in one call of the library


@dataclass(frozen=True)
class PairSource:
    """Pairs that can be read again and again, and what they are: `identity` changes when they do."""

    read: Callable[[], Iterator[Pair]]
    identity: str
    description: str

    def side(self, name: Literal["source", "target"]) -> "Side":
        """The sentences of one side."""
        return Side(self.read, name)


@dataclass(frozen=True)
class Side:
    """The sentences of one side of the pairs, read anew each time, so that no corpus need fit into memory."""

    read: Callable[[], Iterator[Pair]]
    name: Literal["source", "target"]

    def __iter__(self) -> Iterator[str]:
        return (getattr(pair, self.name) for pair in self.read())


@dataclass(frozen=True)
class Splits:
    """The pairs to train on, those to validate with, and what the filters left out of the former."""

    train: PairSource
    valid: PairSource
    report: FilterReport


def find_splits(data: DataSettings, filters: FilterSettings) -> Splits:
    """Where the settings say they are; without validation pairs, some training pairs are held out.

    Training pairs are filtered, given validation pairs are not: there, every line counts.
    """
    if data.corpus is not None:
        train, report = _filtered(_corpus_source(data.corpus, "train", data.count), filters)
        return Splits(train, _corpus_source(data.corpus, "valid", None), report)
    train, report = _filtered(_file_source(data.source, data.target, data.tsv), filters)
    if data.valid_source is None and data.valid_tsv is None:
        return Splits(*_hold_out(train, report.kept, data.held_out), report)
    valid = _file_source(data.valid_source, data.valid_target, data.valid_tsv)
    if not any(True for _ in valid.read()):
        raise DataError(f"{valid.description}: there is nothing to validate with", why="the corpus is empty")
    return Splits(train, valid, report)


def read_training_pairs(data: DataSettings) -> Iterator[Pair]:
    """The pairs to train on, unfiltered."""
    if data.corpus is not None:
        return _corpus_source(data.corpus, "train", data.count).read()
    return _file_source(data.source, data.target, data.tsv).read()


def _corpus_source(name: str, split: str, count: int | None) -> PairSource:
    return PairSource(
        lambda: corpora.load(name, split, count=count), f"corpus {name} {split} {count}", f"{name} ({split})"
    )


def _file_source(source: str | None, target: str | None, tsv: str | None) -> PairSource:
    if tsv is not None:
        path = Path(tsv)
        return PairSource(lambda: read_tsv(path), f"tsv {sha256_file(path)}", str(path))
    source_path, target_path = Path(source or ""), Path(target or "")
    identity = f"files {sha256_file(source_path)} {sha256_file(target_path)}"
    return PairSource(lambda: read_parallel(source_path, target_path), identity, f"{source_path}, {target_path}")


def _filtered(pairs: PairSource, filters: FilterSettings) -> tuple[PairSource, FilterReport]:
    """The pairs that pass, and the report of one complete reading (which also finds every bad line at once)."""
    kept, report = apply(pairs.read(), filters)
    for _ in kept:
        pass
    if report.kept == 0:
        raise DataError(
            f"{pairs.description}: no sentence pair to train on",
            why="; ".join(report.lines()) if report.dropped_pairs else "the corpus is empty",
            hint="check the files, or the limits in the run file's [filters]",
        )
    source = PairSource(
        lambda: apply(pairs.read(), filters)[0], f"{pairs.identity} {fingerprint(filters)}", pairs.description
    )
    return source, report


def _hold_out(pairs: PairSource, count: int, wanted: int) -> tuple[PairSource, PairSource]:
    """Every pair goes to one side by a hash of its source, so that no sentence stands on both sides."""
    share = min(wanted / count, 0.1)

    def is_held_out(pair: Pair) -> bool:
        digest = hashlib.blake2b(pair.source.encode("utf-8"), digest_size=8).digest()
        return int.from_bytes(digest) < share * 2**64

    def part(held_out: bool) -> PairSource:
        name = f"{share:.1%} of {pairs.description}, held out" if held_out else pairs.description
        read = lambda: (pair for pair in pairs.read() if is_held_out(pair) == held_out)  # noqa: E731
        return PairSource(read, f"{pairs.identity} share {share:.6f} {held_out}", name)

    train, valid = part(False), part(True)
    for split in (train, valid):
        if not any(True for _ in split.read()):
            raise DataError(
                f"{pairs.description}: too few pairs to hold some out for validation",
                why=f"there are {count}, and some of them have the same source",
                hint="give more pairs, or validation files of your own (--valid-source, --valid-target)",
            )
    return train, valid


def store_pairs(folder: Path, pairs: PairSource, tokenizers: TokenizerPair, *, begun: bool = False) -> TokenStore:
    """The token store of these pairs; one that was made of the same pairs and tokenizers is used again.

    ConfigError for other pairs when the training has `begun`: it could not go on as if nothing had happened.
    """
    identity = hashlib.sha256(f"{pairs.identity} {tokenizers.fingerprint}".encode()).hexdigest()
    if folder.exists():
        try:
            store = TokenStore.open(folder)
            if store.fingerprint == identity:
                return store
            if begun:
                raise ConfigError(
                    f"{pairs.description}: not the pairs with which this run began",
                    why=f"the data, or how it is read, has changed since {folder} was written",
                    hint="bring the data back to continue, or give another --out to begin anew",
                )
        except DataError:
            pass  # damaged: it is made again below
    size = max(tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size)
    return write_store(folder, _encoded(pairs.read(), tokenizers), vocabulary_size=size, fingerprint=identity)


def _encoded(pairs: Iterator[Pair], tokenizers: TokenizerPair) -> Iterator[tuple[list[int], list[int]]]:
    while chunk := list(islice(pairs, ENCODING_CHUNK)):
        sources = tokenizers.source.encode_batch([pair.source for pair in chunk])
        targets = tokenizers.target.encode_batch([pair.target for pair in chunk])
        yield from zip(sources, targets, strict=True)


def read_pairs(source: Path | None, target: Path | None, corpus: str | None, split: str) -> list[Pair]:
    """All the pairs of two files, or of one split of a known corpus, unfiltered."""
    if corpus is not None:
        return list(corpora.load(corpus, split))
    if source is None or target is None:
        raise DataError("name a corpus, or a source and a target file")
    return list(read_parallel(source, target))
