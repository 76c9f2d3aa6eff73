"""A minute of what `make fuzz` does for hours: no reader may end in anything but a result or a sentence."""

import random
from pathlib import Path

import pytest

from fuzz import guide
from fuzz.harness import fuzz
from fuzz.mutate import WAYS, mutated
from fuzz.target import Target
from fuzz.targets import TARGETS

pytestmark = pytest.mark.slow

# Inputs of each target besides its seeds. They are counted and not timed, so that a busy machine tries as many.
INPUTS = 2000
FEWER = {
    "run file": 750,
    "translation file": 750,
    "configuration of others": 250,
    "configuration of others, yaml": 750,
    "tokenizer": 1000,
    "any tokenizer": 750,
    "SentencePiece": 150,
    "bundle": 30,
    "bundle, signed": 30,
    "checkpoints": 100,
    "checkpoints, signed": 100,
    "token store": 500,
    "evaluation": 750,
    "run folder": 1000,
    "run folder, continued": 500,
    "Hugging Face's folder": 20,
    "BERT's folder": 50,
    "GPT-2's folder": 30,
    "LLaMA's folder": 20,
    "Marian's pieces": 150,
    "CTranslate2's folder": 20,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_nothing_but_a_result_or_a_sentence(name: str) -> None:
    count = len(TARGETS[name].seeds()) + FEWER.get(name, INPUTS)
    outcome = fuzz(name, count)
    assert outcome.found == {}
    assert outcome.inputs == count


def test_the_counts_are_those_of_targets() -> None:
    assert FEWER.keys() <= TARGETS.keys()


@pytest.mark.parametrize("name", TARGETS)
def test_the_seeds_themselves_are_understood(name: str) -> None:
    """A target whose seeds are all refused would test nothing but its first check."""
    count = len(TARGETS[name].seeds())
    outcome = fuzz(name, count)
    assert outcome.inputs == count and outcome.refused < count


def _deep(path: Path) -> None:
    """Wants four signs in a row, which chance alone does not bring together."""
    data = path.read_bytes()
    if data[:1] != b"{":
        return
    if data[1:2] != b"[":
        return
    if data[2:3] != b"<":
        return
    if data[3:4] == b"#":
        raise RuntimeError("found")


def test_a_guide_leads_where_chance_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guide, "SOURCE", str(Path(__file__).parent))
    monkeypatch.setitem(TARGETS, "deep", Target("a", lambda: [b"ab"], _deep))
    blind, led = fuzz("deep", 8000), fuzz("deep", 8000, guided=True)
    assert led.found and not blind.found
    assert 3 <= led.further < 20 and blind.further == 0


def test_mutations_are_many_and_repeatable() -> None:
    seeds = [b'{"a": 12}', b"<a>text</a>"]
    found = {mutated(seeds, random.Random(number)) for number in range(200)}
    assert len(found) > 150
    assert mutated(seeds, random.Random(5)) == mutated(seeds, random.Random(5))
    for way in WAYS:
        way(bytearray(), [b""], random.Random(1))  # nothing is no trouble
