"""The documents' examples as traces: what they show, that steps refer to steps, and that verdicts say why."""

import importlib
import json

import numpy as np
import pytest

from journeys.command import openwork
from openwork.inspection.trace import Trace
from openwork.study.documents import EXAMPLES
from openwork.study.steps import Quoted

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=EXAMPLES)
def example(request: pytest.FixtureRequest) -> Trace:
    trace = EXAMPLES[request.param]()
    assert trace.name == request.param
    return trace


def test_it_is_plain_json(example: Trace) -> None:
    json.dumps(example.to_json(), allow_nan=False)


def test_names_are_unique_and_inputs_are_earlier_steps(example: Trace) -> None:
    names = [step.name for step in example.steps]
    assert len(set(names)) == len(names)
    for place, step in enumerate(example.steps):
        assert set(step.inputs) <= set(names[:place])


def test_values_are_exact_and_labels_fit(example: Trace) -> None:
    for step in example.steps:
        assert step.value.dtype.kind == "i" or step.value.dtype == np.float64, step.name
        assert set(step.labels) <= set(step.axes)
        sizes = dict(zip(step.axes, step.value.shape, strict=True))
        assert all(len(labels) == sizes[axis] for axis, labels in step.labels.items()), step.name


def test_what_is_not_equal_has_a_reason(example: Trace) -> None:
    for step in example.steps:
        assert all(bool(printed.reason) == (printed.verdict != "equal") for printed in step.printed), step.name


def test_the_code_that_is_named_exists(example: Trace) -> None:
    for step in example.steps:
        parts = step.code.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            try:
                found = importlib.import_module(".".join(parts[:cut]))
            except ModuleNotFoundError:
                continue
            for name in parts[cut:]:
                found = getattr(found, name)
            break
        else:
            assert not step.code, step.code


def test_chapter_eight_does_not_predict_its_target() -> None:
    assert EXAMPLES["002-8"]().step("prediction").value.tolist() == [6, 3, 2, 7]
    assert EXAMPLES["002-8"]().step("bare.prediction").value.tolist() == [9, 9, 9, 9]
    assert EXAMPLES["002-8-shifted"]().step("prediction").value.tolist() == [6, 6, 7, 4]


def test_the_slips_of_chapter_eight_are_where_the_document_makes_them() -> None:
    steps = EXAMPLES["002-8-own-figures"]().steps
    wrong = [step.name.removeprefix("encoder.") for step in steps if step.printed[0].verdict == "wrong"]
    assert wrong == ["weights", "head1", "head2", "norm1", "feedforward", "output"]


@pytest.mark.parametrize(
    ("printed", "verdict"),
    [([0.67, 0.33], "equal"), ([0.66, 0.33], "rounding"), ([0.7, 0.3], "wrong"), ([0.67], "wrong")],
)
def test_verdicts_by_hand(printed: list[float], verdict: str) -> None:
    found = Quoted("000", printed, 0.01, "because").judged([2 / 3, 1 / 3])
    assert found.verdict == verdict
    assert found.reason == ("" if verdict == "equal" else "because")


def test_infinities_are_equal_to_themselves_alone() -> None:
    never = float("-inf")
    assert Quoted("000", [0.0, never]).judged([0.0, never]).verdict == "equal"
    assert Quoted("000", [0.0, never], 1.0, "because").judged([0.0, 5.0]).verdict == "wrong"


@pytest.mark.slow
def test_nothing_but_the_example_is_shown() -> None:
    """A library's warning would stand on standard error, once in a process."""
    shown = openwork("explain", "--example", "002-8")
    assert shown.code == 0 and shown.err == ""
