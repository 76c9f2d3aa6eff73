"""Ensembles, alternatives and minimum Bayes risk against their definitions."""

import math
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.tables import TableModel, exhaustive, log_probability, probabilities, random_logits, sources
from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.ensemble import Ensemble
from openwork.decoding.rescore import alternatives
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.inference.reranking import expected_utilities
from openwork.models.build import build_model
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.settings import TransformerSettings

VOCABULARY = 13
TRANSFORMER = TransformerSettings(width=8, heads=2, feedforward_width=8, encoder_layers=1, decoder_layers=2, norm="pre")
RECURRENT = RecurrentSettings(kind="recurrent", width=8, encoder_layers=1, decoder_layers=1)
SOURCE, LENGTHS = torch.tensor([[5, 6, 7, 3], [9, 3, 0, 0], [4, 4, 3, 0]]), torch.tensor([4, 2, 3])
OPTIONS = DecodingSettings(beam=4, best=4, extra_length=3)


def models(kinds: Sequence[TransformerSettings | RecurrentSettings]) -> list:
    made = []
    for seed, kind in enumerate(kinds):
        torch.manual_seed(seed)
        made.append(build_model(kind, VOCABULARY, VOCABULARY).eval())
        for parameter in made[-1].parameters():
            parameter.data.mul_(3.0)
    return made


def test_an_ensemble_is_the_mean_of_the_probabilities() -> None:
    members = models([TRANSFORMER, RECURRENT])
    together = Ensemble(members)
    tokens = torch.tensor([[2, 5], [2, 7], [2, 4]])
    with torch.inference_mode():
        found, state = together.step(tokens, together.start(SOURCE, LENGTHS))
        shares = []
        for member in members:
            logits, _ = member.step(tokens, member.start(SOURCE, LENGTHS))
            logits[..., list(SYMBOL_IDS.forbidden)] = -math.inf
            shares.append(logits.softmax(-1))
        torch.testing.assert_close(found.exp(), (shares[0] + shares[1]) / 2)
        # rows are chosen in all members alike
        later, _ = together.step(tokens[[2, 0], :1], state.select(torch.tensor([2, 0])))
        whole, _ = together.step(
            torch.cat([tokens, tokens[:, :1]], 1)[[2, 0]], together.start(SOURCE[[2, 0]], LENGTHS[[2, 0]])
        )
        torch.testing.assert_close(later[:, -1], whole[:, -1], rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_an_ensemble_of_the_same_is_the_same() -> None:
    for kind in (TRANSFORMER, RECURRENT):
        (member,) = models([kind])
        alone, twice = (decode(model, SOURCE, LENGTHS, OPTIONS) for model in (member, Ensemble([member, member])))
        assert [[h.tokens for h in one] for one in alone] == [[h.tokens for h in one] for one in twice]


@pytest.mark.parametrize("kind", [TRANSFORMER, RECURRENT], ids=["transformer", "recurrent"])
def test_attending_is_stepping_and_looking(kind: TransformerSettings | RecurrentSettings) -> None:
    """Weights sum to one over the real source tokens, are none on padding, and step by step those of the whole."""
    (model,) = models([kind])
    tokens = torch.tensor([[2, 5, 8], [2, 7, 7], [2, 4, 11]])
    with torch.inference_mode():
        plain, _ = model.step(tokens, model.start(SOURCE, LENGTHS))
        logits, weights, _ = model.attend(tokens, model.start(SOURCE, LENGTHS))
        torch.testing.assert_close(logits, plain)
        assert weights.shape == (3, 3, 4)
        torch.testing.assert_close(weights.sum(-1), torch.ones(3, 3))
        assert weights[1, :, 2:].abs().max() == 0 and weights[2, :, 3:].abs().max() == 0
        state, parts = model.start(SOURCE, LENGTHS), []
        for column in tokens.split(1, dim=1):
            _, part, state = model.attend(column, state)
            parts.append(part)
        torch.testing.assert_close(torch.cat(parts, 1), weights, rtol=1e-4, atol=1e-5)
        again, _ = model.step(tokens, model.start(SOURCE, LENGTHS))
        assert torch.equal(again, plain)  # it was only looked at


@pytest.mark.slow
@pytest.mark.parametrize("kind", [TRANSFORMER, RECURRENT], ids=["transformer", "recurrent"])
def test_coverage_penalty_of_real_models_in_a_batch_and_alone(kind: TransformerSettings | RecurrentSettings) -> None:
    for model in (*models([kind]), Ensemble(models([kind, kind]))):
        chosen = OPTIONS.model_copy(update={"coverage_penalty": 0.4})
        found = decode(model, SOURCE, LENGTHS, chosen)
        for row, length in enumerate(LENGTHS.tolist()):
            one = slice(row, row + 1)
            (alone,) = decode(model, SOURCE[one, :length], LENGTHS[one], chosen)
            assert [h.tokens for h in alone] == [h.tokens for h in found[row]]
            assert [h.score for h in alone] == pytest.approx([h.score for h in found[row]], abs=1e-4)
        plain = {h.tokens: h.score for h in decode(model, SOURCE, LENGTHS, OPTIONS)[0]}
        assert all(h.score < plain[h.tokens] for h in found[0] if h.tokens in plain)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), prefixes=st.lists(st.lists(st.integers(4, 8), max_size=3), min_size=1, max_size=3))
