"""The searches against a table model, whose every target can be listed and scored by the definition."""

from itertools import chain

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from decoding.rescoring import score
from decoding.tables import TableModel, TableState, exhaustive, log_probability, probabilities, random_logits, sources
from openwork.base.errors import OpenworkError
from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.beam import beam_search
from openwork.decoding.left_to_right import greedy_search
from openwork.decoding.scoring import Hypothesis, length_penalty
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings

SPREADS = st.sampled_from([0.1, 1.0, 4.0])
SEEDS = st.integers(0, 10**6)
ALPHAS = st.sampled_from([0.0, 0.6, 1.0, 3.0])
LENGTHS = st.lists(st.integers(1, 4), min_size=1, max_size=4)
SHORT = st.lists(st.integers(1, 3), min_size=1, max_size=4)  # few enough targets for a beam of all of them
DECIMALS = st.sampled_from([0, 6])  # 0 makes many equals


def options(beam: int, **others: float) -> DecodingSettings:
    """Settings whose length limit is the source's length, unless told otherwise."""
    return DecodingSettings.model_validate({"beam": beam, "extra_length": 0, **others})


def close(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    assert [[(h.tokens, h.finished) for h in one] for one in found] == [
        [(h.tokens, h.finished) for h in one] for one in expected
    ]
    for one, other in zip(chain(*found), chain(*expected), strict=True):
        assert one.log_probability == pytest.approx(other.log_probability, abs=1e-5)
        assert one.score == pytest.approx(other.score, abs=1e-5)


# Worked by hand. a = 4, b = 5, $ = the end symbol; below each beginning its next tokens:
#
#     (nothing)   a 0.55   b 0.45             greedy takes a
#     a           $ 0.4    a 0.3   b 0.3      then ends: P(a $) = 0.55 x 0.4 = 0.22
#     b           $ 0.9    a 0.1              P(b $) = 0.45 x 0.9 = 0.405, nearly twice that
#
# A beam of 2 keeps a and b; of their continuations b$ 0.405 and a$ 0.22 are the best two, and both are finished.
GARDEN_PATH = probabilities({(): {4: 0.55, 5: 0.45}, (4,): {3: 0.4, 4: 0.3, 5: 0.3}, (5,): {3: 0.9, 4: 0.1}}, 6)


def test_greedy_is_led_astray_where_a_beam_of_two_is_not() -> None:
    source, lengths = sources([0], [9])
    (by_greedy,) = decode(TableModel(GARDEN_PATH), source, lengths, options(1, length_penalty=0.0))
    (by_beam,) = decode(TableModel(GARDEN_PATH), source, lengths, options(2, length_penalty=0.0, best=2))
    assert [h.tokens for h in by_greedy] == [(4,)]
    assert torch.tensor(by_greedy[0].log_probability).exp().item() == pytest.approx(0.22, abs=1e-6)
    assert [h.tokens for h in by_beam] == [(5,), (4,)]
    assert torch.tensor([h.score for h in by_beam]).exp().tolist() == pytest.approx([0.405, 0.22], abs=1e-6)


def test_the_length_penalty_can_prefer_the_less_probable_longer_target() -> None:
    # P($) = 0.5, P(a $) = 0.45. Penalties with alpha 1: lengths 1 and 2 give 6/6 and 7/6, so the scores are
    # log 0.5 = -0.693 and log 0.45 x 6/7 = -0.684.
    table = probabilities({(): {3: 0.5, 4: 0.45, 5: 0.05}, (4,): {3: 1.0}, (5,): {3: 1.0}}, 6)
    source, lengths = sources([0], [3])
    for alpha, best in ((0.0, ()), (1.0, (4,))):
        ((hypothesis,),) = decode(TableModel(table), source, lengths, options(3, length_penalty=alpha))
        assert hypothesis.tokens == best


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, vocabulary=st.integers(5, 7), spread=SPREADS, lengths=SHORT, alpha=ALPHAS, decimals=DECIMALS)
def test_full_width_is_exhaustive_search(
    seed: int, vocabulary: int, spread: float, lengths: list[int], alpha: float, decimals: int
) -> None:
    logits = random_logits(seed, vocabulary, spread, decimals)
    beam = vocabulary ** max(lengths)
    source, source_lengths = sources(range(len(lengths)), lengths)
    for best in (1, 5):
        found = beam_search(TableModel(logits), source, source_lengths, options(beam, length_penalty=alpha, best=best))
        for key, (hypotheses, limit) in enumerate(zip(found, lengths, strict=True)):
            every = exhaustive(logits, key, vocabulary, limit, alpha)
            assert [h.score for h in hypotheses] == pytest.approx([s for s, _ in every[:best]], abs=1e-5)
            assert all(h.finished for h in hypotheses)
            by_tokens = {tokens: value for value, tokens in every}
            assert [h.score for h in hypotheses] == pytest.approx([by_tokens[h.tokens] for h in hypotheses], abs=1e-5)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, spread=SPREADS, lengths=LENGTHS, alpha=ALPHAS, decimals=DECIMALS)
