"""What the batch norms of a model remember of the batches that they were trained on, where a training must mind it.

Such a model learns from whole batches: half of one has other statistics. And each forward pass of a training moves the
running ones, so that a pass that shall not count has to give them back.
"""

from openwork.base.errors import OpenworkError
from openwork.models.interfaces import SequenceModel
from openwork.nn.batch_normalisation import running_statistics


class KeptStatistics:
    """The running statistics of a model as they are now, to be put back."""

    def __init__(self, model: SequenceModel) -> None:
        self._kept = [(statistic, statistic.clone()) for statistic in running_statistics(model).values()]

    def put_back(self) -> None:
        """As if no batch had been seen since."""
        for statistic, before in self._kept:
            statistic.copy_(before)


def whole_batch_too_large(cause: str) -> OpenworkError:
    """Where memory is not enough for a batch that must not be divided."""
    return OpenworkError(
        "there is not enough memory for a whole batch, and batch normalisation cannot compute it in parts",
        why=cause,
        hint="set batches.tokens lower, and training.accumulate higher",
        code="E028",
    )
