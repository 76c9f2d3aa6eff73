"""A trace as the page's screen Step: its steps, each with its value, where it comes from and where it goes."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from openwork.inspection.page import app_page
from openwork.inspection.page.content import in_both_languages
from openwork.inspection.patches_view import picture_for_page
from openwork.inspection.trace import GRID, Printed, Statement, Step, Trace, title_of
from openwork.inspection.trace_table import printed_value

LARGEST, SMALLEST = 1e38, 1e-37  # of float32, about
SLACK = 1e-6  # rows of weights add up to 1 but for rounding


def trace_page(trace: Trace, language: str) -> str:
    """One HTML file that opens without a network, in both languages.

    Args:
        trace: what is shown.
        language: what the page says while it has no script: "en" or "zh". With one, it follows the browser.
    """
    return app_page(trace.title, {"trace": trace_content(trace)}, language)


def trace_content(trace: Trace) -> dict[str, Any]:
    """Plain JSON. Values are base64 of little-endian float32, which has seven digits.

    Lists of labels stand once in `names`, and axes have their numbers: a vocabulary labels several steps.
    """
    names: dict[tuple[str, ...], int] = {}
    steps = [_step(step, names) for step in trace.steps]
    return {
        "name": trace.name,
        "title": in_both_languages(trace.title),
        "assumptions": [in_both_languages(one) for one in trace.assumptions],
        "names": [list(one) for one in names],
        "steps": steps,
        "picture": None if trace.picture is None else picture_for_page(trace.picture),
    }


def _step(step: Step, names: dict[tuple[str, ...], int]) -> dict[str, Any]:
    return {
        "name": step.name,
        "title": in_both_languages(step.title),
        "equation": step.equation,
        "source": step.source,
        "code": step.code,
        "inputs": list(step.inputs),
        "parameters": list(step.parameters),
        "axes": list(step.axes),
        "shape": list(step.value.shape),
        "labels": _labels(step.labels, names),
        "isWhole": step.value.dtype.kind in "biu",
        "areShares": _are_shares(step.value),
        "isOnPatches": step.axes[-2:] == GRID,
        **_numbers(step.value),
        "printed": list(map(_printed, step.printed)),
        "said": list(map(_said, step.said)),
    }


def _numbers(value: np.ndarray) -> dict[str, Any]:
    """In float64 where float32 has no place for them: products of a hundred gradients are very large or very small."""
    sizes = np.abs(value[np.isfinite(value) & (value != 0)])
    is_double = bool(sizes.size and (sizes.max() > LARGEST or sizes.min() < SMALLEST))
    written = np.ascontiguousarray(value, dtype="<f8" if is_double else "<f4")
    return {"isDouble": is_double, "value": base64.b64encode(written.tobytes()).decode()}


def _labels(labels: Mapping[str, Sequence[str]], names: dict[tuple[str, ...], int]) -> dict[str, int]:
    return {axis: names.setdefault(tuple(own), len(names)) for axis, own in labels.items()}


def _are_shares(value: np.ndarray) -> bool:
    """Whether each row is a distribution: attention weights or probabilities."""
    if value.ndim < 2 or not value.size or value.dtype.kind != "f":
        return False
    return bool(np.isfinite(value).all() and value.min() >= 0 and value.sum(-1).max() <= 1 + SLACK)


def _printed(one: Printed) -> dict[str, Any]:
    return {
        "document": title_of(one.document),
        "value": printed_value(one),
        "verdict": one.verdict,
        "reason": in_both_languages(one.reason),
    }


def _said(one: Statement) -> dict[str, Any]:
    return {
        "document": title_of(one.document),
        "sentence": in_both_languages(one.sentence),
        "holds": one.holds,
        "found": in_both_languages(one.found),
    }
