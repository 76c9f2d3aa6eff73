"""Learning rates as functions of the update's number, counted from 1."""

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


def cooldown_factor(step: int, steps: int, cooldown: int) -> float:
    """1 until the last `cooldown` updates, then linearly towards 0, reached just after the last."""
    return min(1.0, (steps + 1 - step) / (cooldown + 1))


def make_schedule(settings: TrainingSettings, width: int) -> Schedule:
    """The schedule that the settings describe, for a model of this width."""
    s = settings

    def paper(step: int) -> float:
        return paper_rate(step, width, s.warmup, s.schedule_scale)

    def inverse_square_root(step: int) -> float:
        return inverse_square_root_rate(step, s.learning_rate, s.warmup)

    base = {"paper": paper, "inverse-square-root": inverse_square_root}[s.schedule]
    return lambda step: base(step) * cooldown_factor(step, s.steps, s.cooldown)


def _check_step(step: int) -> None:
    if step < 1:
        raise ValueError(f"updates are counted from 1, not {step}: at 0 the paper's formula would be infinite")
