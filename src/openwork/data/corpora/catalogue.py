"""Corpora by name: one table, and one way to read any of them."""

import difflib
from collections.abc import Callable, Iterator
from pathlib import Path

from openwork.base.errors import DataError
from openwork.data.corpora import (
    dates,
    dialogues,
    docstrings,
    hsk,
    labelled,
    multi30k,
    python_docs,
    synthetic,
    tatoeba,
    wmt14,
)
from openwork.data.corpora.corpus import ROLES, NamedCorpus, Reader
from openwork.data.corpora.download import Told, silent
from openwork.data.records import Pair


def _endless(
    generate: Callable[[str, int, int], Iterator[Pair]], terms: str, sizes: tuple[int, int, int]
) -> NamedCorpus:
    """A generated corpus: `sizes` of the splits unless another count is asked for; it needs no folder."""

    def read(split: str, folder: Path | None, count: int | None, seed: int) -> Iterator[Pair]:
        return generate(split, sizes[ROLES.index(split)] if count is None else count, seed)

    return NamedCorpus(read, terms, "built in", pairs=sizes, found=lambda folder: "built in")


def _date_pairs(split: str, count: int, seed: int) -> Iterator[Pair]:
    return (example.pair for example in dates.generate(split, count, seed))


CORPORA: dict[str, NamedCorpus] = {
    "dates": _endless(_date_pairs, "generated from Unicode CLDR (Unicode License v3)", (60_000, 2_000, 5_000)),
    "dialogues": _endless(dialogues.generate, "generated", (40_000, 1_000, 1_000)),
    "copy": _endless(synthetic.copy, "generated", (20_000, 500, 500)),
    "reverse": _endless(synthetic.reverse, "generated", (20_000, 500, 500)),
    **multi30k.CORPORA,
    **tatoeba.CORPORA,
    **python_docs.CORPORA,
    **hsk.CORPORA,
    **wmt14.CORPORA,
    **labelled.CORPORA,
    **docstrings.CORPORA,
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


def fetch(name: str, folder: Path | None = None, told: Told = silent) -> None:
    """Bring all that `load` will need onto this machine, however large; `told` receives how far it is."""
    find(name).fetch(folder, told)


def find(name: str) -> NamedCorpus:
    """The corpus of that name; `DataError` with the nearest name if there is none."""
    if name not in CORPORA:
        near = difflib.get_close_matches(name, CORPORA, n=1)
        hint = f"did you mean {near[0]}? openwork data list shows all" if near else "openwork data list shows all"
        raise DataError(f"{name}: no such corpus", hint=hint, code="D015")
    return CORPORA[name]


def splits(name: str) -> tuple[str, str, str]:
    """The origin's names of the splits for training, validation and test, in this order."""
    return find(name).names


def _role(name: str, corpus: NamedCorpus, split: str) -> str:
    for role, own_name in zip(ROLES, corpus.names, strict=True):
        if split in (role, own_name):
            return role
    choices = dict.fromkeys([*ROLES, *corpus.names])
    raise DataError(
        f"{split}: the corpus {name} has no such split", hint=f"choose from {', '.join(choices)}", code="D016"
    )


__all__ = ["CORPORA", "ROLES", "NamedCorpus", "Reader", "fetch", "find", "load", "splits"]
