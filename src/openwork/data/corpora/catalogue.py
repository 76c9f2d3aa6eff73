"""Corpora by name: one table, one way to read any of them, and the list that `openwork data list` shows."""

import difflib
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from openwork.base.errors import DataError
from openwork.base.phrases import AsIs, Joined, Padded, shown_width
from openwork.data.corpora import (
    dates,
    dialogues,
    digits,
    docstrings,
    entities,
    fashion_mnist,
    labelled,
    movielens,
    moving_shapes,
    parallel,
    scenes,
    series,
    spoken_digits,
    spoken_questions,
    synthetic,
    wmt14,
)
from openwork.data.corpora.corpus import SPLITS as ROLES
from openwork.data.corpora.corpus import NamedCorpus
from openwork.data.corpora.download import Progress, silent
from openwork.data.records import Pair

CORPORA: dict[str, NamedCorpus] = {
    "dates": NamedCorpus(
        "generated from Unicode CLDR (Unicode License v3)",
        "built in",
        pairs=(60_000, 2_000, 5_000),
        generate=lambda split, count, seed: (example.pair for example in dates.generate(split, count, seed)),
    ),
    "dialogues": NamedCorpus("generated", "built in", pairs=(40_000, 1_000, 1_000), generate=dialogues.generate),
    "entities": NamedCorpus(
        entities.TERMS,
        "built in",
        pairs=(20_000, 1_000, 1_000),
        generate=entities.generate,
    ),
    "copy": NamedCorpus("generated", "built in", pairs=(20_000, 500, 500), generate=synthetic.copy),
    "reverse": NamedCorpus("generated", "built in", pairs=(20_000, 500, 500), generate=synthetic.reverse),
    **parallel.CORPORA,
    **wmt14.CORPORA,
    **labelled.CORPORA,
    **docstrings.CORPORA,
    **digits.CORPORA,
    **fashion_mnist.CORPORA,
    **scenes.CORPORA,
    **moving_shapes.CORPORA,
    **movielens.CORPORA,
    **series.CORPORA,
    **spoken_digits.CORPORA,
    **spoken_questions.CORPORA,
}

KEPT = 200_000
"""The most generated pairs that stay in memory, some 45 MB: a run reads its corpus four times."""


def load(
    name: str, split: str, folder: Path | None = None, *, count: int | None = None, seed: int = 0
) -> Iterator[Pair]:
    """The pairs of one split of the corpus `name`, as a stream.

    `split` is a role (train, valid, test) or the origin's own name. `folder` comes before OPENWORK_DATA, for corpora
    that are files. `count` takes the first so many pairs, and of a generated corpus any number; only generated corpora
    use `seed`. `DataError` for an unknown name or split and for missing files.
    """
    corpus = find(name)
    for own, role, size in zip(corpus.names, ROLES, corpus.pairs, strict=True):
        if split in (role, own):
            if corpus.generate is not None:
                wanted = count if count is not None else size or 0
                if wanted <= KEPT:
                    return iter(_kept(corpus.generate, own, wanted, seed))
                return corpus.generate(own, wanted, seed)
            return islice(corpus.read(own, folder), count)
    choices = dict.fromkeys([*ROLES, *corpus.names])
    raise DataError(
        f"{split}: the corpus {name} has no such split", hint=f"choose from {', '.join(choices)}", code="D016"
    )


@lru_cache(maxsize=2)
def _kept(generate: Callable[[str, int, int], Iterator[Pair]], split: str, count: int, seed: int) -> tuple[Pair, ...]:
    return tuple(generate(split, count, seed))


def fetch(name: str, folder: Path | None = None, progress: Progress = silent) -> None:
    """Bring all that `load` needs onto this machine, however large; `progress` receives the progress."""
    find(name).fetch(folder, progress)


def find(name: str) -> NamedCorpus:
    """The corpus of that name; `DataError` with the nearest name if there is none."""
    if name not in CORPORA:
        near = difflib.get_close_matches(name, CORPORA, n=1)
        hint = f"did you mean {near[0]}? openwork data list shows all" if near else "openwork data list shows all"
        raise DataError(f"{name}: no such corpus", hint=hint, code="D015")
    return CORPORA[name]


def list_corpora(folder: Path | None = None) -> list[dict[str, Any]]:
    """All of them for JSON, in the order of the table; `folder` is searched before OPENWORK_DATA.

    `pairs`: by split, None where they are not known beforehand. `found`: the place, empty if it is not here.
    """
    return [
        {
            "name": name,
            "languages": list(corpus.languages),
            "pairs": dict(zip(ROLES, corpus.pairs, strict=True)),
            "found": corpus.found(folder),
            "origin": corpus.origin,
            "terms": corpus.terms,
        }
        for name, corpus in CORPORA.items()
    ]


def table_lines(entries: list[dict[str, Any]]) -> list[str]:
    """One line a corpus: name, pairs of each split, place; and one for the terms of each family."""
    rows: list[tuple[str, ...]] = [("corpus", *map(AsIs, ROLES), "where")]
    for entry in entries:
        counts = ("?" if count is None else f"{count:,}" for count in entry["pairs"].values())
        rows.append((AsIs(entry["name"]), *counts, entry["found"] or Joined("not here", "; ", entry["origin"])))
    widths = [max(shown_width(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    # Both directions of a family have the same terms: tatoeba of tatoeba-en-de.
    terms = (Joined(AsIs(entry["name"].rsplit("-", 2)[0]), ": ", entry["terms"]) for entry in entries)
    return [*(_row(row, widths) for row in rows), "", *dict.fromkeys(terms)]


def _row(cells: tuple[str, ...], widths: list[int]) -> str:
    """A line of the table: the name, the counts, and the last cell as long as it is."""
    aligned = [Padded(cell, width, right=at > 0) for at, (cell, width) in enumerate(zip(cells, widths, strict=False))]
    return Joined(*(part for cell in aligned for part in (cell, "  ")), cells[-1])
