"""How other toolkits rank and stop: the length rule, the stopping rule, and what becomes of the unfinished."""

from collections import defaultdict
from typing import Any

import pytest

from decoding.tables import TableModel, probabilities, sources
from openwork.decoding.beam import beam_search
from openwork.decoding.scoring import length_penalty
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings

END = 3


def test_the_power_of_the_length_by_hand() -> None:
    assert length_penalty(4, 0.5, "power") == 2.0
    assert length_penalty(7, 1.0, "power") == 7.0
    assert length_penalty(9, 0.0, "power") == length_penalty(1, 3.0, "power") == 1.0
    assert length_penalty(7, 1.0) == length_penalty(7, 1.0, "paper") == 2.0


def found(table: dict[tuple[int, ...], dict[int, float]], beam: int, **changes: Any) -> list[tuple[int, ...]]:
    """The targets of a beam search, best first; a beginning that is not in the table ends."""
    logits = probabilities(defaultdict(lambda: {END: 1.0}, table), 7)
    source, lengths = sources([0], [1])
    chosen = DecodingSettings.model_validate({"beam": beam, "length_penalty": 1.0, "length_rule": "power"} | changes)
    (hypotheses,) = beam_search(TableModel(logits), source, lengths, chosen)
    return [one.tokens for one in hypotheses]


def test_the_rules_rank_differently() -> None:
    # P($) = 0.5, P(b $) = 0.3, P(a b $) = 0.2. The logarithms -0.69, -1.20, -1.61 are divided by 1, 7/6, 8/6 in the
    # paper: -0.69 is the highest; by the lengths 1, 2, 3: -0.69, -0.60, -0.54.
    table = {(): {END: 0.5, 4: 0.2, 5: 0.3}, (4,): {5: 1.0}}
    assert found(table, 3, best=3, length_rule="paper") == [(), (5,), (4, 5)]
    assert found(table, 3, best=3) == [(4, 5), (5,), ()]


def test_no_better_goes_on_while_a_live_one_beats_the_worst() -> None:
    # Two are finished after the second step, with -1.20 / 1 and log 0.07 / 2 = -1.33; alive is log 0.63 / 2 = -0.23.
    table = {(): {END: 0.3, 4: 0.7}, (4,): {END: 0.1, 5: 0.9}}
    assert found(table, 2) == [()]
    assert found(table, 2, stopping="no-better") == [(4, 5)]


def test_no_better_stops_where_only_more_length_would_help() -> None:
    # After the second step: -0.51 / 1 and log 0.2 / 2 = -0.80; alive is log 0.18 / 2 = -0.86, at three tokens -0.57.
    table = {(): {END: 0.6, 4: 0.4}, (4,): {END: 0.5, 5: 0.45, 6: 0.05}}
    assert found(table, 2, best=2, stopping="no-better") == [(), (4,)]
    assert found(table, 2, best=2, patience=1000) == [(), (4, 5)]


def test_what_the_limit_cut_off_may_be_ranked() -> None:
    # Two tokens at most: finished are log 0.1 / 1 = -2.30 and log 0.045 / 2 = -1.55, cut off is log 0.855 / 2 = -0.08.
    table = {(): {END: 0.1, 4: 0.9}, (4,): {END: 0.05, 5: 0.95}}
    assert found(table, 2, best=2, extra_length=1) == [(4,), ()]
    assert found(table, 2, best=2, extra_length=1, unfinished="ranked") == [(4, 5), (4,)]
    assert found(table, 2, best=2, extra_length=9, unfinished="ranked") == [(4,), ()]  # they end before it


@pytest.mark.parametrize("beam", [1, 3])
def test_the_score_of_a_search_is_by_its_rule(beam: int) -> None:
    source, lengths = sources([0], [4])
    logits = probabilities(defaultdict(lambda: {END: 0.2, 4: 0.5, 5: 0.3}), 6)
    chosen = DecodingSettings(beam=beam, length_penalty=0.7, length_rule="power", extra_length=3)
    ((one,),) = decode(TableModel(logits), source, lengths, chosen)
    assert one.score == pytest.approx(one.log_probability / (len(one.tokens) + one.finished) ** 0.7)
