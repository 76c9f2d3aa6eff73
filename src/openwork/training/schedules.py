"""Learning rates as functions of the update's number, counted from 1. A new one is a function and a line in the table.

All but the paper's rise linearly to `learning_rate`, reached at update `warmup`; their names say what comes after. The
slanted triangle alone does not begin at 0.
"""

import math
from collections.abc import Callable

from openwork.training.settings import TrainingSettings

Schedule = Callable[[int], float]


def paper_rate(step: int, width: int, warmup: int, scale: float = 1.0) -> float:
    """Equation 3: width^-0.5 min(step^-0.5, step warmup^-1.5)."""
    _check_step(step)
    return scale * width**-0.5 * min(step**-0.5, step * warmup**-1.5)


def inverse_square_root_rate(step: int, peak: float, warmup: int) -> float:
    """The same curve, named by its peak: linear up to `peak` at `warmup`, then peak sqrt(warmup / step)."""
    _check_step(step)
    return peak * min(step / warmup, (warmup / step) ** 0.5)


def constant_rate(step: int, peak: float, warmup: int) -> float:
    """`peak` from update `warmup` on."""
    _check_step(step)
    return peak * min(1.0, step / warmup)


def linear_rate(step: int, peak: float, lowest: float, warmup: int, steps: int) -> float:
    """A straight line from `peak` to `lowest`, reached just after the last of all `steps`."""
    if step <= warmup:
        return constant_rate(step, peak, warmup)
    return peak + (lowest - peak) * _share_done(step, warmup, steps)


def cosine_rate(step: int, peak: float, lowest: float, warmup: int, steps: int) -> float:
    """Half a cosine from `peak` to `lowest`, reached just after the last (Loshchilov and Hutter 2017, equation 5)."""
    if step <= warmup:
        return constant_rate(step, peak, warmup)
    return lowest + (peak - lowest) * (1 + math.cos(math.pi * _share_done(step, warmup, steps))) / 2


def slanted_triangular_rate(step: int, peak: float, ratio: float, warmup: int, steps: int) -> float:
    """Howard and Ruder 2018, equation 3: peak (1 + p (ratio - 1)) / ratio.

    The share p rises from 0 before the first update to 1 at `warmup`, their cut, and falls to 0 just after the last.
    """
    _check_step(step)
    share = step / warmup if step <= warmup else 1 - _share_done(step, warmup, steps)
    return peak * (1 + share * (ratio - 1)) / ratio


def cooldown_factor(step: int, steps: int, cooldown: int) -> float:
    """1 until the last `cooldown` updates, then linearly towards 0, reached just after the last."""
    return min(1.0, (steps + 1 - step) / (cooldown + 1))


Rate = Callable[[int, TrainingSettings, int], float]

# Each takes the update's number, the settings and the model's width.
SCHEDULES: dict[str, Rate] = {
    "paper": lambda step, s, width: paper_rate(step, width, s.warmup, s.schedule_scale),
    "inverse-square-root": lambda step, s, _: inverse_square_root_rate(step, s.learning_rate, s.warmup),
    "cosine": lambda step, s, _: cosine_rate(step, s.learning_rate, s.lowest_rate, s.warmup, s.steps),
    "linear": lambda step, s, _: linear_rate(step, s.learning_rate, s.lowest_rate, s.warmup, s.steps),
    "slanted-triangular": lambda step, s, _: slanted_triangular_rate(step, s.learning_rate, s.slant, s.warmup, s.steps),
    "constant": lambda step, s, _: constant_rate(step, s.learning_rate, s.warmup),
}


def make_schedule(settings: TrainingSettings, width: int) -> Schedule:
    """The schedule that the settings describe, for a model of this width."""
    rate = SCHEDULES[settings.schedule]
    return lambda step: rate(step, settings, width) * cooldown_factor(step, settings.steps, settings.cooldown)


def _share_done(step: int, warmup: int, steps: int) -> float:
    """0 at `warmup`, 1 just after the last of all `steps`."""
    return min(1.0, (step - warmup) / max(steps + 1 - warmup, 1))


def _check_step(step: int) -> None:
    if step < 1:
        raise ValueError(f"updates are counted from 1, not {step}: at 0 the paper's formula would be infinite")
