"""The claims of the studies hold, and fail where their cause is taken away; what they measure is checked by hand."""

import inspect
import math

import pytest
import torch
from torch import nn

from openwork.base.errors import ConfigError, UsageError
from openwork.base.messages import catalogue
from openwork.nn.layers import Encoder
from openwork.nn.masks import EVERYTHING
from openwork.nn.positions import LearnedPositions
from openwork.study.studies import depth, layers, order, recurrence, scale
from openwork.study.studies.layers import serial_products, shortest_way
from openwork.study.studies.showing import list_lines, page, result_lines
from openwork.study.studies.study import Claim, Result
from openwork.study.studies.table import (
    STUDIES,
    DepthSettings,
    LayerStudySettings,
    OrderSettings,
    RecurrenceSettings,
    ScaleSettings,
    find_study,
    sizes_of,
)

pytestmark = pytest.mark.slow

SMALL_LAYERS = LayerStudySettings(lengths=(5, 9), width=8, repeats=1)


def holding(result: Result) -> list[bool]:
    return [claim.holds for claim in result.claims]


def test_the_claims_about_time_hold() -> None:
    assert all(holding(recurrence.run(RecurrenceSettings())))


def test_where_nothing_saturates_the_rnns_gradient_is_the_bound() -> None:
    """Near zero the tanh is linear, W is the norm times an orthogonal matrix, and so is each product of W."""
    sizes = RecurrenceSettings(steps=30, width=8, batch=1, recurrent_norm=0.7, input_deviation=1e-9)
    norms = recurrence.measure(sizes).gradients[recurrence.RECURRENT.key]
    assert norms == pytest.approx([0.7**back for back in range(31)], rel=1e-9)


def test_a_matrix_of_norm_one_keeps_the_gradient_and_so_do_open_gates() -> None:
    sizes = RecurrenceSettings(steps=60, width=8, batch=1, recurrent_norm=1.0, input_deviation=1e-4, closed_bias=9.0)
    within, vanishes, lstm_keeps_more, gates_decide, _ = holding(recurrence.run(sizes))
    assert within and not vanishes and not lstm_keeps_more and not gates_decide


def test_the_bound_is_a_bound() -> None:
    found = recurrence.measure(RecurrenceSettings(steps=10, width=8, batch=1)).gradients
    assert not recurrence.RecurrenceData(0.5, found).is_within_bound


def test_the_claims_about_depth_hold() -> None:
    assert all(holding(depth.run(DepthSettings())))


def test_a_few_layers_need_no_residual() -> None:
    assert not depth.run(DepthSettings(layers=2)).claims[0].holds


def test_with_residuals_in_their_place_nothing_vanishes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depth, "connection", lambda kind, width: depth.PreNorm(width, 0.0))
    assert not depth.run(DepthSettings()).claims[0].holds


def test_the_gradients_of_the_layers_are_those_of_the_encoder() -> None:
    torch.manual_seed(0)
    built = [depth.encoder_layer(depth.POST, 8) for _ in range(3)]
    x = torch.randn(1, 4, 8, dtype=torch.float64, requires_grad=True)
    torch.manual_seed(1)
    norms = depth.gradient_norms(built, x)
    torch.manual_seed(1)
    direction = torch.randn_like(x)
    Encoder(built, nn.Identity())(x, EVERYTHING).backward(direction)
    assert x.grad is not None
    assert (norms[0], norms[-1]) == pytest.approx((x.grad.norm().item(), direction.norm().item()), rel=1e-12)


def test_the_claims_about_scale_hold() -> None:
    assert all(holding(scale.run(ScaleSettings())))


def test_small_queries_and_keys_saturate_nothing() -> None:
    """Of deviation 0.2, products have variance d_k / 625: the scale is not needed."""
    assert holding(scale.run(ScaleSettings(deviation=0.2))) == [False, False, False]


def test_scores_of_equal_keys_by_hand() -> None:
    query, key = torch.ones(1, 1, 2, 3, dtype=torch.float64), torch.ones(1, 1, 4, 3, dtype=torch.float64)
    found = scale.attend(query, key, 1.0)
    # four weights of 1/4: the Jacobian has 3/16 on the diagonal and -1/16 beside it
    assert found.variance == 0 and found.largest == 0.25 and found.entropy == pytest.approx(1)
    assert found.jacobian == pytest.approx(math.sqrt(4 * 9 + 12) / 16)


