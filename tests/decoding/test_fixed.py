"""Searches on tensors of fixed sizes: the same as the others, number for number."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings, strategies

from decoding.fixed_tables import FixedTableModel, fixed_search, made
from decoding.tables import TableModel, random_logits, sources
from openwork.base.errors import OpenworkError
from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.beam import beam_search
from openwork.decoding.fixed.choice import BLOCK, best_in_order
from openwork.decoding.fixed.model import FixedModel
from openwork.decoding.fixed.search import EVERY, WIDEST, advance_until_done, fits
from openwork.decoding.left_to_right import greedy_search
from openwork.decoding.scoring import best_tokens, length_limits
from openwork.decoding.settings import DecodingSettings

SETTINGS: dict[str, dict[str, Any]] = {
    "as usual": {"beam": 4},
    "all of them": {"beam": 5, "best": 5},
    "no penalty": {"beam": 3, "best": 2, "length_penalty": 0.0},
    "a whole penalty": {"beam": 2, "best": 2, "length_penalty": 1.0},
    "patient": {"beam": 3, "best": 3, "patience": 2.0},
    "half a hypothesis more": {"beam": 3, "best": 2, "patience": 1.5, "length_rule": "power"},
    "no better": {"beam": 4, "best": 4, "stopping": "no-better", "length_rule": "power", "length_penalty": 1.0},
    "no better, patient": {"beam": 2, "best": 2, "stopping": "no-better", "patience": 3.0},
    "ranked": {"beam": 4, "best": 4, "unfinished": "ranked"},
    "ranked, power": {"beam": 2, "best": 1, "unfinished": "ranked", "length_rule": "power", "length_penalty": 0.6},
    "wide": {"beam": 12, "best": 12},
    "one": {"beam": 1},
}


@pytest.mark.parametrize(
    "name", [name if name == "as usual" else pytest.param(name, marks=pytest.mark.slow) for name in SETTINGS]
)
@given(
    seed=strategies.integers(0, 10**6), vocabulary=strategies.integers(5, 9),
    lengths=strategies.lists(strategies.integers(1, 6), min_size=1, max_size=4), extra=strategies.integers(0, 6),
    fillers=strategies.integers(0, 2), spread=strategies.sampled_from([0.0, 0.5, 1.0, 2.0]),
    decimals=strategies.sampled_from([0, 1, 6]),
)  # fmt: skip
@settings(deadline=None, max_examples=40)
def test_it_finds_what_the_other_search_finds(
    name: str, seed: int, vocabulary: int, lengths: list[int], extra: int, fillers: int, spread: float, decimals: int
) -> None:
    """With no spread and with few decimals many are equally probable, and the order of equals counts."""
    chosen = DecodingSettings(extra_length=extra, maximum_length=10, **SETTINGS[name])
    logits, batch = random_logits(seed, vocabulary, spread, decimals), sources(range(len(lengths)), lengths)
    search = greedy_search if chosen.beam == 1 else beam_search
    assert fixed_search(logits, batch, chosen, fillers=fillers) == search(TableModel(logits), *batch, chosen)


@given(
    seed=strategies.integers(0, 10**6), rows=strategies.integers(1, 4), entries=strategies.integers(1, 3000),
    count=strategies.integers(1, 20), values=strategies.sampled_from([1, 3, 50, 10**6]),
)  # fmt: skip
@settings(deadline=None, max_examples=60)
def test_the_best_tokens_are_those_of_the_other_searches(
    seed: int, rows: int, entries: int, count: int, values: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randint(values, (rows, entries), generator=generator).float()
    scores[torch.rand(scores.shape, generator=generator) < 0.2] = -torch.inf
    expected, tokens = best_tokens(scores, count)
    found, places = best_in_order(scores, count)
    assert torch.equal(found, expected) and torch.equal(places, tokens)


@pytest.mark.parametrize("vocabulary", [BLOCK * 12, BLOCK * 40 + 5])
@pytest.mark.parametrize("beam", [1, 4])
def test_a_vocabulary_of_many_blocks(beam: int, vocabulary: int) -> None:
    logits, batch = random_logits(1, vocabulary, 3.0, 0), sources([4, 5, 6], [3, 6, 1])
    chosen = DecodingSettings(beam=beam, best=beam, extra_length=3)
    search = greedy_search if beam == 1 else beam_search
    assert fixed_search(logits, batch, chosen) == search(TableModel(logits), *batch, chosen)


@pytest.mark.parametrize("beam", [1, 3])
def test_buffers_serve_one_batch_after_another(beam: int) -> None:
    """Nothing of a batch is left in the next, which may have fewer sentences."""
    logits, chosen = random_logits(8, 7, 1.0), DecodingSettings(beam=beam, best=beam, extra_length=6)
    model = FixedTableModel(logits, sources([0], [1])[0], 3, beam, 16)
    search = made(model, chosen)
    for keys, lengths in (([1, 2, 3], [9, 2, 4]), ([4], [3]), ([5, 6], [1, 5])):
        batch = sources(keys, lengths)
        limits = length_limits(batch[1], chosen)
        model.state = FixedTableModel(logits, batch[0], 3, beam, 16).state
        search.start(limits)
        advance_until_done(search, search.advance, int(limits.max()))
        plain = greedy_search if beam == 1 else beam_search
        assert search.results() == plain(TableModel(logits), *batch, chosen)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_search_goes_on_in_larger_buffers(beam: int) -> None:
    logits, batch = random_logits(5, 8, 0.5), sources([1, 2], [8, 5])
    chosen = DecodingSettings(beam=beam, best=beam, extra_length=4, length_penalty=1.0)
    small = FixedTableModel(logits, batch[0], 3, beam, 5)
    large = FixedTableModel(logits, batch[0], 3, beam, 12)
    first, second = made(small, chosen), made(large, chosen)
    first.start(length_limits(batch[1], chosen))
    assert not advance_until_done(first, first.advance, 5)
    second.follow(first)
    large.state = small.state
    advance_until_done(second, second.advance, 7)
    plain = greedy_search if beam == 1 else beam_search
    assert second.results() == plain(TableModel(logits), *batch, chosen)


@pytest.mark.parametrize("beam", [1, 3])
def test_sentences_given_up_change_nothing_for_the_others(beam: int) -> None:
    def long_texts(key: int, prefix: tuple[int, ...]) -> list[float]:
        logits = list(random_logits(3, 9, 0.5)(key, prefix))
        logits[SYMBOL_IDS.end] = 9.0 if len(prefix) > EVERY + 3 + key else -9.0
        return logits

    chosen, batch = DecodingSettings(beam=beam, extra_length=30), sources([0, 1, 2, 3], [4, 2, 5, 3])
    expected = fixed_search(long_texts, batch, chosen)
    found = fixed_search(long_texts, batch, chosen, given_up=lambda: {1, 3})
    assert [found[place] for place in (0, 2)] == [expected[place] for place in (0, 2)]
    assert found[1] == found[3] == []


@pytest.mark.parametrize("beam", [1, 3])
def test_all_given_up_end_the_search(beam: int) -> None:
    batch, chosen = sources([0, 1], [4, 2]), DecodingSettings(beam=beam, extra_length=50)
    model = FixedTableModel(lambda key, prefix: [0.0, 0.0, 0.0, -50.0, 1.0, 0.5, 0.2, 0.1], batch[0], 3, beam, 60)
    search = made(model, chosen)
    search.start(length_limits(batch[1], chosen))
    assert advance_until_done(search, search.advance, 54, lambda: {0, 1})
    assert len(model.positions) == EVERY


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_logits_that_give_no_distribution_are_an_error(beam: int, number: float) -> None:
    def diverged(key: int, prefix: tuple[int, ...]) -> list[float]:
        return [0.0] * 4 + [number if len(prefix) == 2 and key == 1 else 1.0, 0.5, 0.2]

    batch, chosen = sources([0, 1], [4, 4]), DecodingSettings(beam=beam)
    with pytest.raises(OpenworkError, match="no probabilities") as raised:
        fixed_search(diverged, batch, chosen)
    assert raised.value.code == "E011"


@pytest.mark.parametrize("beam", [1, 3])
def test_a_place_without_a_sentence_may_give_anything(beam: int) -> None:
    """Sentences that are done compute on; what comes of it is not looked at."""

    def logits(key: int, prefix: tuple[int, ...]) -> list[float]:
        if key == 0 and len(prefix) > 1:
            return [float("nan")] * 7
        return [0.0, 0.0, 0.0, 40.0 if key == 0 or len(prefix) > 4 else -40.0, 1.0, 0.5, 0.2]

    batch, chosen = sources([0, 1], [1, 6]), DecodingSettings(beam=beam, extra_length=0)
    (short,), (long,) = fixed_search(logits, batch, chosen)
    assert short.tokens == () and len(long.tokens) == 5


def test_the_table_is_a_model_of_fixed_sizes() -> None:
    assert isinstance(FixedTableModel(random_logits(1, 6, 1.0), sources([0], [1])[0], 1, 1, 4), FixedModel)


@pytest.mark.parametrize(
    "changes",
    [
        {"samples": 1}, {"beam": 4, "groups": 2}, {"coverage_penalty": 0.1}, {"no_repeat": 2}, {"minimum_length": 3},
        {"repetition_penalty": 1.1}, {"beam": WIDEST + 1},
    ],
)  # fmt: skip
def test_settings_that_need_another_search(changes: dict[str, Any]) -> None:
    assert all(fits(DecodingSettings(**chosen)) for chosen in SETTINGS.values())
    assert not fits(DecodingSettings(**changes))
