"""Tables of figures, and curves as SVG: titles on both axes, ticks and a legend, in every picture."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from openwork.base.pages import SERIES, paint, stroke
from openwork.base.phrases import Beside
from openwork.inspection.svg import Markup, element, figure, heading, number, shortened, text_width

# So narrow that on a phone, where it shrinks to some 350 pixels, its smallest text has 10.
WIDTH, HEIGHT = 440.0, 310.0
LEFT, RIGHT, TOP, BOTTOM = 70.0, 18.0, 62.0, 50.0
EDGE, SAMPLE, LINE = 5.0, 26.0, 18.0  # of the legend: where it begins, the length of a line, the height of a row
SIZE = 13.0  # of all text but the title
LONGEST_NAME = 46  # characters, in the legend
GAP = 5.0  # at least, between two numbers below an axis
# Up to this many points, each is drawn and shows its value; a longer curve is a line only.
MOST_DOTS = 60
# Far outside of these, differences and logarithms of 64-bit numbers break down.
SMALLEST, LARGEST = 1e-290, 1e290


class Figures(NamedTuple):
    """A table of cells that are already written out; the first one of a row is its name."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]

    def translated(self, translate: Callable[[str], str]) -> list[tuple[str, ...]]:
        """The rows, with their names in the reader's language."""
        return [(translate(name), *cells) for name, *cells in self.rows]


