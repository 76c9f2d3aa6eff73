"""Spaces of settings: lists of values and ranges, and the documents' tables as ready spaces. No Optuna here."""

import itertools
import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, model_validator

from openwork.base.config import Settings
from openwork.base.errors import RuleError
from openwork.base.limits import LINES, RATIO

Value = bool | int | float | str
Choices = Annotated[tuple[Value, ...], Field(min_length=1)]
MOST_POINTS = 1000
Number = Annotated[int, Field(ge=-LINES, le=LINES)] | Annotated[float, Field(ge=-RATIO, le=RATIO)]
Distance = Annotated[int, Field(ge=1, le=LINES)] | Annotated[float, Field(gt=0, le=RATIO)]


class Range(Settings):
    """All values from `low` to `high`; whole numbers where both are."""

    low: Number = Field(description="the least value")
    high: Number = Field(description="the greatest value")
    log: bool = Field(default=False, description="equal ratios are equally likely, not equal differences")
    step: Distance | None = Field(default=None, description="distance of neighbours, from low on")
    points: int | None = Field(
        default=None, ge=2, le=MOST_POINTS, description="values that a grid and a guided search take, ends included"
    )

    @model_validator(mode="after")
    def _is_a_range(self) -> "Range":
        if self.low >= self.high or (self.log and self.low <= 0):
            raise RuleError(
                f"from {self.low} to {self.high} there is no range",
                hint="low must be less than high, and with log = true more than 0",
                code="C130",
            )
        if self.log and self.step is not None:
            raise RuleError(
                "log and step do not go together", hint="leave one of them out; points divide either range", code="C131"
            )
        return self

    @property
    def is_whole(self) -> bool:
        """Whether its values are whole numbers."""
        return isinstance(self.low, int) and isinstance(self.high, int) and not isinstance(self.step, float)

    def values(self) -> tuple[Value, ...]:
        """Its `points`, or all its steps; none where it has neither."""
        if self.points is not None:
            shares = [place / (self.points - 1) for place in range(self.points)]
            return tuple(dict.fromkeys(self._at(share) for share in shares))
        if self.step is None:
            return ()
        count = math.floor((self.high - self.low) / self.step + 1e-9)
        return tuple(self._rounded(self.low + place * self.step) for place in range(count + 1))

    def _at(self, share: float) -> int | float:
        if self.log:
            return self._rounded(self.low ** (1 - share) * self.high**share)
        value = self.low + share * (self.high - self.low)
        if self.step is not None:
            value = self.low + round((value - self.low) / self.step) * self.step
        return self._rounded(value)

    def _rounded(self, value: float) -> int | float:
        return round(value) if self.is_whole else float(f"{value:.10g}")


Dimension = Range | tuple[Value, ...]


def setting_text(settings: Mapping[str, object]) -> str:
    """Settings in words, numbers to four digits: "model.heads = 8, training.learning_rate = 0.003162"."""
    return ", ".join(
        f"{key} = {float(f'{value:.4g}')}" if isinstance(value, float) else f"{key} = {value}"
        for key, value in settings.items()
    )


def grid_values(dimension: Dimension) -> tuple[Value, ...]:
    """The single values of a dimension; none of a range without points or step."""
    return dimension.values() if isinstance(dimension, Range) else dimension


def product(space: Mapping[str, Dimension]) -> list[dict[str, Value]]:
    """All combinations of the values; the last setting changes fastest, as in `itertools.product`."""
    return [dict(zip(space, values, strict=True)) for values in itertools.product(*map(grid_values, space.values()))]


# Transformer 模型全景分析报告, section 7.3.1: the ranges of its table, for the data and the machine of the paper.
DOCUMENTS: dict[str, Any] = {
    "model.width": {"low": 256, "high": 1024, "step": 64, "points": 4},
    "model.heads": [4, 8, 16],
    "model.feedforward_width": {"low": 1024, "high": 4096, "step": 256, "points": 4},
    "model.dropout": {"low": 0.0, "high": 0.3, "points": 4},
    "training.label_smoothing": {"low": 0.0, "high": 0.2, "points": 3},
    "training.warmup": {"low": 2000, "high": 8000, "step": 500, "points": 4},
    "batches.tokens": {"low": 10_000, "high": 50_000, "step": 5000, "points": 5},
}
# Section 9.1.1 of the same. Its batches of 16 to 128 sentences are 400 to 3,200 tokens, at 25 tokens a sentence.
DOCUMENTS_LSTM: dict[str, Any] = {
    "training.learning_rate": {"low": 1e-5, "high": 1e-3, "log": True, "points": 5},
    "batches.tokens": [400, 800, 1600, 3200],
    "model.dropout": {"low": 0.1, "high": 0.3, "points": 3},
    "model.width": [256, 512, 1024],
    "training.optimiser": ["adam", "sgd"],
}
READY: dict[str, dict[str, Any]] = {"documents": DOCUMENTS, "documents-lstm": DOCUMENTS_LSTM}

# Section 7.3.2 (3) of the same: capacity first, then regularisation, then what steadies the training.
ORDER = (
    *("model.width", "model.heads", "model.dropout", "training.label_smoothing"),
    *("training.warmup", "batches.tokens"),
)


def guided_order(space: Mapping[str, Dimension]) -> list[str]:
    """The settings in the documents' order; those that it does not name come last, as they stand in the file."""
    return [*(key for key in ORDER if key in space), *(key for key in space if key not in ORDER)]
