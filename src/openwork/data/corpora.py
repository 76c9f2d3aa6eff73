"""Corpora by name: one table, and one way to read any of them."""

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from openwork.base.errors import DataError
from openwork.data import dates, multi30k, synthetic
from openwork.data.records import Pair
from openwork.data.splits import SPLITS

ROLES = SPLITS
"""What a split is for. Every corpus has all three; corpora whose origin has names of its own take those too."""

Reader = Callable[[str, Path | None, int | None, int], Iterator[Pair]]
"""(split, folder, count, seed) -> pairs; None: no folder given, or the corpus's own size."""


@dataclass(frozen=True)
class Corpus:
    """What a name stands for. `names`: the origin's own name of each split; `terms`: where it is from, for the card."""

    read: Reader
    terms: str
    names: tuple[str, str, str] = ROLES


def _endless(generate: Callable[[str, int, int], Iterator[Pair]], sizes: tuple[int, int, int]) -> Reader:
    """A generated corpus: `sizes` of the splits unless another count is asked for; it needs no folder."""

    def read(split: str, folder: Path | None, count: int | None, seed: int) -> Iterator[Pair]:
        return generate(split, sizes[ROLES.index(split)] if count is None else count, seed)

    return read


def _date_pairs(split: str, count: int, seed: int) -> Iterator[Pair]:
    return (example.pair for example in dates.generate(split, count, seed))


def _captions(source: str, target: str) -> Corpus:
    def read(split: str, folder: Path | None, count: int | None, seed: int) -> Iterator[Pair]:
        return islice(multi30k.read(source, target, split, folder), count)

    train, valid, test = (multi30k.FILES[role] for role in ROLES)
    return Corpus(read, multi30k.TERMS, (train, valid, test))


CORPORA: dict[str, Corpus] = {
    "dates": Corpus(_endless(_date_pairs, (60_000, 2_000, 5_000)), "generated from Unicode CLDR (Unicode License v3)"),
    "copy": Corpus(_endless(synthetic.copy, (20_000, 500, 500)), "generated"),
    "reverse": Corpus(_endless(synthetic.reverse, (20_000, 500, 500)), "generated"),
} | {
    f"multi30k-{source}-{target}": _captions(source, target)
    for source in multi30k.LANGUAGES
    for target in multi30k.LANGUAGES
    if source != target
}


def load(
    name: str, split: str, folder: Path | None = None, *, count: int | None = None, seed: int = 0
) -> Iterator[Pair]:
    """The pairs of one split of the corpus `name`, as a stream.

    `split` is a role (train, valid, test) or the origin's own name. `folder` is looked in before OPENWORK_DATA, for
    corpora that are files. `count` takes the first so many pairs, and for a generated corpus any number; `seed` matters
    to generated ones alone. `DataError` for an unknown name or split and for files that cannot be had.
    """
    corpus = find(name)
    role = _role(name, corpus, split)
    return corpus.read(role, folder, count, seed)


def find(name: str) -> Corpus:
    """The corpus of that name; `DataError` with the nearest name if there is none."""
    if name not in CORPORA:
        near = difflib.get_close_matches(name, CORPORA, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise DataError(f"{name}: no such corpus", hint=f"{hint}There are {', '.join(CORPORA)}")
    return CORPORA[name]


def splits(name: str) -> tuple[str, str, str]:
    """The origin's names of the splits for training, validation and test, in this order."""
    return find(name).names


def _role(name: str, corpus: Corpus, split: str) -> str:
    for role, own_name in zip(ROLES, corpus.names, strict=True):
        if split in (role, own_name):
            return role
    choices = dict.fromkeys([*ROLES, *corpus.names])
    raise DataError(f"{split}: the corpus {name} has no such split", hint=f"choose from {', '.join(choices)}")
