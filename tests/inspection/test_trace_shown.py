"""Traces as text, JSON and HTML: every number shown is the step's, and of what is large the corners are shown."""

import json
import re
from typing import Any

import numpy as np
import pytest

from openwork.base.messages import catalogue
from openwork.base.phrases import shown_width
from openwork.inspection.trace import Printed, Statement, Step, Trace
from openwork.inspection.trace_table import GAP, Limits, corners, tables, writer
from openwork.inspection.trace_text import trace_text

WORDS = ("我", "爱", "猫", "</s>")
WEIGHTS = np.array([[[1, 0, 0, 0], [0.25, 0.75, 0, 0], [0.2, 0.3, 0.5, 0], [0.1, 0.2, 0.3, 0.4]]] * 5)


def made(name: str, title: str, equation: str, value: object, axes: tuple[str, ...], **more: Any) -> Step:
    return Step(name, title, equation, np.array(value), axes, **more)


IN_PLACE = {"position": WORDS}
TRACE = Trace(
    "made-up",
    "How alike each query is to each key",
    (
        made("ids", "The pieces of the text, as numbers", "id", [7, 8, 9, 3], ("position",), labels=IN_PLACE),
        made("scores", "Made up", "", [[0.5, -np.inf], [-0.00001, 2.0]], ("query", "key"), inputs=("ids",)),
        made(
            "weights",
            "Attention weights: how much each query takes from each key; a row adds up to 1",
            "softmax(<scores>)",
            WEIGHTS,
            ("head", "query", "key"),
            inputs=("scores",),
            code="openwork.nn.kernels.reference.softmax_over",
            source="Vaswani et al. 2017, equation 1",
            labels={"query": WORDS, "key": WORDS},
            printed=(Printed("002", np.array([0.25, 0.76]), "wrong", "a slip"),),
            said=(
                Statement("002", "each of the four relations has a head of its own", False, "1 of the 4 are borne out"),
                Statement("001", "so it is", True, "and so it was"),
            ),
        ),
        made(
            "wide",
            "Each position's vector, made wider",
            "x W",
            np.arange(4 * 300).reshape(4, 300) / 7,
            ("position", "inner"),
            inputs=("weights",),
            labels=IN_PLACE,
        ),
        made("total", "Added up", "sum", -1.25, (), inputs=("wide",), parameters=("w", "b")),
    ),
    ("No dropout: it is for training alone.",),
)


def english(text: str) -> str:
    return text


def test_json_holds_every_step():
    shown = json.loads(json.dumps(TRACE.to_json(), ensure_ascii=False, allow_nan=False))
    assert (shown["name"], shown["title"], tuple(shown["assumptions"])) == (TRACE.name, TRACE.title, TRACE.assumptions)
    for step, one in zip(TRACE.steps, shown["steps"], strict=True):
        values = np.array(one["value"], dtype=step.value.dtype)  # numpy reads "-inf" as the number
        np.testing.assert_array_equal(values, step.value)
        assert one["shape"] == list(step.value.shape) and one["axes"] == list(step.axes)
        assert (one["inputs"], one["parameters"]) == (list(step.inputs), list(step.parameters))
        assert one["code"] == step.code and one["labels"] == {axis: list(names) for axis, names in step.labels.items()}
    weights = next(one for one in shown["steps"] if one["name"] == "weights")
    assert weights["printed"][0]["verdict"] == "wrong"
    assert [one["holds"] for one in weights["said"]] == [one.holds for one in TRACE.step("weights").said]


def test_corners_keep_first_and_last():
    assert corners(4, 4) == [0, 1, 2, 3]
    assert corners(10, 6) == [0, 1, 2, 3, GAP, 8, 9]
    assert corners(300, 1) == [0, GAP, 299]
    assert corners(0, 3) == []


def test_numbers_are_written_alike():
    assert list(map(writer(np.array([0.5, -2.0])), (0.5, -0.00001, -np.inf, 1 / 3))) == [
        "0.5000",
        "0.0000",
        "-inf",
        "0.3333",
    ]
    assert writer(np.array([3, 4]))(3) == "3"
    assert writer(np.array([2e-7]))(2e-7) == "2.000e-07"
    assert writer(np.array([1e6, 1.0]))(1.0) == "1.000e+00"
    assert writer(np.array([-np.inf]))(-np.inf) == "-inf"


def test_each_table_holds_the_numbers_of_its_places():
    shown = list(tables(TRACE.step("weights"), Limits(rows=3, columns=3, slices=2)))
    assert [None if table is None else table.heading for table in shown] == [(("head", "0"),), None, (("head", "4"),)]
    first = shown[0]
    assert first is not None
    assert first.rows == ("我", "爱", None, "</s>") == first.columns
    assert first.cells == (
        ("1.0000", "0.0000", "0.0000"),
        ("0.2500", "0.7500", "0.0000"),
        ("0.1000", "0.2000", "0.4000"),
    )
    (scalar,) = tables(TRACE.step("total"), Limits(3, 3, 3))
    assert scalar is not None and scalar.cells == (("-1.2500",),)


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_text_fits_the_terminal_and_its_columns_stand_below_each_other(width: int, language: str):
    text = trace_text(TRACE, width, catalogue(language).translate)
    lines = text.splitlines()
    assert max(map(shown_width, lines)) <= width
    start = next(i for i, line in enumerate(lines) if line.strip() == "head 0")
    matrix = lines[start + 1 : start + 6]
    assert len({shown_width(line) for line in matrix}) == 1  # right-aligned, though 猫 is wider than a letter
    numbers = [re.findall(r"-?[\d.]+", line) for line in matrix[1:]]
    assert [[float(one) for one in row] for row in numbers] == WEIGHTS[0].tolist()
    assert ("注意力权重" in text, "Attention weights" in text) == (language == "zh", language == "en")


def test_text_says_where_each_value_comes_from():
    text = trace_text(TRACE, 160, english)
    for fact in (
        "2. scores  (query 2 × key 2)", "made from: scores", "code: openwork.nn.kernels.reference.softmax_over",
        "origin: Vaswani et al. 2017, equation 1", "equation: softmax(<scores>)", "weights: w, b", "(one number)",
        "Transformer 模型全景分析报告: each of the four relations has a head of its own: not borne out;",
        "1 of the 4 are borne out",
        "said in 转换器(Transformer)详解: so it is: borne out; and so it was",
        "printed in Transformer 模型全景分析报告: [0.25, 0.76]: wrong; a slip",
        "- No dropout", "(position 4 × inner 300)", "-inf",
    ):  # fmt: skip
        assert fact in text
