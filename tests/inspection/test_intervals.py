"""A chart of means with intervals, read back as XML."""

import xml.etree.ElementTree as ElementTree

import pytest

from openwork.inspection.intervals import IntervalChart, IntervalRow

SVG = "{http://www.w3.org/2000/svg}"
ROWS = (IntervalRow("full", [10.0, 20.0], 15.0, (12.0, 18.0)), IntervalRow("one seed", [20.0], 20.0))


def parts(root: ElementTree.Element, part: str) -> list[ElementTree.Element]:
    return [found for found in root.iter() if found.get("data-part") == part]


def test_dots_means_and_intervals_stand_on_one_axis():
    """Worked by hand: 15 is half the way from 10 to 20, 12 and 18 a fifth of it from the ends."""
    root = ElementTree.fromstring(IntervalChart("Title", "BLEU", ROWS).drawn(str))
    assert root.findtext(f"{SVG}title") == "Title"
    first, last, alone = (float(dot.get("cx", "")) for dot in parts(root, "value"))
    assert alone == last > first
    means = [float(mean.get("x", "")) + 2 for mean in parts(root, "mean")]
    assert means == pytest.approx([(first + last) / 2, last])
    (interval,) = parts(root, "interval")
    ends = [float(interval.get(name, "")) for name in ("x1", "x2")]
    assert ends == pytest.approx([first + (last - first) / 5, last - (last - first) / 5])
    assert [name.text for name in parts(root, "name")] == ["full", "one seed"]
    assert [label.text for label in parts(root, "x-label")] == ["BLEU"]
    assert {tick.text for tick in parts(root, "x-tick")} >= {"10", "20"}


def test_rows_stand_below_each_other():
    root = ElementTree.fromstring(IntervalChart("Title", "BLEU", ROWS).drawn(str))
    upper, lower = (float(name.get("y", "")) for name in parts(root, "name"))
    assert upper < lower < float(root.get("height", ""))


def test_no_name_becomes_markup_and_no_number_is_too_strange():
    rows = (IntervalRow("<script>alert(1)</script>", [float("nan"), 1.0], float("inf"), (0.0, float("inf"))),)
    chart = IntervalChart("<b>", "x", rows).drawn(str)
    assert "<script>" not in chart and "<b>" not in chart
    root = ElementTree.fromstring(chart)
    assert len(parts(root, "value")) == 1 and parts(root, "mean") == parts(root, "interval") == []


def test_without_rows_there_is_an_empty_chart():
    assert ElementTree.fromstring(IntervalChart("none", "x", ()).drawn(str)).findtext(f"{SVG}title") == "none"
