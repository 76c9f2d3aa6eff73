"""log P(target | source) of given targets, in nats."""

from collections.abc import Sequence

from torch import Tensor

from openwork.decoding.rescore import score_tokens
from openwork.models.interfaces import StepModel


def score(
    model: StepModel, source: Tensor, lengths: Tensor, targets: Sequence[Sequence[int]], *, ended: bool = True
) -> Tensor:
    """One number for each target."""
    return score_tokens(model, source, lengths, targets, ended=ended).sum(-1)
