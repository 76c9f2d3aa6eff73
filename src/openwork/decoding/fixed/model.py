"""What a search on tensors of fixed sizes needs of a model."""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor

from openwork.nn.shapes import Logits


@runtime_checkable
class FixedModel(Protocol):
    """A model with buffers for `sentences` x `beam` rows of at most `capacity` target tokens each."""

    @property
    def sentences(self) -> int:
        """Sentences that are searched together."""
        ...

    @property
    def beam(self) -> int:
        """Hypotheses of each."""
        ...

    @property
    def capacity(self) -> int:
        """Target tokens of a hypothesis, the start symbol counted, that can be read."""
        ...

    @property
    def vocabulary(self) -> int:
        """Logits of a row."""
        ...

    @property
    def device(self) -> torch.device:
        """Where the buffers are."""
        ...

    def step(
        self, tokens: Int[Tensor, "rows"], parents: Int[Tensor, "rows"] | None, position: Int[Tensor, ""]
    ) -> Logits:
        """Reads the token of each row at `position`; gives the logits of the next.

        `parents`: the rows of the step before that these continue, each of its own sentence; None: each row itself.
        """
        ...
