"""Ends a run that no longer gets better."""

from openwork.training.moments import Observer, Run
from openwork.training.progress import Validation


class StoppingObserver(Observer):
    """Stops after `patience` validations without a better figure."""

    def validated(self, run: Run, validation: Validation) -> None:
        settings = run.settings
        since = run.progress.since_best(settings.metric)
        if since >= settings.patience:
            run.stop(f"no better {settings.metric} in {since} validations")
