"""Means with intervals as SVG: a row for each of several things, a dot for each observation of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from openwork.base.pages import paint, stroke
from openwork.base.phrases import Beside
from openwork.inspection.plots import EDGE, SIZE, WIDTH, Axis, axis_for, tick_labels
from openwork.inspection.svg import Markup, element, figure, heading, shortened, text_width

# As wide as a chart, which fits a phone: the name of a row stands above its line.
ROW, TOP, BOTTOM, MARGIN = 44.0, 44.0, 52.0, 16.0
LONGEST_NAME = 50


@dataclass(frozen=True)
class IntervalRow:
    """A named row: single observations, their mean, and the interval of the mean where there is one."""

    name: str
    values: Sequence[float]
    mean: float
    interval: tuple[float, float] | None = None


class IntervalChart(NamedTuple):
    """The rows from top to bottom over one axis. Observations are pale dots, a mean is a bar across."""

    title: str
    x_label: str
    rows: tuple[IntervalRow, ...]

    def drawn(self, translate: Callable[[str], str]) -> Markup:
        """The picture as SVG, with its words in the reader's language."""
        title, x_label = map(translate, (self.title, self.x_label))
        names = [shortened(translate(row.name), LONGEST_NAME) for row in self.rows]
        above, lower = heading(title, EDGE, 22, WIDTH - 2 * EDGE)
        top = TOP + lower
        height = top + ROW * max(len(self.rows), 1) + BOTTOM
        shown = [value for row in self.rows for value in (*row.values, row.mean, *(row.interval or ()))]
        across = axis_for(shown, MARGIN, WIDTH - MARGIN, rounded=True)
        parts = [
            above,
            *_frame(across, top - 6, height - BOTTOM, x_label),
            *(_row(row, names[place], top + ROW * place, across) for place, row in enumerate(self.rows)),
        ]
        return figure(WIDTH, height, title, *parts)


def _frame(across: Axis, top: float, bottom: float, x_label: str) -> list[Markup]:
    """The grid and the ticks, and the title of the axis."""
    lines = (
        element("line", x1=x, x2=x, y1=top, y2=bottom, **stroke("rule")) for x in map(across.pixel, across.ticks())
    )
    parts = [*lines, *tick_labels(across, bottom + 19)]
    middle = {"x": (across.start + across.end) / 2, "y": bottom + 40, "text_anchor": "middle", "font_size": SIZE}
    return [*parts, element("text", x_label, data_part="x-label", **middle, **paint("ink"))]


def _row(row: IntervalRow, name: str, top: float, across: Axis) -> Markup:
    """The name, and its line below; over the lines of the grid the name has the paper behind it."""
    parts, y = [element("title", row.name)], top + 0.68 * ROW
    place = {"x": EDGE, "y": top + 14, "font_size": SIZE}
    behind = {"x": EDGE, "y": top, "width": text_width(name, SIZE), "height": 18}
    parts.append(element("rect", **behind, **paint("paper")))
    parts.append(element("text", name, data_part="name", **place, **paint("ink")))
    if row.interval and all(map(across.shows, row.interval)):
        low, high = map(across.pixel, row.interval)
        line = {**stroke("blue"), "stroke-width": "2"}
        parts.append(element("line", x1=low, x2=high, y1=y, y2=y, data_part="interval", **line))
        parts += [element("line", x1=x, x2=x, y1=y - 4, y2=y + 4, **line) for x in (low, high)]
    parts += [
        element("circle", cx=across.pixel(value), cy=y, r=3, fill_opacity=0.55, data_part="value", **paint("orange"))
        for value in row.values if across.shows(value)
    ]  # fmt: skip
    if across.shows(row.mean):
        x = across.pixel(row.mean)
        label = element("title", Beside(row.name, f"{row.mean:.6g}", between=": "))
        parts.append(element("rect", label, x=x - 2, y=y - 8, width=4, height=16, data_part="mean", **paint("blue")))
    return element("g", *parts, data_row=row.name)
