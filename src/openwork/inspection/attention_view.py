"""A map of attention weights as SVG: one row a query, one column a key, darker for larger weights.

The scale is one hue, fixed to 0..1 in every map, so that two maps can be compared by eye.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from openwork.base.messages import msg
from openwork.base.pages import BLUE, PAPER, mixed, paint, readable_on, stroke
from openwork.base.phrases import Beside
from openwork.inspection.svg import Markup, element, figure, number, shortened, text_width

CELL, SMALLEST_CELL = 34.0, 12.0
WIDEST, PHONE = 1200.0, 350.0  # of a picture, in pixels
LABEL, SMALL = 13.0, 11.0
EDGE = 18.0
LONGEST_LABEL = 24
ROW_TITLE, COLUMN_TITLE, SCALE_TITLE = msg("decoder's input → predicted piece"), msg("source"), msg("weight")
# Sums of float32 weights are not exactly 1.
SLACK = 1e-4

BYTES = re.compile("⟨[0-9A-F]{2}( [0-9A-F]{2})*⟩")  # a piece that is a part of a character
_VISIBLE = {" ": "␣", "\u3000": "␣", "\u00a0": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥"}


def visible(piece: str) -> str:
    """A piece of text with its spaces and other invisible characters shown: `" the"` is `"␣the"`."""
    if not piece or BYTES.fullmatch(piece):
        return piece or "∅"
    shown = "".join(_VISIBLE.get(character, character) for character in piece)
    shown = "".join("�" if unicodedata.category(character) == "Cc" else character for character in shown)
    # A combining mark alone would combine with the character before it.
    return f"◌{shown}" if unicodedata.category(shown[0]) in {"Mn", "Me"} else shown


class AttentionMap(NamedTuple):
    """The weights (T, S) of a sentence: row t is what position t attends to.

    A row is labelled by a pair, "input → predicted": a decoder attends from its input piece to predict the next one,
    and a map labelled with one of the two alone seems shifted by one. Of an encoder's map it is one piece.
    """

    title: str
    weights: np.ndarray
    rows: Sequence[tuple[str, ...]]
    columns: Sequence[str]
    caption: str = ""
    row_title: str = ROW_TITLE
    column_title: str = COLUMN_TITLE

    def drawn(self, translate: Callable[[str], str], width: float = WIDEST) -> Markup:
        """The heat map as SVG. Each cell shows its exact value under the pointer.

        Args:
            translate: into the reader's language.
            width: in pixels, of the whole picture; where many columns need more, their cells have the least size.

        Raises:
            ValueError: labels that do not fit the shape, or a weight outside 0..1.
        """
        _check(self)
        return _drawn(self, width, *map(translate, (self.row_title, self.column_title, SCALE_TITLE)))


def _drawn(shown: AttentionMap, widest: float, row_title: str, column_title: str, scale_title: str) -> Markup:
    title, weights, (rows, columns) = shown.title, shown.weights, shown.weights.shape
    names = [Beside(*map(visible, label)) for label in shown.rows]
    keys = [visible(label) for label in shown.columns]
    left = EDGE + 22 + max((text_width(shortened(name, LONGEST_LABEL), LABEL) for name in names), default=0)
    cell = max(SMALLEST_CELL, min(CELL, (widest - left - EDGE) / max(columns, 1)))
    slope = max((text_width(shortened(key, LONGEST_LABEL), LABEL) for key in keys), default=0)
    # Single characters are upright above their column; longer labels lean where one of them is wider than a column.
    leaning = slope > cell
    top = 62 + (slope * 0.8 if leaning else LABEL) + 12
    grid_width, grid_height = columns * cell, rows * cell
    width = max(left + grid_width + EDGE + (slope * 0.6 if leaning else 0), left + 250)
    width = max(width, EDGE * 2 + text_width(title, 16))
    cells = [
        _cell(float(weights[t, s]), left + s * cell, top + t * cell, cell, Beside(names[t], keys[s], between=" · "))
        for t in range(rows)
        for s in range(columns)
    ]
    labels = [
        _label(name, "row", cell, left - 8, top + (place + 0.5) * cell + 4, "end") for place, name in enumerate(names)
    ]
    for place, key in enumerate(keys):
        x, y = left + (place + 0.5) * cell, top - 7
        leans = leaning and len(key) > 1
        turn = f"rotate(-55 {number(x)} {number(y)})" if leans else None
        labels.append(_label(key, "column", cell, x, y, "start" if leans else "middle", turn))
    centre = max(top + grid_height / 2, text_width(row_title, SMALL) / 2 + EDGE)
    side = {"text_anchor": "middle", "transform": f"translate({number(EDGE)} {number(centre)}) rotate(-90)"}
    parts = [
        element("text", title, x=EDGE, y=26, font_size=16, font_weight=600, **paint("ink")),
        element("text", column_title, x=left, y=50, font_size=SMALL, data_part="column-title", **paint("muted")),
        element("text", row_title, font_size=SMALL, **side, data_part="row-title", **paint("muted")),
        *labels,
        element("g", *cells, data_part="cells"),
        element("rect", x=left, y=top, width=grid_width, height=grid_height, **stroke("rule")),
        _legend(left, top + grid_height + 22, scale_title),
    ]
    needed = text_width(row_title, SMALL) + 2 * EDGE
    return figure(width, max(top + grid_height + 66, needed), title, *parts)


def _check(shown: AttentionMap) -> None:
    weights, rows, columns = shown.weights, len(shown.rows), len(shown.columns)
    if weights.shape != (rows, columns):
        raise ValueError(f"weights of shape {weights.shape} do not fit {rows} row and {columns} column labels")
    if not (np.isfinite(weights).all() and (weights >= -SLACK).all() and (weights <= 1 + SLACK).all()):
        raise ValueError("an attention weight lies outside 0..1")


def _cell(weight: float, x: float, y: float, size: float, name: str) -> Markup:
    """A square whose opacity is the weight: one hue from the paper's colour to full, in both themes."""
    share = min(max(weight, 0.0), 1.0)
    look = {"fill_opacity": f"{share:.3f}", "data_weight": f"{weight:.6f}", **paint("blue")}
    square = element(
        "rect", element("title", Beside(name, f"{weight:.4f}", between=": ")), x=x, y=y, width=size, height=size, **look
    )
    if size < 28 or weight < 0.005:
        return square
    light = readable_on(mixed(BLUE.light, PAPER.light, share))
    dark = readable_on(mixed(BLUE.dark, PAPER.dark, share))
    # Leading zero left out: ".53" fits a cell, and the pointer goes through to the square's own title.
    written = "1" if weight >= 0.995 else f"{weight:.2f}".removeprefix("0")
    place = {"x": x + size / 2, "y": y + size / 2 + 4, "text_anchor": "middle", "font_size": SMALL}
    ink = {"class": f"dark-{dark}", "fill": "#000" if light == "black" else "#fff"}
    return Markup(square + element("text", written, pointer_events="none", **place, **ink))


