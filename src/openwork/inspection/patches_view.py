"""Numbers of a picture's patches, such as attention weights, where the patches lie: for a page over the picture, for a
terminal as shades.

Each grid has a scale of its own, from 0 to its largest number, which is given: of many patches each has little.
"""

import base64
import hashlib
from collections.abc import Callable, Iterator
from itertools import zip_longest

import numpy as np

from openwork.base.pages import paint
from openwork.base.phrases import Padded, shown_width
from openwork.inspection.svg import Markup, element, figure
from openwork.inspection.trace import GRID, Step
from openwork.signals.pictures import png_of

SIDE, LINE, EDGE, SMALL = 160.0, 18.0, 8.0, 11.0
DARKEST = 0.75  # opacity of the largest number: the picture stays visible under it
SHADES = " ░▒▓█"

Translate = Callable[[str], str]


def is_on_patches(step: Step) -> bool:
    """Whether the step's numbers belong to the patches of a picture."""
    return step.axes[-2:] == GRID


def _grids(step: Step) -> list[tuple[str, np.ndarray]]:
    """Each grid (row, column) of the step, with the name of its head where it has heads."""
    if len(step.axes) == len(GRID):
        return [("", step.value)]
    names = step.labels.get("head") or [str(number) for number in range(len(step.value))]
    return [(f"head {name}", grid) for name, grid in zip(names, step.value, strict=True)]


def _caption(name: str, grid: np.ndarray, translate: Translate) -> str:
    return f"{name}  {translate('largest')} {grid.max():.4f}".strip()


def shaded(step: Step, width: int, translate: Translate) -> Iterator[str]:
    """The grids as shades, two characters a patch, side by side in lines of at most `width` columns."""
    blocks = []
    for name, grid in _grids(step):
        while 2 * grid.shape[1] > width:  # of four patches the largest number
            ends = (np.arange(0, size, 2) for size in grid.shape)
            grid = np.maximum.reduceat(np.maximum.reduceat(grid, next(ends), 0), next(ends), 1)
        levels = np.ceil(grid / (grid.max() or 1.0) * (len(SHADES) - 1)).astype(int)
        blocks.append([_caption(name, grid, translate), *("".join(SHADES[one] * 2 for one in row) for row in levels)])
    widest = max(shown_width(line) for block in blocks for line in block)
    each = max(1, (width + 2) // (widest + 2))
    for first in range(0, len(blocks), each):
        if first:
            yield ""
        group = blocks[first : first + each]
        yield from ("  ".join(Padded(line, widest) for line in lines) for lines in zip_longest(*group, fillvalue=""))


def laid_over(step: Step, picture: np.ndarray, translate: Translate) -> Iterator[Markup]:
    """Each grid as a figure over the picture (`shown_picture`); every patch shows its number under the pointer."""
    width, height = _size(picture)
    for name, grid in _grids(step):
        rows, columns, most = *grid.shape, grid.max() or 1.0
        patches = [
            element(
                "rect",
                element("title", f"{row},{column}: {grid[row, column]:.4f}"),
                x=EDGE + column * width / columns,
                y=LINE + row * height / rows,
                width=width / columns,
                height=height / rows,
                fill_opacity=f"{DARKEST * grid[row, column] / most:.3f}",
                **paint("orange"),
            )
            for row in range(rows)
            for column in range(columns)
        ]
        caption = _caption(name, grid, translate)
        under = element("use", href=f"#{_identity(picture)}", x=0, y=0)
        yield _framed(picture, caption, under, *patches)


def shown_picture(picture: np.ndarray, title: str) -> Markup:
    """The picture as a figure of its own, which the others on the page draw by its name."""
    width, height = _size(picture)
    data = base64.b64encode(png_of(picture)).decode()
    enlarged = picture.shape[1] < width
    image = element(
        "image",
        id=_identity(picture),
        href=f"data:image/png;base64,{data}",
        x=EDGE,
        y=LINE,
        width=width,
        height=height,
        preserveAspectRatio="none",
        style="image-rendering:pixelated" if enlarged else None,
    )
    return _framed(picture, title, image)


def _framed(picture: np.ndarray, caption: str, *parts: Markup) -> Markup:
    width, height = _size(picture)
    text = element("text", caption, x=EDGE, y=LINE - 6, font_size=SMALL, **paint("muted"))
    return figure(width + 2 * EDGE, height + LINE + EDGE, caption, text, *parts)


def _size(picture: np.ndarray) -> tuple[float, float]:
    """Width and height of the picture on a page; its longer side is `SIDE`."""
    height, width, _ = picture.shape
    scale = SIDE / max(height, width)
    return width * scale, height * scale


def _identity(picture: np.ndarray) -> str:
    """A name of the picture, so that figures of two pictures in one notebook do not mix."""
    return f"picture-{hashlib.sha256(picture.tobytes()).hexdigest()[:12]}"
