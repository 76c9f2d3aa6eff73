"""A chart, read back as XML."""

import math
import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.inspection.plots import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Chart, Series, thinned

SVG = "{http://www.w3.org/2000/svg}"
LEFT_EDGE, RIGHT_EDGE, UPPER_EDGE, LOWER_EDGE = LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM


def read(chart: Chart) -> ElementTree.Element:
    return ElementTree.fromstring(chart.drawn(str))


def texts(root: ElementTree.Element, part: str) -> list[str]:
    return [found.text or "" for found in root.iter(f"{SVG}text") if found.get("data-part") == part]


def curve(root: ElementTree.Element, name: str) -> ElementTree.Element:
    return next(group for group in root.iter(f"{SVG}g") if group.get("data-series") == name)


def path_points(group: ElementTree.Element) -> list[tuple[float, float]]:
    drawing = group.find(f"{SVG}path")
    assert drawing is not None
    numbers = [float(item) for item in re.findall(r"-?[\d.]+", drawing.get("d", ""))]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def test_the_corners():
    """Worked by hand: the first point stands at the lower left of the plot, the last at the upper right, the
    middle one (half the way, a quarter of the height) between.
    """
    root = read(Chart("t", "x", "y", (Series("a", [(0, 0), (50, 1), (100, 4)]),)))
    middle = ((LEFT_EDGE + RIGHT_EDGE) / 2, LOWER_EDGE + (UPPER_EDGE - LOWER_EDGE) / 4)
    expected = [(LEFT_EDGE, LOWER_EDGE), middle, (RIGHT_EDGE, UPPER_EDGE)]
    assert path_points(curve(root, "a")) == [pytest.approx(point, abs=0.01) for point in expected]


def test_logarithmic_axes():
    """10 stands half the way between 1 and 100, on both axes."""
    root = read(Chart("t", "x", "y", (Series("a", [(1, 1), (10, 10), (100, 100)]),), log_x=True, log_y=True))
    x, y = path_points(curve(root, "a"))[1]
    assert (x, y) == pytest.approx(((LEFT_EDGE + RIGHT_EDGE) / 2, (UPPER_EDGE + LOWER_EDGE) / 2), abs=0.01)


def test_titles_ticks_and_legend():
    root = read(
        Chart(
            "T",
            "updates",
            "loss",
            (
                Series("train", [(0, 0.0), (10, 1.0)]),
                Series("valid", [(5, 0.5)]),
            ),
        )
    )
    assert root.findtext(f"{SVG}title") == "T"
    assert texts(root, "x-label") == ["updates"]
    assert texts(root, "y-label") == ["loss"]
    assert texts(root, "x-tick") == ["0", "2", "4", "6", "8", "10"]
    assert texts(root, "y-tick") == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    legend = next(group for group in root.iter(f"{SVG}g") if group.get("data-part") == "legend")
    assert [found.text for found in legend.iter(f"{SVG}text")] == ["train", "valid"]
    lines = [found.get("stroke-dasharray") for found in legend.iter(f"{SVG}line")]
    assert len(set(lines)) == 2, "series must differ in more than their colour"


def test_each_point_tells_its_value():
    root = read(Chart("t", "x", "y", (Series("loss", [(100, 1.25), (200, 0.5)]),)))
    dots = list(curve(root, "loss").iter(f"{SVG}circle"))
    assert [dot.findtext(f"{SVG}title") for dot in dots] == ["loss: 100, 1.25", "loss: 200, 0.5"]


def test_names_are_text_and_never_markup():
    evil = "<img src=x onerror=alert(1)>"
    root = read(Chart(evil, evil, evil, (Series(evil, [(0, 0), (1, 1)]),)))
    assert root.findtext(f"{SVG}title") == evil
    assert texts(root, "x-label") == [evil]
    assert curve(root, evil).findtext(f"{SVG}title") == evil
    assert not [found for found in root.iter() if found.tag.endswith("img")]


def test_a_gap_where_a_value_cannot_be_shown():
    points = [(0.0, 1.0), (1.0, 2.0), (2.0, math.nan), (3.0, 3.0), (4.0, 4.0)]
    drawing = curve(read(Chart("t", "x", "y", (Series("a", points),))), "a").find(f"{SVG}path")
    assert drawing is not None and drawing.get("d", "").count("M") == 2


@pytest.mark.parametrize("series", [(), (Series("a", []),), (Series("a", [(math.nan, 1.0)]),)])
def test_nothing_to_show_is_said(series: tuple[Series, ...]):
    assert "no data" in [found.text for found in read(Chart("t", "x", "y", series)).iter(f"{SVG}text")]


@given(st.lists(st.tuples(st.floats(), st.floats()), max_size=30), st.booleans(), st.booleans())
def test_any_values_give_a_document(points: list[tuple[float, float]], log_x: bool, log_y: bool):
    chart = Chart("t", "x", "y", (Series("a", points),), log_x, log_y)
    drawing = curve(read(chart), "a").find(f"{SVG}path")
    assert drawing is not None and not re.search("nan|inf", drawing.get("d", ""))


def test_thinning_keeps_ends_and_extremes():
    """Ten points in one column of pixels: first, lowest, highest and last stay, in their order."""
    column = [(5.0, y) for y in (3.0, 4.0, 9.0, 4.0, 2.0, 1.0, 2.0, 3.0, 4.0, 5.0)]
    assert thinned([(0.0, 0.0), *column]) == [(0.0, 0.0), (5.0, 3.0), (5.0, 9.0), (5.0, 1.0), (5.0, 5.0)]
    few = [(float(x), float(x % 3)) for x in range(50)]
    assert thinned(few) == few


def test_a_band_lies_around_its_curve():
    """From the lower edge to the right, back along the upper one; the axis holds both."""
    points, band = [(0, 1.0), (10, 2.0)], [(0, 0.0, 2.0), (10, 1.0, 4.0)]
    group = curve(read(Chart("t", "x", "y", (Series("a", points, band),))), "a")
    (area,) = [path for path in group.iter(f"{SVG}path") if path.get("data-part") == "band"]
    numbers = [float(item) for item in re.findall(r"-?[\d.]+", area.get("d", ""))]
    corners = list(zip(numbers[::2], numbers[1::2], strict=True))
    quarter = (LOWER_EDGE - UPPER_EDGE) / 4
    expected = [(LEFT_EDGE, LOWER_EDGE), (RIGHT_EDGE, LOWER_EDGE - quarter)]
    expected += [(RIGHT_EDGE, UPPER_EDGE), (LEFT_EDGE, LOWER_EDGE - 2 * quarter)]
    assert corners == [pytest.approx(point, abs=0.01) for point in expected]


def test_a_curve_without_a_band_has_none():
    group = curve(read(Chart("t", "x", "y", (Series("a", [(0, 1.0)], [(0, math.nan, 1.0)]),))), "a")
    assert [path for path in group.iter() if path.get("data-part") == "band"] == []
