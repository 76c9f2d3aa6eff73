"""Models around models, with the same interface: an ensemble, a coverage penalty, several targets for a source."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from openwork.base.errors import OpenworkError
from openwork.decoding.scoring import allow
from openwork.models.interfaces import SequenceModel, State, StepModel, can_attend
from openwork.nn.cache import Selectable
from openwork.nn.masks import real
from openwork.nn.shapes import AnySource, Lengths, StepLogits, Tokens


@dataclass(frozen=True)
class EnsembleState(Selectable):
    states: tuple[State, ...]


class Ensemble(nn.Module):
    """Several models as one: the probability of a token is the mean of their probabilities.

    They have the same vocabularies, and may be of different families and sizes, prepared or not.

    Those that are modules are its parts, so that it can be moved and set to evaluation as they can.
    """

    def __init__(self, models: Sequence[StepModel]) -> None:
        super().__init__()
        self.members = tuple(models)
        self.modules_of_members = nn.ModuleList(model for model in models if isinstance(model, nn.Module))
        limits = [
            model.maximum_length
            for model in models
            if isinstance(model, SequenceModel) and model.maximum_length is not None
        ]
        self.maximum_length = min(limits, default=None)
        self.continues = any(isinstance(model, SequenceModel) and model.continues for model in models)

    def start(self, source: AnySource, source_lengths: Lengths) -> EnsembleState:
        return EnsembleState(tuple(model.start(source, source_lengths) for model in self.members))

    def step(self, tokens: Tokens, state: EnsembleState) -> tuple[Tensor, EnsembleState]:
        """The logarithms of the mean probabilities, which serve as logits."""
        found = [model.step(tokens, one) for model, one in zip(self.members, state.states, strict=True)]
        return self._mean([logits for logits, _ in found]), EnsembleState(tuple(after for _, after in found))

    def attend(self, tokens: Tensor, state: EnsembleState) -> tuple[Tensor, Tensor, EnsembleState]:
        """Likewise, with the mean of the models' attention (rows, positions, source), which all of them must have."""
        members: Any = self.members
        found = [model.attend(tokens, one) for model, one in zip(members, state.states, strict=True)]
        weights = torch.stack([weights for _, weights, _ in found]).mean(0)
        return self._mean([logits for logits, _, _ in found]), weights, EnsembleState(tuple(s for _, _, s in found))

    def _mean(self, logits: Sequence[Tensor]) -> StepLogits:
        # each model's probabilities given that no forbidden symbol comes, as a search takes them
        logs = torch.stack([allow(one).log_softmax(-1) for one in logits])
        return logs.logsumexp(0) - math.log(len(logits))


LEAST = 1e-9  # sum of weights: the logarithm of 0 would make every score the same


@dataclass(frozen=True)
class CoveredState(Selectable):
    """A model's state, and the sum of each row's attention to each source token so far."""

    inner: State
    source_lengths: Int[Tensor, "rows"]
    attended: Float[Tensor, "rows source"]


class CoverageModel:
    """A model whose states also hold its attention so far, for the coverage penalty (Wu et al. 2016, equation 14).

        cp(X; Y) = beta * sum over source tokens i of log(min(sum over target tokens j of p_ij, 1))

    p_ij is the attention of the decoder to source token i when it produced target token j; both ends count the end
    symbol. Hypotheses that left source tokens out are ranked lower. OpenworkError for a model without attention.
    """

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

    def start(self, source: AnySource, source_lengths: Lengths) -> CoveredState:
        attended = torch.zeros(source.shape[:2], device=source.device)
        return CoveredState(self.model.start(source, source_lengths), source_lengths, attended)

    def step(self, tokens: Tokens, state: CoveredState) -> tuple[Tensor, CoveredState]:
        logits, weights, inner = self.model.attend(tokens, state.inner)
        return logits, CoveredState(inner, state.source_lengths, state.attended + weights.float().sum(1))

    def credit(self, state: CoveredState) -> Float[Tensor, "rows"]:
        """cp of each row, if it ends with the token that comes now."""
        covered = state.attended.clamp(LEAST, 1.0).log()
        return self.beta * covered.masked_fill(~real(state.source_lengths, state.attended.shape[1]), 0.0).sum(-1)


@dataclass(frozen=True)
class Repeated:
    """Takes a batch in which each source comes `times` times, and reads each once."""

    model: StepModel
    times: int

    def start(self, source: Int[Tensor, "rows source"], source_lengths: Int[Tensor, "rows"]) -> State:
        state = self.model.start(source[:: self.times], source_lengths[:: self.times])
        return state.select(torch.arange(source.shape[0], device=source.device) // self.times)

    def step(self, tokens: Tokens, state: State) -> tuple[Tensor, State]:
        return self.model.step(tokens, state)
