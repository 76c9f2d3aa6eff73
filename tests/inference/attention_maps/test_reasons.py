"""Attributions by a second way each, and the curve of deletions."""

import json
import math

import numpy as np
import pytest
import torch

from inference.attention_maps.bundles import CONVOLUTIONS, bundle_of
from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import Bundle
from openwork.inference.attention_maps.attribution import STEPS, Attributions, attributions
from openwork.inference.attention_maps.capture import SentenceAttention, capture
from openwork.inference.attention_maps.deletion import SEEDS, DeletionCurve, Reasons, reasons
from openwork.inference.attention_maps.forced import ForcedTranslation
from openwork.inference.attention_maps.value_zeroing import permits, value_zeroing, without_values
from openwork.inference.scorer import Scorer
from openwork.nn.kernels import reference
from openwork.nn.masks import EVERYTHING

TEXT = "a b c d"


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return bundle_of()


@pytest.fixture(scope="module")
def found(bundle: Bundle) -> SentenceAttention:
    return capture(bundle, TEXT, "c d e")


@pytest.fixture(scope="module")
def why(bundle: Bundle, found: SentenceAttention) -> Reasons:
    return reasons(bundle, found)


def pair(bundle: Bundle, found: SentenceAttention) -> ForcedTranslation:
    return ForcedTranslation.of(bundle.model, found.source_ids, found.output_ids)  # type: ignore[arg-type]


@pytest.mark.parametrize("position", [None, 0, 3])
def test_integrated_gradients_add_up_to_the_difference(bundle: Bundle, found: SentenceAttention, position: int | None):
    one = attributions(bundle, found, position)
    total = float(one.scores["integrated-gradients"].sum())
    assert total == pytest.approx(one.value - one.baseline, abs=0.02 * max(1, abs(one.value - one.baseline)))
    terms = [piece.log_probability for piece in found.target_pieces]
    assert one.value == pytest.approx(np.mean(terms) if position is None else terms[position], abs=1e-5)


def test_gradient_x_input_is_the_slope_of_a_scaled_piece(bundle: Bundle, found: SentenceAttention):
    """Another way: (f((1 + h) e) - f((1 - h) e)) / 2h for the vector of one piece."""
    bundle.model.double()
    try:
        forced = pair(bundle, found)
        scores = attributions(bundle, found).scores["gradient-input"]
        vectors = bundle.model.source_embedding(forced.source[None]).detach()  # type: ignore[operator]
        for place in range(len(found.source_pieces)):
            moved = vectors.repeat(2, 1, 1)
            moved[0, place] *= 1 + 1e-4
            moved[1, place] *= 1 - 1e-4
            up, down = forced.terms(forced.source.repeat(2, 1), moved).mean(-1).tolist()
            assert scores[place] == pytest.approx((up - down) / 2e-4, abs=1e-6)
    finally:
        bundle.model.float()


def test_occlusion_is_the_loss_of_the_score_without_a_piece(bundle: Bundle, found: SentenceAttention):
    scores = attributions(bundle, found).scores["occlusion"]
    forced = pair(bundle, found)
    for place in range(len(found.source_pieces)):
        source = list(found.source_ids)
        source[place] = SYMBOL_IDS.unknown
        with torch.no_grad():
            lower = forced.terms(torch.tensor([source])).mean()
        assert scores[place] == pytest.approx(found.log_probability / len(found.target_pieces) - float(lower), abs=1e-5)


def test_attention_scores_are_means_of_rows(found: SentenceAttention, why: Reasons):
    cross = [layer.weights for layer in found.of_kind("cross")]
    np.testing.assert_allclose(why.attributions.scores["attention-last"], cross[-1].mean((0, 1)), atol=1e-6)
    np.testing.assert_allclose(why.attributions.scores["attention-all"], np.mean(cross, axis=(0, 1, 2)), atol=1e-6)
    for name in ("attention-last", "attention-all", "attention-rollout", "value-zeroing"):
        assert why.attributions.scores[name].sum() == pytest.approx(1, abs=1e-5)


def test_a_value_that_is_zero_is_one_that_is_not_attended_to():
    query, key, value = torch.randn(3, 2, 2, 3, 4).unbind(0)
    query, key, value = (one[:1].expand(3, -1, -1, -1) for one in (query, key, value))
    heads = without_values(reference.attention)(query, key, value, EVERYTHING, 0.5)
    for row in range(3):
        weights = reference.attention_weights(query[:1], key[:1], EVERYTHING, 0.5)
        weights[..., row] = 0
        torch.testing.assert_close(heads[row : row + 1], weights @ value[:1])


def test_value_zeroing_of_a_model_that_does_not_look_at_the_source(bundle: Bundle, found: SentenceAttention):
    """With cross-attentions that give nothing, no value changes anything: every piece counts alike."""
    outputs = [layer.cross_attention.output.weight for layer in bundle.model.decoder.layers]  # type: ignore[union-attr]
    kept = [weight.detach().clone() for weight in outputs]
    try:
        for weight in outputs:
            weight.data.zero_()
        mixing = value_zeroing(pair(bundle, found))
    finally:
        for weight, before in zip(outputs, kept, strict=True):
            weight.data.copy_(before)
    again = value_zeroing(pair(bundle, found))
    assert mixing.shape == (4, 5) and not torch.allclose(again, mixing, atol=1e-3)
    torch.testing.assert_close(mixing.sum(1), torch.ones(4, dtype=torch.double))
    torch.testing.assert_close(mixing, mixing[:1].expand(4, -1))


