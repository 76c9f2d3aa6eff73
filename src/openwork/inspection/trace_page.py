"""A trace as one HTML file: a section a step, its inputs as links, its matrices as tables with named rows."""

from collections.abc import Callable
from functools import partial

import numpy as np
from markupsafe import Markup

from openwork.base.pages import render, translator
from openwork.inspection.patches_view import is_on_patches, laid_over, shown_picture
from openwork.inspection.trace import Step, Trace, title_of
from openwork.inspection.trace_table import Limits, printed_value, shape_text, tables

LIMITS = Limits(rows=24, columns=24, slices=16)
SLACK = 1e-9  # rows of weights add up to 1 but for rounding
FULL = 50  # per cent of the colour behind a weight of 1: the number on it stays readable in both themes


def trace_page(trace: Trace, language: str) -> str:
    return render(
        "trace.html",
        language,
        title=trace.title,
        trace=trace,
        anchors={step.name: f"step-{number}" for number, step in enumerate(trace.steps, start=1)},
        full=FULL,
        tables=lambda step: tables(step, LIMITS),
        are_weights=_are_weights,
        shape_text=shape_text,
        printed_value=printed_value,
        title_of=title_of,
        shown_picture=shown_picture,
        grids=partial(_grids, trace, translate=translator(language)),
    )


def _grids(trace: Trace, step: Step, translate: Callable[[str], str]) -> list[Markup]:
    """Figures in place of tables, of a step that belongs to the patches of a picture."""
    return [] if trace.picture is None or not is_on_patches(step) else list(laid_over(step, trace.picture, translate))


def _are_weights(step: Step) -> bool:
    """Whether the value is a distribution in each row: attention weights or probabilities."""
    if step.value.ndim < 2 or not step.value.size or step.value.dtype.kind != "f":
        return False
    inside = bool(np.isfinite(step.value).all()) and step.value.min() >= 0
    return inside and step.value.sum(-1).max() <= 1 + SLACK