def _label(name: str, part: str, cell: float, x: float, y: float, anchor: str, turn: str | None = None) -> Markup:
    """The name of a row or column; a long one is cut and has its whole text under the pointer."""
    whole = element("title", name) if len(name) > LONGEST_LABEL else Markup("")
    place = {"x": x, "y": y, "text_anchor": anchor, "font_size": min(LABEL, cell), "transform": turn}
    return element("text", whole, shortened(name, LONGEST_LABEL), **place, data_part=part, **paint("ink"))


def _legend(x: float, y: float, title: str) -> Markup:
    """Eleven steps of the scale, 0 to 1."""
    steps = [
        element("rect", x=x + 16 * i, y=y, width=16, height=12, fill_opacity=f"{i / 10:.1f}", **paint("blue"))
        for i in range(11)
    ]
    frame = element("rect", x=x, y=y, width=16 * 11, height=12, **stroke("rule"))
    look = {"text_anchor": "middle", "font_size": SMALL, **paint("muted")}
    numbers = [
        element("text", label, x=x + 16 * (place + 0.5), y=y + 27, **look)
        for place, label in ((0, "0"), (5, "0.5"), (10, "1"))
    ]
    name = element("text", title, x=x + 16 * 11 + 8, y=y + 10, font_size=SMALL, **paint("muted"))
    return element("g", *steps, frame, *numbers, name, data_part="legend")