def test_the_claims_about_order_hold() -> None:
    assert all(holding(order.run(OrderSettings())))


def test_positions_are_what_breaks_the_symmetry() -> None:
    """A learned table of zeros is no table."""
    torch.manual_seed(0)
    sizes = OrderSettings(width=8, layers=1)
    read = order.build_reader(order.LEARNED, sizes)
    x, places = torch.randn(1, 7, 8, dtype=torch.float64), torch.arange(7).roll(1)
    assert order.difference(read, x, places) > order.BROKEN
    added = inspect.getclosurevars(read).nonlocals["added"]
    assert isinstance(added, LearnedPositions)
    nn.init.zeros_(added.table.weight)
    assert order.difference(read, x, places) < order.ROUNDING


def test_the_claims_about_layers_hold() -> None:
    result = layers.run(SMALL_LAYERS)
    assert all(holding(result))
    data = result.data
    # a product and a sum for each of Q K^T and A V, of W h and U x, and of one kernel
    assert [data.ratios(kind)[0] for kind in layers.KINDS] == [4, 4, 2, 2]
    assert [one.serial for one in data.layers["recurrent"]] == [one.path for one in data.layers["recurrent"]] == [5, 9]
    # projection of the queries or keys, scores, weighted sum, output; the values need no scores
    assert [(one.serial, one.path) for one in data.layers["self_attention"]] == [(4, 3), (4, 3)]


def test_other_operations_than_the_papers_are_noticed() -> None:
    data = layers.measure(SMALL_LAYERS)
    swapped = data.layers | {"self_attention": data.layers["recurrent"]}
    assert not layers.LayerData(data.width, data.kernel, swapped).operations_are_the_papers


@pytest.mark.parametrize(
    ("length", "kernel", "dilated", "expected"),
    [
        (100, 2, False, 99),
        (100, 3, False, 50),
        (1024, 2, True, 10),
        (27, 3, True, 3),
        (28, 3, True, 4),
        (1, 3, False, 0),
    ],
)
def test_layers_that_join_the_ends(length: int, kernel: int, dilated: bool, expected: int) -> None:
    """The documents' cases: 99 and 50 layers from 1 to 100 with kernels of 2 and 3, 10 dilated ones over 1024."""
    assert layers.layers_until_reached(length, kernel, dilated=dilated) == expected


def test_ways_through_a_graph_by_hand() -> None:
    first, second, apart = (torch.randn(2, 2, requires_grad=True) for _ in range(3))
    out = (first @ second).tanh() @ second + first.relu() @ second
    assert serial_products(out, [first, second]) == 2
    assert (shortest_way(out, first), shortest_way(out, second)) == (1, 1)
    assert shortest_way((first @ second).tanh() @ second, first) == 2
    with pytest.raises(ValueError, match="does not depend"):
        shortest_way(out, apart)


def test_sizes_are_set_by_name() -> None:
    study = find_study("depth")
    assert sizes_of(study, ["layers=7"]) == DepthSettings(layers=7)
    with pytest.raises(ConfigError, match="layrs"):
        sizes_of(study, ["layrs=7"])
    with pytest.raises(UsageError, match="dept"):
        find_study("dept")


def test_a_result_is_shown_in_both_languages_and_needs_no_network() -> None:
    study = STUDIES["score-scale"]
    result = study.run(ScaleSettings())
    lines = list(result_lines(study, result))
    assert lines[0] == study.title and "holds: the variance of plain products is d_k" in lines
    chinese = catalogue("zh").translate
    english, other = page(study, result, "en"), page(study, result, "zh")
    assert study.see in english and '<html lang="zh">' in other and "成立：" in other and "方差" in other
    assert study.see not in other
    for text in (english, other):
        assert text.count("<svg") == len(result.charts) and "<script" not in text
        assert text.replace("http://www.w3.org/2000/svg", "").count("http") == 1  # http-equiv
    assert all(chinese(line) != line for line in (study.title, study.see))


def test_a_claim_that_fails_is_said_to_fail() -> None:
    study = STUDIES["score-scale"]
    result = Result(None, (Claim("water is dry", False),), (), ())
    assert "does not hold: water is dry" in list(result_lines(study, result))
    assert 'class="wrong"' in page(study, result, "en")


def test_every_study_is_listed() -> None:
    lines = list(list_lines(STUDIES.values()))
    assert [name for name in STUDIES if name in lines] == list(STUDIES) and len(STUDIES) == 5
