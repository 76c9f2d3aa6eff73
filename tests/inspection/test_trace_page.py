"""The page of a trace: what Python writes into it."""

import base64
from typing import Any

import numpy as np
import pytest

from inspection.test_trace_shown import TRACE, made
from openwork.inspection.page import in_a_frame
from openwork.inspection.trace import Trace
from openwork.inspection.trace_page import trace_content, trace_page


def decoded(step: dict[str, Any]) -> np.ndarray:
    kind = "<f8" if step["isDouble"] else "<f4"
    return np.frombuffer(base64.b64decode(step["value"]), dtype=kind).reshape(step["shape"])


def test_the_content_is_the_trace() -> None:
    content = trace_content(TRACE)
    assert content["title"] == {"en": TRACE.title, "zh": "每个查询与每个键有多相似"}
    for step, written in zip(TRACE.steps, content["steps"], strict=True):
        np.testing.assert_allclose(decoded(written), step.value, rtol=1e-6)
        names = {axis: tuple(content["names"][number]) for axis, number in written["labels"].items()}
        assert names == {axis: tuple(own) for axis, own in step.labels.items()}
        assert written["inputs"] == list(step.inputs) and written["parameters"] == list(step.parameters)
    assert len(content["names"]) == 1  # all axes have the same labels
    assert [step["areShares"] for step in content["steps"]] == [False, False, True, False, False]
    assert [step["isWhole"] for step in content["steps"]] == [True, False, False, False, False]


@pytest.mark.parametrize("value", [[1e300, 1.0], [1e-300, 0.0]])
def test_numbers_that_float32_has_no_place_for_stay(value: list[float]) -> None:
    (step,) = trace_content(Trace("x", "x", (made("a", "a", "", value, ("width",)),)))["steps"]
    assert step["isDouble"] and decoded(step).tolist() == value


def test_a_notebook_gets_the_page_in_a_frame() -> None:
    page = trace_page(TRACE, "en")
    frame = in_a_frame(page)
    assert frame.startswith("<iframe srcdoc=") and frame.count("<") == 2
    from html.parser import HTMLParser

    found: list[str | None] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.extend(value for name, value in attrs if name == "srcdoc")

    Reader().feed(frame)
    assert found == [page]
