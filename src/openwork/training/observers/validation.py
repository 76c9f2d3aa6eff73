"""Looks at held-out pairs every so many updates."""

from collections.abc import Callable

from openwork.training.moments import LoopState, Observer
from openwork.training.progress import Validation
from openwork.training.step import StepReport


class ValidationObserver(Observer):
    """Calls `validate(step)` and notes the result in the run's progress before the others hear of it.

    Not after an update that was skipped: what its weights are worth is not known, and no checkpoint should keep them.
    """

    def __init__(self, validate: Callable[[int], Validation]) -> None:
        self.validate = validate

    def stepped(self, run: LoopState, report: StepReport) -> None:
        last = report.step == run.settings.steps
        if last or (not report.skipped and report.step % run.settings.validate_every == 0):
            validation = self.validate(report.step)
            run.progress.validations.append(validation)
            run.announce_validated(validation)