@dataclass(frozen=True)
class Series:
    """A named curve: (x, y) in the order of x. A point that is not finite leaves a gap.

    `band` is what lies around it, such as an interval of each point: (x, low, high) in the order of x.
    """

    name: str
    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float, float]] = ()


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high` become pixels from `start` to `end`, which is smaller for an axis that goes up.

    `logarithmic`: equal distances between equal ratios.
    """

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def pixel(self, value: float) -> float:
        low, high, at = (math.log(x) if self.logarithmic else x for x in (self.low, self.high, value))
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def shows(self, value: float) -> bool:
        """Whether a value has a place on this axis: NaN, infinity, and zero on a logarithmic axis have none."""
        return _can_be_shown(value, self.logarithmic)

    def ticks(self) -> list[float]:
        marks = logarithmic_ticks(self.low, self.high) if self.logarithmic else linear_ticks(self.low, self.high)
        slack = (self.high - self.low) * 1e-9
        return [mark for mark in marks if self.low - slack <= mark <= self.high + slack]


class Chart(NamedTuple):
    """Several curves over the same axes. On a logarithmic one, points that are not positive leave a gap."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False

    def drawn(self, translate: Callable[[str], str]) -> Markup:
        """The picture as SVG, with its words in the reader's language."""
        series = [replace(one, name=translate(one.name)) for one in self.lines]
        title, x_label, y_label = map(translate, (self.title, self.x_label, self.y_label))
        points = [point for one in series for point in one.points if math.isfinite(sum(point))]
        points += [(x, y) for one in series for x, *edges in one.band for y in edges if math.isfinite(x + y)]
        across = axis_for([x for x, _ in points], LEFT, WIDTH - RIGHT, logarithmic=self.log_x)
        upward = axis_for([y for _, y in points], HEIGHT - BOTTOM, TOP, logarithmic=self.log_y, rounded=True)
        above, lower = heading(title, EDGE, 22, WIDTH - 2 * EDGE)
        legend, lower = _legend(series, lower)
        parts = [
            *_frame(across, upward, x_label, y_label),
            *(_curve(one, place, across, upward) for place, one in enumerate(series)),
        ]
        if not points:
            middle = {"x": (LEFT + WIDTH - RIGHT) / 2, "y": (TOP + HEIGHT - BOTTOM) / 2}
            parts.append(element("text", "no data", text_anchor="middle", font_size=SIZE, **middle, **paint("muted")))
        plot = element("g", *parts, transform=f"translate(0 {number(lower)})" if lower else None)
        return figure(WIDTH, HEIGHT + lower, title, above, legend, plot)


def _legend(series: Sequence[Series], y: float) -> tuple[Markup, float]:
    """The legend, `y` lower than below a title of one line, and how much lower the plot is: it has as many rows as its
    names need.
    """
    entries, x = [], EDGE
    for place, one in enumerate(series):
        role, dashes = SERIES[place % len(SERIES)]
        name = shortened(one.name, LONGEST_NAME)
        width = SAMPLE + 6 + text_width(name, SIZE)
        if x > EDGE and x + width > WIDTH - EDGE:
            x, y = EDGE, y + LINE
        ends = {"x1": x, "x2": x + SAMPLE, "y1": y + 41, "y2": y + 41}
        sample = element("line", **ends, stroke_dasharray=dashes, **stroke(role), stroke_width=2)
        whole = Markup("") if name == one.name else element("title", one.name)
        place_of = {"x": x + SAMPLE + 6, "y": y + 45, "font_size": SIZE}
        entries += [sample, element("text", whole, name, **place_of, **paint("ink"))]
        x += width + 16
    return element("g", *entries, data_part="legend"), y


def _frame(across: Axis, upward: Axis, x_label: str, y_label: str) -> list[Markup]:
    """The grid, the ticks and the titles of both axes."""
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for value in upward.ticks():
        y = upward.pixel(value)
        parts.append(element("line", x1=LEFT, x2=right, y1=y, y2=y, **stroke("rule")))
        place = {"x": LEFT - 8, "y": y + 4, "text_anchor": "end", "font_size": SIZE}
        parts.append(element("text", tick_text(value), data_part="y-tick", **place, **paint("muted")))
    parts += [
        element("line", x1=x, x2=x, y1=bottom, y2=bottom + 5, **stroke("muted"))
        for x in map(across.pixel, across.ticks())
    ]
    parts += tick_labels(across, bottom + 19)
    parts.append(element("line", x1=LEFT, x2=right, y1=bottom, y2=bottom, **stroke("muted")))
    middle, half_up = (LEFT + right) / 2, (TOP + bottom) / 2
    below = {"x": middle, "y": HEIGHT - 11, "text_anchor": "middle", "font_size": SIZE}
    parts.append(element("text", x_label, data_part="x-label", **below, **paint("ink")))
    beside = {"text_anchor": "middle", "font_size": SIZE, "transform": f"translate(16 {number(half_up)}) rotate(-90)"}
    parts.append(element("text", y_label, data_part="y-label", **beside, **paint("ink")))
    return parts


def tick_labels(across: Axis, y: float) -> list[Markup]:
    """The numbers below an axis that goes across, without those that would touch the one before."""
    labels: list[Markup] = []
    free = -math.inf
    for value in across.ticks():
        shown = tick_text(value)
        x, half = across.pixel(value), text_width(shown, SIZE) / 2
        if x - half >= free:
            place = {"x": x, "y": y, "text_anchor": "middle", "font_size": SIZE}
            labels.append(element("text", shown, data_part="x-tick", **place, **paint("muted")))
            free = x + half + GAP
    return labels


def _curve(series: Series, place: int, across: Axis, upward: Axis) -> Markup:
    role, dashes = SERIES[place % len(SERIES)]
    runs: list[list[tuple[float, float]]] = [[]]
    for x, y in series.points:
        if across.shows(x) and upward.shows(y):
            runs[-1].append((x, y))
        elif runs[-1]:
            runs.append([])
    pixels = [thinned([(across.pixel(x), upward.pixel(y)) for x, y in run]) for run in runs if run]
    lines = ["M" + " L".join(f"{number(x)} {number(y)}" for x, y in run) for run in pixels]
    shown = [point for run in runs for point in run]
    # A point between two gaps has no line, so it is always drawn.
    dotted = shown if len(shown) <= MOST_DOTS else [run[0] for run in runs if len(run) == 1]
    dots = [
        element("circle", element("title", label), cx=across.pixel(x), cy=upward.pixel(y), r=2.6, **paint(role))
        for label, x, y in ((Beside(series.name, f"{tick_text(x)}, {y:.6g}", between=": "), x, y) for x, y in dotted)
    ]
    path = element(
        "path", d=" ".join(lines), stroke_dasharray=dashes, stroke_linejoin="round", **stroke(role), stroke_width=2
    )
    return element(
        "g", element("title", series.name), *_band(series, role, across, upward), path, *dots, data_series=series.name
    )


def _band(series: Series, role: str, across: Axis, upward: Axis) -> list[Markup]:
    """The area between the lower and the upper edge, so pale that several can lie over each other."""
    shown = [(x, *edges) for x, *edges in series.band if across.shows(x) and all(map(upward.shows, edges))]
    lower, upper = ([(across.pixel(point[0]), upward.pixel(point[side])) for point in shown] for side in (1, 2))
    edge = " L".join(f"{number(x)} {number(y)}" for x, y in [*lower, *reversed(upper)])
    return [element("path", d=f"M{edge} Z", fill_opacity=0.15, data_part="band", **paint(role))] if shown else []


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


def axis_for(
    values: Iterable[float], start: float, end: float, *, logarithmic: bool = False, rounded: bool = False
) -> Axis:
    """An axis that just holds the values; 0 to 1 (1 to 10 on a logarithmic one) when there are none.

    `rounded` moves both ends of a linear axis outwards to the next tick.
    """
    shown = [value for value in values if _can_be_shown(value, logarithmic)]
    if not shown:
        return Axis(1, 10, start, end, True) if logarithmic else Axis(0, 1, start, end)
    low, high = min(shown), max(shown)
    if high - low <= 1e-12 * max(abs(low), abs(high), SMALLEST):  # a single value is in the middle
        half = max(abs(low), abs(high)) / 2 if max(abs(low), abs(high)) > SMALLEST else 0.5
        low, high = (low / 2, low * 2) if logarithmic else (low - half, low + half)
    while rounded and not logarithmic:
        step = tick_step(low, high)
        outer = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
        # A longer axis may need a larger step.
        low, high, rounded = *outer, tick_step(*outer) != step
    return Axis(low, high, start, end, logarithmic)


def _can_be_shown(value: float, logarithmic: bool) -> bool:
    return abs(value) < LARGEST and (not logarithmic or value > SMALLEST)


def tick_step(low: float, high: float, about: int = 6) -> float:
    """The distance of ticks between two values: 1, 2 or 5 times a power of ten."""
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 5, 10) if raw <= factor * power * (1 + 1e-9))


def linear_ticks(low: float, high: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten between two values."""
    step = tick_step(low, high)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(index * step, 12 - math.floor(math.log10(step))) for index in range(first, last + 1)]


def logarithmic_ticks(low: float, high: float) -> list[float]:
    """Powers of ten, and their doubles and fivefolds where there are few; an equal division where even these fail."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 2, 5)):
        marks = [factor * 10.0**exponent for exponent in exponents for factor in factors]
        inside = [mark for mark in marks if low * (1 - 1e-9) <= mark <= high * (1 + 1e-9)]
        if len(inside) >= 3:
            return inside[:: math.ceil(len(inside) / 8)]
    return linear_ticks(low, high)


def tick_text(value: float) -> str:
    """`1,000`, `0.05`, `2e-05`: short and exact enough for a tick."""
    if value and not 1e-4 <= abs(value) < 1e6:
        return f"{value:.3g}"
    return f"{value:,.4f}".rstrip("0").rstrip(".")