def test_alternatives_are_the_next_tokens_by_probability(seed: int, prefixes: list[list[int]]) -> None:
    logits = random_logits(seed, 9, 1.0)
    source, lengths = sources(range(len(prefixes)), [3] * len(prefixes))
    found = alternatives(TableModel(logits), source, lengths, prefixes, 4)
    for key, (prefix, listed) in enumerate(zip(prefixes, found, strict=True)):
        before = log_probability(logits, key, tuple(prefix), ended=False)
        every = {
            token: math.exp(log_probability(logits, key, (*prefix, token), ended=False) - before)
            for token in range(3, 9)
        }
        best = sorted(every, key=lambda token: (-every[token], token))[:4]
        assert [token for token, _ in listed] == best
        assert [p for _, p in listed] == pytest.approx([every[token] for token in best], abs=1e-5)


def test_what_has_no_probability_is_no_alternative() -> None:
    model = TableModel(probabilities({(): {4: 0.75, 5: 0.25}}, 6))
    assert [token for token, _ in alternatives(model, *sources([0], [2]), [()], 5)[0]] == [4, 5]
    assert alternatives(model, *sources([], []), [], 5) == []


def shared(text: str, reference: str) -> float:
    """A utility to work with by hand: the share of common words."""
    one, other = set(text.split()), set(reference.split())
    return len(one & other) / len(one | other)


def test_expected_utility_by_hand() -> None:
    """The most probable text is not the one that the others agree with."""
    texts, weights = ["x y", "a b", "a c"], [0.4, 0.3, 0.3]
    found = expected_utilities(texts, weights, shared)
    assert found == pytest.approx([0.4, 0.3 + 0.3 / 3, 0.3 + 0.3 / 3])
    # of samples, one that comes twice counts twice
    assert expected_utilities(["x", "x", "a"], [1 / 3] * 3, shared) == pytest.approx([2 / 3, 2 / 3, 1 / 3])


def test_risk_over_all_targets_is_the_sum_over_the_list() -> None:
    """With every target in the beam, the expected utility is the one under the model itself."""
    logits = random_logits(4, 6, 1.0)
    (found,) = decode(
        TableModel(logits), *sources([0], [3]), DecodingSettings(beam=2**4, best=2**4, extra_length=0, patience=9.0)
    )
    every = exhaustive(logits, 0, 6, 3, 0.0)
    texts = [" ".join(map(str, h.tokens)) or "-" for h in found]
    assert len(texts) == len(every)
    weights = torch.tensor([h.log_probability for h in found], dtype=torch.float64).softmax(0).tolist()
    utilities = dict(zip(texts, expected_utilities(texts, weights, shared), strict=True))
    total = sum(math.exp(score) for score, _ in every)
    for _, tokens in every:
        text = " ".join(map(str, tokens)) or "-"
        expected = sum(math.exp(s) / total * shared(text, " ".join(map(str, other)) or "-") for s, other in every)
        assert utilities[text] == pytest.approx(expected, abs=1e-5)
