"""Steps of worked examples, and the verdict on what a document prints for their values: equal, rounding, or wrong."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from openwork.inspection.trace import Printed, Step, Verdict

EXACT = 1e-12  # for what is printed in full
SQUARE = ("query", "key")


class Part(NamedTuple):
    """The code that makes the value of a step, the source of its formula, and the axes of the value."""

    code: str = ""
    source: str = ""
    axes: tuple[str, ...] = ("position", "width")


def made_by(function: Callable[..., Any], source: str = "") -> Part:
    return Part(f"{function.__module__}.{function.__qualname__}", source)


EQUATION_1, EQUATION_2, EQUATION_3 = (f"Vaswani et al. 2017, equation {number}" for number in (1, 2, 3))
HEADS, MASKING, SINUSOIDS = (f"Vaswani et al. 2017, section {section}" for section in ("3.2.2", "3.2.3", "3.5"))
SCORES = Part("openwork.nn.kernels.reference.attention_scores", EQUATION_1, SQUARE)
SOFTMAX = Part("openwork.nn.kernels.reference.softmax_over", EQUATION_1, SQUARE)
WEIGHTED_SUM = Part("openwork.nn.kernels.reference.weighted_sum", EQUATION_1, ("position", "value_width"))
MASK = Part("openwork.nn.masks.causal", MASKING, SQUARE)


class Quoted(NamedTuple):
    """The figures that a document prints for a value. The last printed digit is worth `unit`, one number or several.

    Equal: the right figures round to the printed ones. Rounding: they are less than `slack` units away, by cutting
    digits off or by calculating with rounded figures. The reason is kept where the verdict is not equal.
    """

    document: str
    figures: Any
    unit: Any = EXACT
    reason: str = ""
    slack: float = 1.0

    def judged(self, right: Any) -> Printed:
        exact, printed = array(right), array(self.figures)
        verdict: Verdict = "wrong"
        if exact.shape == printed.shape:
            with np.errstate(invalid="ignore"):
                away = np.where(exact == printed, 0.0, np.abs(exact - printed))  # two infinities are not a difference
            units = away / np.asarray(self.unit, float)
            if bool((units <= 0.5 + 1e-6).all()):
                return Printed(self.document, printed, "equal")
            verdict = "rounding" if bool((units < self.slack).all()) else "wrong"
        return Printed(self.document, printed, verdict, self.reason)


class Worked(NamedTuple):
    """The steps of an example, and what is assumed where the document leaves it open."""

    steps: Sequence[Step]
    assumptions: tuple[str, ...] = ()


def worked(
    name: str,
    title: str,
    equation: str,
    value: Any,
    part: Part,
    inputs: tuple[str, ...] = (),
    quoted: Quoted | None = None,
    axes: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
) -> Step:
    """A step of a part's value, with the verdict on what is quoted. `axes`: others than the part's, or their labels."""
    own = part.axes if axes is None else axes
    labels = own if isinstance(own, Mapping) else {}
    printed = () if quoted is None else (quoted.judged(value),)
    return Step(name, title, equation, array(value), tuple(own), inputs, part.code, part.source, labels, printed)


def array(value: Any) -> np.ndarray:
    return value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)
