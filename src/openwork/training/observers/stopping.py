"""Ends a run that no longer gets better."""

from openwork.training.moments import LoopState, Observer
from openwork.training.progress import Validation


class StoppingObserver(Observer):
    """Stops after `patience` validations without a better figure."""

    def started(self, run: LoopState) -> None:
        self._judge(run)  # a run that had stopped for this reason does not go on when it is resumed

    def validated(self, run: LoopState, validation: Validation) -> None:
        self._judge(run)

    def _judge(self, run: LoopState) -> None:
        settings = run.settings
        since = run.progress.since_best(settings.metric)
        if since >= settings.patience:
            run.stop(f"no better {settings.metric} in {since} validations")
