"""How long a training will take, and until when."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from openwork.runs.preflight.subject import PreflightContext
from openwork.runs.preflight.updates import UpdateTrial
from openwork.runs.preflight.validation import ValidationTrial

CANDIDATES = 3  # weights that a finished training validates, to choose among them; moving averages add two


@dataclass(frozen=True)
class Finish:
    """`passes`: over the training pairs; `validations`: while it trains and at its end."""

    seconds: float
    updates: int
    passes: float
    validations: int


def estimate_finish(subject: PreflightContext, updates: UpdateTrial, validation: ValidationTrial) -> Finish:
    """For a run that makes all its updates; `training.patience` may end it earlier."""
    training = subject.settings.training
    looks = -(-training.steps // training.validate_every)
    choosing = min(looks, CANDIDATES if training.average > 1 else 1) + (2 if training.ema else 0)
    seconds = training.steps * updates.usual + (looks + choosing) * validation.seconds
    passes = training.steps * training.accumulate / len(subject.stream.epoch(0))
    return Finish(seconds, training.steps, passes, looks + choosing)


def clock(seconds: float, now: datetime) -> str:
    """When so many seconds are over: the time, and the day if it is not today."""
    end = now + timedelta(seconds=seconds)
    return f"{end:%H:%M}" if end.date() == now.date() else f"{end:%Y-%m-%d %H:%M}"
