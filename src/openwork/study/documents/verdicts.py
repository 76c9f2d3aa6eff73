"""What a document prints beside what is right: equal, rounding, or wrong."""

from typing import Any

import numpy as np
from torch import Tensor

from openwork.inspection.trace import Printed, Verdict

EXACT = 1e-12  # for what is printed in full


def judged(
    document: str, right: Any, printed: Any, unit: Any = EXACT, reason: str = "", *, slack: float = 1.0
) -> Printed:
    """The verdict on figures whose last printed digit is worth `unit` (a number, or one for each figure).

    Equal: the right figures round to the printed ones. Rounding: they are less than `slack` units away, by cutting
    digits off or by calculating with rounded figures. The reason is kept where the verdict is not equal.
    """
    value = array(printed)
    verdict = _verdict(array(right), value, np.asarray(unit, float), slack)
    return Printed(document, value, verdict, "" if verdict == "equal" else reason)


def array(value: Any) -> np.ndarray:
    """Tensors and lists as arrays."""
    return value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)


def _verdict(right: np.ndarray, printed: np.ndarray, unit: np.ndarray, slack: float) -> Verdict:
    if right.shape != printed.shape:
        return "wrong"
    with np.errstate(invalid="ignore"):
        away = np.where(right == printed, 0.0, np.abs(right - printed))  # two infinities are not a difference
    units = away / unit
    if bool((units <= 0.5 + 1e-6).all()):
        return "equal"
    return "rounding" if bool((units < slack).all()) else "wrong"


def assumed(*sentences: str) -> tuple[str, ...]:
    """What was settled where a document leaves it open."""
    return sentences


def slip(reason: str) -> str:
    """Why a printed figure is wrong, or where it was rounded."""
    return reason
