"""Curves as SVG: titles on both axes, ticks and a legend, in every figure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from openwork.base.pages import SERIES, paint, stroke
from openwork.inspection.axis import Axis, axis_for, tick_text
from openwork.inspection.svg import Markup, element, figure, number, text_width

WIDTH, HEIGHT = 640.0, 340.0
LEFT, RIGHT, TOP, BOTTOM = 74.0, 18.0, 66.0, 52.0
SMALL, NORMAL = 12.0, 14.0
# Up to here each point is drawn and tells its value; a longer curve is a line only.
MOST_DOTS = 60


@dataclass(frozen=True)
class Series:
    """A named curve: (x, y) in the order of x. A point that is not finite leaves a gap."""

    name: str
    points: Sequence[tuple[float, float]]


def line_chart(
    series: Sequence[Series],
    title: str,
    x_label: str,
    y_label: str,
    *,
    log_x: bool = False,
    log_y: bool = False,
) -> str:
    """One picture of several curves over the same axes; returns SVG.

    With `log_x` or `log_y`, points that are not positive cannot be shown and leave a gap.
    """
    points = [point for one in series for point in one.points if math.isfinite(sum(point))]
    across = axis_for([x for x, _ in points], LEFT, WIDTH - RIGHT, logarithmic=log_x)
    upward = axis_for([y for _, y in points], HEIGHT - BOTTOM, TOP, logarithmic=log_y, rounded=True)
    parts = [
        element("text", title, x=LEFT, y=24, font_size=16, font_weight=600, **paint("ink")),
        _legend(series),
        *_frame(across, upward, x_label, y_label),
        *(_curve(one, place, across, upward) for place, one in enumerate(series)),
    ]
    if not points:
        middle = {"x": (LEFT + WIDTH - RIGHT) / 2, "y": (TOP + HEIGHT - BOTTOM) / 2}
        parts.append(element("text", "no data", text_anchor="middle", font_size=NORMAL, **middle, **paint("muted")))
    return figure(WIDTH, HEIGHT, title, *parts)


def _legend(series: Sequence[Series]) -> Markup:
    entries, x = [], LEFT
    for place, one in enumerate(series):
        role, dashes = _pattern(place)
        sample = element("line", x1=x, x2=x + 26, y1=44, y2=44, stroke_dasharray=dashes, **_thick(role))
        name = element("text", one.name, x=x + 32, y=48, font_size=SMALL, **paint("ink"))
        entries += [sample, name]
        x += 32 + text_width(one.name, SMALL) + 22
    return element("g", *entries, data_part="legend")


def _frame(across: Axis, upward: Axis, x_label: str, y_label: str) -> list[Markup]:
    """The grid, the ticks and the titles of both axes."""
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for value in upward.ticks():
        y = upward.pixel(value)
        parts.append(element("line", x1=LEFT, x2=right, y1=y, y2=y, **stroke("rule")))
        place = {"x": LEFT - 8, "y": y + 4, "text_anchor": "end", "font_size": SMALL}
        parts.append(element("text", tick_text(value), data_part="y-tick", **place, **paint("muted")))
    for value in across.ticks():
        x = across.pixel(value)
        parts.append(element("line", x1=x, x2=x, y1=bottom, y2=bottom + 5, **stroke("muted")))
        place = {"x": x, "y": bottom + 19, "text_anchor": "middle", "font_size": SMALL}
        parts.append(element("text", tick_text(value), data_part="x-tick", **place, **paint("muted")))
    parts.append(element("line", x1=LEFT, x2=right, y1=bottom, y2=bottom, **stroke("muted")))
    middle, half_up = (LEFT + right) / 2, (TOP + bottom) / 2
    below = {"x": middle, "y": HEIGHT - 12, "text_anchor": "middle", "font_size": NORMAL}
    parts.append(element("text", x_label, data_part="x-label", **below, **paint("ink")))
    beside = {"text_anchor": "middle", "font_size": NORMAL, "transform": f"translate(18 {number(half_up)}) rotate(-90)"}
    parts.append(element("text", y_label, data_part="y-label", **beside, **paint("ink")))
    return parts


def _curve(series: Series, place: int, across: Axis, upward: Axis) -> Markup:
    role, dashes = _pattern(place)
    runs: list[list[tuple[float, float]]] = [[]]
    for x, y in series.points:
        if across.shows(x) and upward.shows(y):
            runs[-1].append((x, y))
        elif runs[-1]:
            runs.append([])
    lines = [_path(run, across, upward) for run in runs if run]
    shown = [point for run in runs for point in run]
    # A point between two gaps has no line, so it is always drawn.
    dotted = shown if len(shown) <= MOST_DOTS else [run[0] for run in runs if len(run) == 1]
    dots = [
        element(
            "circle",
            element("title", f"{series.name}: {tick_text(x)}, {y:.6g}"),
            cx=across.pixel(x),
            cy=upward.pixel(y),
            r=2.6,
            **paint(role),
        )
        for x, y in dotted
    ]
    path = element("path", d=" ".join(lines), stroke_dasharray=dashes, stroke_linejoin="round", **_thick(role))
    return element("g", element("title", series.name), path, *dots, data_series=series.name)


def _path(run: Sequence[tuple[float, float]], across: Axis, upward: Axis) -> str:
    pixels = thinned([(across.pixel(x), upward.pixel(y)) for x, y in run])
    return "M" + " L".join(f"{number(x)} {number(y)}" for x, y in pixels)


def thinned(pixels: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The same drawing with fewer points: in each column of pixels the first, the lowest, the highest and the last.

    Only a curve with more than four points a column is changed, and no peak is lost.
    """
    columns: dict[int, list[int]] = {}
    for index, (x, _) in enumerate(pixels):
        columns.setdefault(round(x), []).append(index)
    kept: list[tuple[float, float]] = []
    for members in columns.values():
        extremes = {members[0], members[-1], min(members, key=lambda i: pixels[i][1])}
        extremes.add(max(members, key=lambda i: pixels[i][1]))
        kept += [pixels[index] for index in sorted(extremes)] if len(members) > 4 else [pixels[i] for i in members]
    return kept


def _pattern(place: int) -> tuple[str, str]:
    return SERIES[place % len(SERIES)]


def _thick(role: str) -> dict[str, str]:
    return {**stroke(role), "stroke-width": "2"}
