"""The attention to a picture or a sound for a terminal: grids of patches, or a line of shades along the time."""

from collections.abc import Callable, Iterator

import numpy as np

from openwork.base.messages import msg
from openwork.base.phrases import Padded, fitted, shown_width
from openwork.inference.attention_maps.capture import SentenceAttention
from openwork.inference.attention_maps.chosen import ChosenMap
from openwork.inference.attention_maps.views import PictureView, SoundView
from openwork.inspection.attention_view import visible
from openwork.inspection.patches_view import SHADES, shaded_grids
from openwork.inspection.trace_text import wrapped

LONGEST_ROW = 32
LONGEST_TIME = 18  # columns of "  0.42 s  0.1234"

Translate = Callable[[str], str]


def source_text(
    found: SentenceAttention, view: PictureView | SoundView, chosen: ChosenMap, width: int, translate: Translate
) -> str:
    """Where each row of the map attends to, in lines of at most `width` columns; each row has a scale of its own."""
    lines = [*wrapped(f"{found.source} → {found.translation}", width, "  ")]
    lines += [*wrapped(chosen.title(translate), width, "  "), ""]
    names = [" → ".join(map(visible, row)) for row in chosen.rows]
    if isinstance(view, PictureView):
        grids = chosen.weights[:, : view.positions].reshape(-1, view.rows, view.columns)
        return "\n".join([*lines, *shaded_grids(list(zip(names, grids, strict=True)), width, translate)])
    return "\n".join([*lines, *_along_time(names, view, chosen, width, translate)])


def _along_time(
    names: list[str], view: SoundView, chosen: ChosenMap, width: int, translate: Translate
) -> Iterator[str]:
    """A line of shades for each name, and the time of its largest weight."""
    shown = [fitted(name, LONGEST_ROW) for name in names]
    beside = max(map(shown_width, shown)) + 1
    each = -(-view.positions // max(10, width - beside - LONGEST_TIME))
    starts = np.arange(0, view.positions, each)
    end = f"{view.seconds * view.positions:.2f} s"
    yield " " * beside + Padded("0.00 s", max(0, len(starts) - len(end))) + end
    for name, weights in zip(shown, chosen.weights[:, : view.positions], strict=True):
        bins = np.maximum.reduceat(weights, starts)
        levels = np.rint(bins / (bins.max() or 1.0) * (len(SHADES) - 1)).astype(int)
        largest = int(weights.argmax())
        time = f"  {view.seconds * largest:.2f} s  {weights[largest]:.4f}"
        yield Padded(name, beside) + "".join(SHADES[level] for level in levels) + time
    yield from ("", *wrapped(translate(CAPTION), width, ""))


CAPTION = msg("darker: larger, up to the largest weight of the line, whose time and weight stand behind it")
