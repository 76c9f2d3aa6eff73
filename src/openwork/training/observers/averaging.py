"""Takes the weights of each update into their moving average."""

from openwork.training.moments import LoopState, Observer
from openwork.training.moving_average import MovingAverage
from openwork.training.step import StepReport


class AveragingObserver(Observer):
    """Must watch before the one that saves checkpoints, so that what is saved is the average up to that update."""

    def __init__(self, moving_average: MovingAverage) -> None:
        self.moving_average = moving_average

    def stepped(self, run: LoopState, report: StepReport) -> None:
        self.moving_average.update(report.step)
