"""The benchmark of attention to long texts: crossings by hand, the task, and the figure of the results."""

import json

import long_attention
import pytest
import torch

FIGURE = long_attention.RESULTS.parents[2] / "docs" / "long-attention.svg"


def test_where_a_line_of_the_logarithms_crosses() -> None:
    # n^2 and 400 n cross at n = 400.
    lengths = (100, 200, 500, 1000)
    square, line = {n: float(n * n) for n in lengths}, {n: 400.0 * n for n in lengths}
    assert long_attention.crossing(line, square) == pytest.approx(400)
    assert long_attention.crossing(square, line) is None
    assert long_attention.crossing(dict.fromkeys(lengths, 1.0), square) == 100
    assert long_attention.crossing({}, square) is None


def test_each_text_has_one_fact_near_its_start_and_asks_at_its_end() -> None:
    torch.manual_seed(0)
    pieces, facts = long_attention.texts(50, 200)
    first, count = long_attention.FIRST, long_attention.FACTS
    is_fact = (pieces >= first) & (pieces < first + count)
    assert pieces.shape == (50, 201) and bool((is_fact.sum(dim=1) == 1).all())
    assert torch.equal(pieces[is_fact] - first, facts) and not is_fact[:, long_attention.NEAR :].any()
    assert len(pieces[:, -1].unique()) == 1 and not (pieces[:, :-1] == pieces[0, -1]).any()


@pytest.mark.slow
@pytest.mark.parametrize("kind", long_attention.KINDS)
def test_each_kind_is_measured(kind: str) -> None:
    found = long_attention.measure(kind, 128)
    assert found["seconds"] > 0


@pytest.mark.slow
def test_a_near_fact_is_found() -> None:
    assert long_attention.learn("fused", 16, ((16, 150),))["accuracy"] > 0.9


def results() -> dict[str, object]:
    points = {
        kind: {str(n): {"seconds": 1e-3 * n, "peak_bytes": 1e6 * n} for n in (128, 256)}
        for kind in long_attention.KINDS
    }
    return {"points": points, "task": {}}


def test_the_figure_has_a_curve_of_each_kind_for_time_and_for_memory() -> None:
    picture = long_attention.drawn(results())
    for kind in long_attention.DRAWN:
        assert picture.count(f'data-series="{kind}"') == 2
    assert "milliseconds" in picture and "megabytes" in picture


@pytest.mark.skipif(not long_attention.RESULTS.exists(), reason="nothing is measured yet")
def test_the_figure_is_drawn_from_the_results() -> None:
    assert (
        long_attention.drawn(json.loads(long_attention.RESULTS.read_text("utf-8"))).rstrip()
        == FIGURE.read_text("utf-8").rstrip()
    )


def test_crossings_are_named_for_each_kind_that_was_measured() -> None:
    found = long_attention.crossings(results())
    assert set(found) == set(long_attention.KINDS) - {"dense", "fused"}
