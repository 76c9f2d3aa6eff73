"""Sentences that nobody waits for any longer leave a search at the next step, and change nothing for the others."""

import pytest

from decoding.tables import TableModel, random_logits, sources
from giving_up import after
from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings

WAYS = {
    "greedy": {"beam": 1},
    "beam": {"beam": 3},
    "samples": {"samples": 2, "seed": 5},
    "greedy, by rules": {"beam": 1, "no_repeat": 3},
    "beam, by rules": {"beam": 2, "no_repeat": 3},
}


def long_texts(key: int, prefix: tuple[int, ...]) -> list[float]:
    """Random logits under which a text ends after its sixth token, or its seventh."""
    logits = list(random_logits(3, 9, 0.5)(key, prefix))
    logits[SYMBOL_IDS.end] = 9.0 if len(prefix) > 5 + key % 2 else -9.0
    return logits


@pytest.mark.parametrize("way", WAYS)
def test_the_others_are_found_as_without_it(way: str) -> None:
    settings = DecodingSettings.model_validate({"extra_length": 20, "length_penalty": 0.6, **WAYS[way]})
    source, lengths = sources([0, 1, 2, 3], [4, 2, 5, 3])
    whole, part = (TableModel(long_texts) for _ in range(2))
    expected = decode(whole, source, lengths, settings)
    found = decode(part, source, lengths, settings, given_up=after(2, {1, 3}))
    assert [found[place] for place in (0, 2)] == [expected[place] for place in (0, 2)]
    assert part.seen[:2] == whole.seen[:2] and sum(part.seen) < sum(whole.seen)
    if WAYS[way].get("beam", 1) == 1:  # a beam gives what it has
        assert found[1] == found[3] == []


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("sentences", [1, 2])
def test_a_search_ends_with_its_last_sentence(sentences: int, beam: int) -> None:
    """One sentence alone is searched in its own way."""
    settings = DecodingSettings(beam=beam, extra_length=50)
    source, lengths = sources(list(range(sentences)), [9] * sentences)
    never_ends = TableModel(lambda key, prefix: [0.0, 0.0, 0.0, -50.0, 1.0, 0.5, 0.2, 0.1])
    decode(never_ends, source, lengths, settings, given_up=after(3, set(range(sentences))))
    assert len(never_ends.seen) == 3
