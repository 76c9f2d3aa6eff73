"""Ending trainings early whose validations promise little."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openwork.training.loop import LoopState, Observer
from openwork.training.progress import Progress, Validation

if TYPE_CHECKING:
    from optuna import Trial

HUNDREDTHS = 100


class Pruned(Exception):
    """Ends a training; not an error. `validation`: its best one."""

    def __init__(self, validation: Validation, progress: Progress) -> None:
        super().__init__()
        self.validation, self.progress = validation, progress


@dataclass(eq=False)
class PruningObserver(Observer):
    """Reports each validation to the search, at its hundredth of the training, and obeys its pruner."""

    trial: "Trial"
    failures: Callable[[], AbstractContextManager[None]]

    def validated(self, run: LoopState, validation: Validation) -> None:
        if validation.step >= run.settings.steps:
            return
        metric = run.settings.metric
        with self.failures():
            self.trial.report(validation.figure(metric), HUNDREDTHS * validation.step // run.settings.steps)
            is_over = self.trial.should_prune()
        if is_over:
            raise Pruned(run.progress.best(metric) or validation, run.progress)
