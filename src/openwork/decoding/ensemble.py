"""Several models as one: the probability of a token is the mean of the probabilities that the models give it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from openwork.base.symbols import SYMBOL_IDS, SymbolIds
from openwork.decoding.scoring import allow
from openwork.models.interfaces import AttendingModel, SequenceModel, State
from openwork.nn.cache import Selectable
from openwork.nn.shapes import Lengths, Source, StepLogits, Tokens


@dataclass(frozen=True)
class EnsembleState(Selectable):
    """The states of all models."""

    states: tuple[State, ...]


class Ensemble(nn.Module):
    """Models with the same vocabularies. They may be of different families and sizes, and prepared or not.

    Those that are modules are its parts, so that it can be moved and set to evaluation as they can.
    """

    def __init__(self, models: Sequence[AttendingModel], symbols: SymbolIds = SYMBOL_IDS) -> None:
        super().__init__()
        self.members = tuple(models)
        self.modules_of_members = nn.ModuleList(model for model in models if isinstance(model, nn.Module))
        self.symbols = symbols
        limits = [
            model.maximum_length
            for model in models
            if isinstance(model, SequenceModel) and model.maximum_length is not None
        ]
        self.maximum_length = min(limits, default=None)
        self.continues = any(isinstance(model, SequenceModel) and model.continues for model in models)

    def start(self, source: Source, source_lengths: Lengths) -> EnsembleState:
        return EnsembleState(tuple(model.start(source, source_lengths) for model in self.members))

    def step(self, tokens: Tokens, state: EnsembleState) -> tuple[Tensor, EnsembleState]:
        """The logarithms of the mean probabilities, which serve as logits."""
        found = [model.step(tokens, one) for model, one in zip(self.members, state.states, strict=True)]
        return self._mean([logits for logits, _ in found]), EnsembleState(tuple(after for _, after in found))

    def attend(self, tokens: Tensor, state: EnsembleState) -> tuple[Tensor, Tensor, EnsembleState]:
        """Likewise, with the mean of the models' attention (rows, positions, source)."""
        found = [model.attend(tokens, one) for model, one in zip(self.members, state.states, strict=True)]
        weights = torch.stack([weights for _, weights, _ in found]).mean(0)
        return self._mean([logits for logits, _, _ in found]), weights, EnsembleState(tuple(s for _, _, s in found))

    def _mean(self, logits: Sequence[Tensor]) -> StepLogits:
        # each model's probabilities given that no forbidden symbol comes, as a search takes them
        logs = torch.stack([allow(one, self.symbols).log_softmax(-1) for one in logits])
        return logs.logsumexp(0) - math.log(len(logits))
