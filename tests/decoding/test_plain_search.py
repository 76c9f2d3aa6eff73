"""The fast searches find what beam search by its definition finds: for one sentence, and for a batch."""

import math

import pytest
import torch

from decoding.plain_search import LIMIT, VOCABULARY, Tables, cases, next_log_probabilities, penalty, plain_search
from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings, LengthRule

ENDS = (-2.0, 0.0, 1.0)  # what is added to the end symbol's logits: late, sometimes and early ends


@pytest.mark.slow
@pytest.mark.parametrize("length_rule", ["paper", "power"])
def test_the_fast_searches_find_what_the_plain_one_finds(length_rule: LengthRule):
    generator = torch.Generator().manual_seed(20170612)
    logits = torch.randn(len(ENDS), LIMIT, VOCABULARY, VOCABULARY, generator=generator)
    logits[..., SYMBOL_IDS.end] += torch.tensor(ENDS)[:, None, None]
    tables, known = Tables(logits), next_log_probabilities(logits).tolist()
    source, lengths = torch.arange(len(ENDS))[:, None], torch.ones(len(ENDS), dtype=torch.int64)
    compared = 0
    for settings in cases(length_rule):
        together = decode(tables, source, lengths, settings)
        for number, table in enumerate(known):
            expected = plain_search(table, settings)
            if expected is None:
                continue
            (alone,) = decode(tables, source[number : number + 1], lengths[:1], settings)
            for found in (together[number], alone):
                assert [one.tokens for one in found] == [tokens for _, tokens in expected], settings
                assert [one.score for one in found] == pytest.approx([value for value, _ in expected], abs=1e-3)
            compared += 1
    assert compared > 100


def test_the_plain_search_by_hand():
    """Two pieces, 4 and 5. Position 1: 4 with 0.6, the end with 0.4; after 4: the end with 0.5, 5 with 0.5.

    With alpha = 0 the empty target (0.4) beats "4" (0.3): a beam of 2 finishes both. A greedy search writes "4", as 4
    is first, and then takes the end or 5, which are equal: too close to be told apart.
    """
    never = -math.inf
    after_start = [never, never, never, math.log(0.4), math.log(0.6), never, never, never, never]
    after_four = [never, never, never, math.log(0.51), never, math.log(0.49), never, never, never]
    table = [[after_four if last == 4 else after_start for last in range(9)] for _ in range(3)]
    settings = DecodingSettings(beam=2, best=2, length_penalty=0.0, maximum_length=3)
    found = plain_search(table, settings)
    assert found is not None
    assert [tokens for _, tokens in found] == [(), (4,)]
    assert [math.exp(value) for value, _ in found] == pytest.approx([0.4, 0.6 * 0.51])
    close = [[[*row[:3], math.log(0.5), row[4], math.log(0.5), *row[6:]] for row in rows] for rows in table]
    assert plain_search(close, settings) is None


def test_the_penalty_by_hand():
    """((5 + 7) / 6)^0.6 = 2^0.6 = 1.5157; 4^0.5 = 2."""
    assert penalty(7, DecodingSettings(length_penalty=0.6)) == pytest.approx(1.5157, abs=1e-4)
    assert penalty(4, DecodingSettings(length_penalty=0.5, length_rule="power")) == pytest.approx(2.0)