def test_greedy_is_a_beam_of_one(seed: int, spread: float, lengths: list[int], alpha: float, decimals: int) -> None:
    model = TableModel(random_logits(seed, 8, spread, decimals))
    source, source_lengths = sources(range(len(lengths)), lengths)
    chosen = options(1, extra_length=3, length_penalty=alpha)
    close(greedy_search(model, source, source_lengths, chosen), beam_search(model, source, source_lengths, chosen))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, spread=SPREADS, lengths=LENGTHS, beam=st.integers(1, 5), decimals=DECIMALS)
def test_a_batch_gives_what_its_sentences_give_alone(
    seed: int, spread: float, lengths: list[int], beam: int, decimals: int
) -> None:
    model = TableModel(random_logits(seed, 8, spread, decimals))
    chosen = options(beam, extra_length=2, best=beam)
    source, source_lengths = sources(range(len(lengths)), lengths)
    together = decode(model, source, source_lengths, chosen)
    alone = [decode(model, *sources([key], [length]), chosen)[0] for key, length in enumerate(lengths)]
    close(together, alone)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, spread=SPREADS, beam=st.integers(1, 6), alpha=ALPHAS, decimals=DECIMALS, extra=st.integers(0, 5))
def test_hypotheses_are_sorted_distinct_allowed_and_worth_their_rescoring(
    seed: int, spread: float, beam: int, alpha: float, decimals: int, extra: int
) -> None:
    logits = random_logits(seed, 7, spread, decimals)
    source, lengths = sources([0, 1], [1, 3])
    for key, found in enumerate(
        decode(TableModel(logits), source, lengths, options(beam, extra_length=extra, best=beam, length_penalty=alpha))
    ):
        assert 1 <= len(found) <= beam
        assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)
        assert len({h.tokens for h in found}) == len(found)
        finished = found[0].finished
        assert all(h.finished == finished for h in found)
        again = score(
            TableModel(logits),
            source[[key] * len(found)],
            lengths[[key] * len(found)],
            [h.tokens for h in found],
            ended=finished,
        )
        assert again.tolist() == pytest.approx([h.log_probability for h in found], abs=1e-5)
        for h in found:
            length = len(h.tokens) + finished
            assert 1 <= length <= int(lengths[key]) + extra
            assert not {*SYMBOL_IDS.forbidden, SYMBOL_IDS.end} & set(h.tokens)
            assert h.log_probability == pytest.approx(log_probability(logits, key, h.tokens, ended=finished), abs=1e-5)
            assert h.score == pytest.approx(h.log_probability / length_penalty(length, alpha))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, spread=SPREADS, beam=st.integers(1, 4), alpha=ALPHAS)
def test_stopping_early_loses_nothing(seed: int, spread: float, beam: int, alpha: float) -> None:
    """Asked for its whole beam, the search cannot stop on the best alone; the best must still be the same."""
    model = TableModel(random_logits(seed, 7, spread))
    source, lengths = sources([0], [5])
    # so patient that only the bound and the limit stop it
    (one,) = beam_search(model, source, lengths, options(beam, patience=1000, length_penalty=alpha))
    (all_of_them,) = beam_search(model, source, lengths, options(beam, patience=1000, length_penalty=alpha, best=beam))
    close([one], [all_of_them[:1]])


