"""The coverage penalty (Wu et al. 2016, equation 14): hypotheses that left source tokens out are ranked lower.

    cp(X; Y) = beta * sum over source tokens i of log(min(sum over target tokens j of p_ij, 1))

p_ij is the attention of the decoder to source token i when it produced target token j; both ends count the end symbol.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from openwork.base.errors import OpenworkError
from openwork.models.interfaces import State, StepModel, can_attend
from openwork.nn.cache import Selectable
from openwork.nn.masks import real
from openwork.nn.shapes import Lengths, Source, Tokens

# The least sum of weights: the logarithm of 0 would make every score the same.
LEAST = 1e-9


@dataclass(frozen=True)
class CoveredState(Selectable):
    """A model's state, and the sum of each row's attention to each source token so far."""

    inner: State
    source_lengths: Int[Tensor, "rows"]
    attended: Float[Tensor, "rows source"]


class CoverageModel:
    """The same model, whose states also hold its attention so far. OpenworkError if it has none."""

    def __init__(self, model: StepModel, beta: float) -> None:
        if not can_attend(model):
            raise OpenworkError(
                "the coverage penalty needs a model with attention to the source",
                why="this one has no cross-attention to show",
                hint="set decoding.coverage_penalty = 0",
                code="E010",
            )
        self.model = model
        self.beta = beta

    def start(self, source: Source, source_lengths: Lengths) -> CoveredState:
        attended = torch.zeros(source.shape, device=source.device)
        return CoveredState(self.model.start(source, source_lengths), source_lengths, attended)

    def step(self, tokens: Tokens, state: CoveredState) -> tuple[Tensor, CoveredState]:
        logits, weights, inner = self.model.attend(tokens, state.inner)
        return logits, CoveredState(inner, state.source_lengths, state.attended + weights.float().sum(1))

    def credit(self, state: CoveredState) -> Float[Tensor, "rows"]:
        """cp of each row, if it ends with the token that comes now."""
        covered = state.attended.clamp(LEAST, 1.0).log()
        return self.beta * covered.masked_fill(~real(state.source_lengths, state.attended.shape[1]), 0.0).sum(-1)
