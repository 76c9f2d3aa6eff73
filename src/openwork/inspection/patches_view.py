"""Numbers of a picture's patches, such as attention weights, where the patches lie, as shades of a terminal.

Each grid has a scale of its own, from 0 to its largest number, which is given: of many patches each has little.
"""

import base64
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from openwork.base.phrases import Padded, shown_width
from openwork.inspection.trace import GRID, Step
from openwork.signals.pictures import png_of

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


def picture_for_page(pixels: np.ndarray) -> dict[str, Any]:
    """Pixels (height, width, channel) as a PNG file in a URL of its own."""
    height, width, _ = pixels.shape
    url = f"data:image/png;base64,{base64.b64encode(png_of(pixels)).decode()}"
    return {"width": width, "height": height, "url": url}


def shaded(step: Step, width: int, translate: Translate) -> Iterator[str]:
    """The step's grids as shades."""
    return shaded_grids(_grids(step), width, translate)


def shaded_grids(grids: Sequence[tuple[str, np.ndarray]], width: int, translate: Translate) -> Iterator[str]:
    """Named grids as shades, two characters a patch, side by side in lines of at most `width` columns."""
    blocks = []
    for name, grid in grids:
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