def never_ending(key: int, prefix: tuple[int, ...]) -> list[float]:
    return [9.0, 9.0, 9.0, -5.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("beam", [1, 2, 3])
def test_the_length_limit_stops_each_row(beam: int) -> None:
    source, lengths = sources([0, 0, 0], [1, 4, 9])
    found = decode(TableModel(never_ending), source, lengths, options(beam, extra_length=2, maximum_length=7))
    assert [h.tokens for (h,) in found] == [(5,) * 3, (5,) * 6, (5,) * 7]
    assert not any(h.finished for (h,) in found)


def test_unfinished_hypotheses_only_where_nothing_finished() -> None:
    # Ending is the third best at the first step, and impossible after it.
    table = {(): {4: 0.5, 5: 0.3, 3: 0.2}, (4,): {4: 1.0}, (5,): {5: 1.0}, (4, 4): {4: 1.0}, (5, 5): {5: 1.0}}
    model = TableModel(probabilities(table, 6))
    source, lengths = sources([0], [3])
    (narrow,) = decode(model, source, lengths, options(2, best=2))
    assert [(h.tokens, h.finished) for h in narrow] == [((4, 4, 4), False), ((5, 5, 5), False)]
    (wide,) = decode(model, source, lengths, options(3, best=3))
    assert [(h.tokens, h.finished) for h in wide] == [((), True)]


@pytest.mark.parametrize("beam", [1, 3])
def test_finished_sentences_leave_the_batch(beam: int) -> None:
    def ends_after_its_key(key: int, prefix: tuple[int, ...]) -> list[float]:
        return [0.0, 0.0, 0.0, 50.0 if len(prefix) >= key else -50.0, 0.0, 1.0, 2.0, 3.0]

    model = TableModel(ends_after_its_key)
    source, lengths = sources([1, 4, 2, 0], [9, 9, 9, 9])
    found = decode(model, source, lengths, options(beam))
    assert [len(h.tokens) for (h,) in found] == [1, 4, 2, 0]
    # The sentence with key n is alive for n + 1 steps. The first step has one row for each, the later ones a beam.
    assert model.seen == [4, 3 * beam, 2 * beam, beam, beam]


def test_of_equals_the_lower_id_comes_first() -> None:
    def level(key: int, prefix: tuple[int, ...]) -> list[float]:
        return [0.0] * 3 + [9.0 if prefix else -9.0] + [0.0] * 60

    source, lengths = sources([0], [2])
    (found,) = decode(TableModel(level), source, lengths, options(4, best=4))
    assert [h.tokens for h in found] == [(4,), (5,), (6,), (7,)]
    ((one,),) = decode(TableModel(level), source, lengths, options(1))
    assert one.tokens == (4,)


@pytest.mark.parametrize("beam", [1, 4])
def test_an_empty_batch_has_no_hypotheses(beam: int) -> None:
    source, lengths = sources([], [])
    model = TableModel(never_ending)
    assert decode(model, source, lengths, options(beam)) == []
    assert model.seen == []
    assert score(model, source, lengths, []).shape == (0,)


def test_the_models_logits_are_left_as_they_are() -> None:
    kept = torch.randn(1, 1, 8)

    class Constant(TableModel):
        def step(self, tokens: torch.Tensor, state: TableState) -> tuple[torch.Tensor, TableState]:
            return kept.expand(tokens.shape[0], -1, -1), state

    before = kept.clone()
    for beam in (1, 2):
        decode(Constant(never_ending), *sources([0], [3]), options(beam))
    assert torch.equal(kept, before)


@pytest.mark.parametrize("beam", [1, 2])
@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_a_broken_model_is_reported(beam: int, wrong: float) -> None:
    model = TableModel(lambda key, prefix: [0.0, 0.0, 0.0, 0.0, wrong, 0.0])
    with pytest.raises(OpenworkError, match="no probabilities"):
        decode(model, *sources([0], [3]), options(beam))


class ChoosingTable(TableModel):
    """A table that also says which tokens are best."""

    def best(self, logits: Tensor, added: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
        scores, ids = (logits + added).sort(dim=-1, descending=True, stable=True)
        return scores[:, :count], ids[:, :count], (logits + added).logsumexp(-1, keepdim=True)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("count", [1, 4])
def test_a_model_that_chooses_itself_is_searched_with_the_same_result(beam: int, count: int) -> None:
    logits, chosen = random_logits(5, 9, 1.0), options(beam)
    batch = sources(list(range(count)), [4] * count)
    close(decode(ChoosingTable(logits), *batch, chosen), decode(TableModel(logits), *batch, chosen))
