"""Rollout, flow and the facts of heads, worked by hand on two or three pieces and held to a second way on more."""

from itertools import combinations

import numpy as np
import pytest

from inference.attention_maps.bundles import CONVOLUTIONS, bundle_of
from openwork.inference.attention_maps import flow
from openwork.inference.attention_maps.capture import capture
from openwork.inference.attention_maps.facts import head_facts
from openwork.inference.attention_maps.flow import maximum_flows, rollout, through_layers, with_residual
from openwork.inference.attention_maps.maps import LayerMap, unpacked

FIRST, SECOND = np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.2, 0.8], [0.6, 0.4]])


def test_rollout_worked_by_hand():
    """A_1 = [[1, 0], [.25, .75]] and A_2 = [[.6, .4], [.3, .7]], so A_2 A_1 = [[.7, .3], [.475, .525]]."""
    layers = [with_residual(FIRST), with_residual(SECOND)]
    np.testing.assert_allclose(layers[1], [[0.6, 0.4], [0.3, 0.7]])
    np.testing.assert_allclose(rollout(layers), [[0.7, 0.3], [0.475, 0.525]])


def test_flow_worked_by_hand():
    """From the second output to the first input: .3 through the first node, min(.7, .25) through the second."""
    pytest.importorskip("scipy", reason="maximum flows")
    flows = maximum_flows([with_residual(FIRST), with_residual(SECOND)])
    np.testing.assert_allclose(flows, [[0.6 + 0.25, 0.4], [0.3 + 0.25, 0.7]], atol=1e-6)


def test_a_maximum_flow_is_a_minimum_cut():
    """Another way: of all sets of nodes with the source and without the sink, the least capacity that leaves one."""
    pytest.importorskip("scipy", reason="maximum flows")
    random = np.random.default_rng(1)
    low, high = random.dirichlet(np.ones(3), 3), random.dirichlet(np.ones(3), 3)
    flows = maximum_flows([low, high])
    inner = range(3)
    for output in range(3):
        for source in range(3):
            others = [one for one in range(3) if one != source]
            cuts = []
            for kept in (set(one) for size in range(4) for one in combinations(inner, size)):
                leaving = sum(high[output, one] for one in inner if one not in kept)
                cuts.append(leaving + sum(low[one, source] for one in kept))
            assert flows[output, source] == pytest.approx(min(cuts), abs=1e-5), others


def test_rollout_of_a_sentence_adds_up_to_1_and_goes_through_the_cross_attention():
    found = capture(bundle_of(), "a b c d")
    through = through_layers(found)
    assert through is not None and through.reason == ""
    np.testing.assert_allclose(through.rollout.sum(1), 1, atol=1e-5)
    np.testing.assert_allclose(through.cross_rollout.sum(1), 1, atol=1e-5)
    one, two = (with_residual(layer.mean) for layer in found.of_kind("encoder"))
    cross = np.mean([layer.weights for layer in found.of_kind("cross")], axis=(0, 1))
    np.testing.assert_allclose(through.cross_rollout, cross @ two @ one, atol=1e-6)


def test_json_of_rollout_and_flow():
    pytest.importorskip("scipy", reason="maximum flows")
    found = capture(bundle_of(), "a b c d")
    through = through_layers(found)
    assert through is not None and through.cross_flow is not None
    written = through.to_json()
    np.testing.assert_allclose(unpacked(written["cross"]), through.cross_rollout, atol=1e-5)
    np.testing.assert_allclose(unpacked(written["flow"]["cross"]), through.cross_flow, atol=1e-5)
    assert written["flowReason"] == "" and written["encoder"]["rows"] == len(found.source_pieces)
    largest = found.of_kind("cross")
    assert (through.cross_flow <= 1 + 1e-6).all() and largest


def test_flow_is_left_out_with_a_reason(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(flow, "MOST_FLOW", 3)
    through = through_layers(capture(bundle_of(), "a b c d"))
    assert through is not None and through.flow is None and "at most 3 pieces" in through.reason
    assert through.to_json()["flow"] == {"encoder": None, "cross": None}


def test_without_scipy_flow_is_left_out_with_a_reason(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(flow, "find_spec", lambda name: None)
    through = through_layers(capture(bundle_of(), "a b"))
    assert through is not None and through.cross_flow is None and "scipy" in through.reason


def test_an_encoder_without_attention_has_no_rollout():
    assert through_layers(capture(bundle_of(**CONVOLUTIONS), "a b")) is None


def test_facts_worked_by_hand():
    """Rows (1, 0) and (.5, .5): entropies 0 and ln 2, distances 0 and .5."""
    (one,) = head_facts([LayerMap("encoder", 2, FIRST[None].astype(np.float32))])
    assert (one.kind, one.layer, one.head) == ("encoder", 2, 0)
    assert one.entropy == pytest.approx(np.log(2) / 2) and one.distance == pytest.approx(0.25)
    assert (one.before, one.same, one.after, one.largest) == pytest.approx((0.5, 0.75, 0.0, 1.0))


def test_facts_of_a_uniform_head_and_of_a_single_key():
    even, alone = head_facts([LayerMap("cross", 0, np.stack([np.full((2, 4), 0.25, np.float32)] * 1)),
                              LayerMap("cross", 1, np.ones((1, 3, 1), np.float32))])  # fmt: skip
    assert even.entropy == pytest.approx(np.log(4)) and even.distance == pytest.approx((1.5 + 1.0) / 2)
    assert (alone.entropy, alone.distance, alone.after, alone.before) == (0, 1, 0, 1)