def test_the_deletion_curve_falls_from_the_translations_score_to_that_without_source(
    bundle: Bundle, found: SentenceAttention, why: Reasons
):
    assert {curve.method for curve in why.curves} == {*why.attributions.scores, "random"}
    nothing = torch.tensor([[*[SYMBOL_IDS.unknown] * 4, SYMBOL_IDS.end]])
    with torch.no_grad():
        last = float(pair(bundle, found).terms(nothing).sum())
    for curve in why.curves:
        assert curve.log_probabilities[0] == pytest.approx(found.log_probability, abs=1e-4)
        assert curve.log_probabilities[-1] == pytest.approx(last, abs=1e-4)
        assert len(curve.log_probabilities) == 5 and sorted(curve.order) in ([], [0, 1, 2, 3])


def test_the_first_deletion_is_the_occlusion_of_the_highest_score(found: SentenceAttention, why: Reasons):
    (curve,) = [one for one in why.curves if one.method == "occlusion"]
    scores = why.attributions.scores["occlusion"]
    assert scores[list(curve.order)].tolist() == sorted(scores[:4], reverse=True)
    drop = (curve.log_probabilities[0] - curve.log_probabilities[1]) / len(found.target_pieces)
    assert drop == pytest.approx(scores[:4].max(), abs=1e-4)


def test_area_worked_by_hand():
    """Trapezoids of -1, -3, -4 over 0, .5, 1: (-2 - 3.5) / 2."""
    assert DeletionCurve("x", (0, 1), np.array([-1.0, -3.0, -4.0])).area == pytest.approx(-2.75)
    assert DeletionCurve("x", (), np.array([-1.0])).area == -1


def test_all_positions_are_the_mean_of_each(bundle: Bundle, found: SentenceAttention):
    """Attributions are linear in positions: their mean is that of all."""
    each = [attributions(bundle, found, position).scores for position in range(len(found.target_pieces))]
    for name, scores in attributions(bundle, found).scores.items():
        np.testing.assert_allclose(np.mean([one[name] for one in each], axis=0), scores, atol=1e-4, err_msg=name)
    with pytest.raises(IndexError):
        attributions(bundle, found, len(found.target_pieces))


def test_a_piece_that_no_search_can_choose_does_not_count():
    """The unknown symbol of words; its log-probability is minus infinity."""
    bundle = bundle_of("words")
    found = capture(bundle, TEXT, "a zzz b")
    assert [piece.log_probability == -math.inf for piece in found.target_pieces].count(True) == 1
    assert found.to_json()["targetPieces"][1]["logProbability"] is None
    why = reasons(bundle, found)
    json.dumps(why.to_json(), allow_nan=False)
    (scored,) = Scorer(bundle.model, bundle.tokenizers).score([(TEXT, "a zzz b")])
    finite = [term for term in scored.log_probabilities if math.isfinite(term)]
    assert why.curves[0].log_probabilities[0] == pytest.approx(sum(finite), abs=1e-4)


@pytest.mark.parametrize("model", [CONVOLUTIONS, {"kind": "recurrent", "width": 8}, {"attention": "linear"}])
def test_other_models_have_the_methods_that_they_permit(model: dict[str, object]):
    bundle = bundle_of(**model)
    assert not permits(bundle.model)
    found = capture(bundle, TEXT)
    one: Attributions = attributions(bundle, found)
    assert "value-zeroing" in one.left_out and set(one.left_out) | set(one.scores) == set(
        attributions(bundle_of(), capture(bundle_of(), TEXT)).scores
    )
    assert one.scores["integrated-gradients"].sum() == pytest.approx(one.value - one.baseline, abs=0.05)


class Gone(Exception):
    pass


@pytest.mark.parametrize("passes", [0, 1, 5])
def test_it_ends_between_two_passes_of_the_model(bundle: Bundle, found: SentenceAttention, passes: int):
    """Of a client that has gone, no more passes than there were until then."""
    left = iter(range(passes))

    def between() -> None:
        if next(left, None) is None:
            raise Gone

    with pytest.raises(Gone):
        reasons(bundle, found, between)
    assert next(left, None) is None
    assert len(reasons(bundle, found, lambda: None).curves) > 1


def test_json(found: SentenceAttention, why: Reasons):
    written = json.loads(json.dumps(why.to_json(), allow_nan=False))
    methods = {one["method"]: one["scores"] for one in written["attributions"]["methods"]}
    assert methods["occlusion"] == why.attributions.scores["occlusion"].tolist()
    assert written["attributions"]["steps"] == STEPS
    assert written["deletion"]["replacement"] == "<unk>" and written["deletion"]["seeds"] == SEEDS
    last = written["deletion"]["curves"][-1]
    assert last["method"] == "random" and last["order"] == [] and len(last["logProbabilities"]) == 5
    assert len(found.source_pieces) == 5
