"""Several independent targets for each sentence: a model that reads each source once and gives it several rows."""

from collections.abc import Sequence
from typing import TypeVar

import torch
from jaxtyping import Int
from torch import Tensor

from openwork.decoding.constraints import SentenceConstraints
from openwork.models.interfaces import State, StepModel
from openwork.nn.shapes import Tokens

StateT = TypeVar("StateT", bound=State)


class Repeated:
    """Takes a batch in which each source comes `times` times, and reads each once."""

    def __init__(self, model: StepModel, times: int) -> None:
        self.model = model
        self.times = times

    def start(self, source: Int[Tensor, "rows source"], source_lengths: Int[Tensor, "rows"]) -> State:
        state = self.model.start(source[:: self.times], source_lengths[:: self.times])
        return state.select(torch.arange(source.shape[0], device=source.device) // self.times)

    def step(self, tokens: Tokens, state: State) -> tuple[Tensor, State]:
        return self.model.step(tokens, state)


def repeat_constraints(
    constraints: Sequence[SentenceConstraints] | None, times: int
) -> list[SentenceConstraints] | None:
    """Those of each sentence as often as its source."""
    return None if constraints is None else [one for one in constraints for _ in range(times)]
