"""Tokens and positions by 001's names."""

import math
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor, nn

from openwork.nn.dropout import Dropout
from openwork.nn.positions import SinusoidalPositions


class Embed(nn.Module):
    """One vector a token, times sqrt(d_model).

    The first values are N(0, 1), as 001 says; `make_model` draws others, as its own code does too.
    """

    def __init__(self, vocab: int, d_model: int = 512) -> None:
        super().__init__()
        self.vocab = vocab
        self.d_model = d_model
        self.emb = nn.Embedding(vocab, d_model)
        self.scaling = math.sqrt(d_model)

    def forward(self, x: Int[Tensor, "*rows"]) -> Float[Tensor, "*rows width"]:
        return self.emb(x) * self.scaling


class PositionalEncoding(SinusoidalPositions):
    """Adds the sinusoids of the positions to x (batch, position, d_model), then dropout.

    Departs from 001: the table grows when a sentence is longer than `max_len`, and an odd d_model ends with a sine;
    there, both are errors. It is computed in float64 and rounded; there, in float32, far positions are off in the
    fourth decimal. It is saved as `pe`, as in 001, and not loaded, since it can always be computed.
    """

    def __init__(self, d_model: int = 512, dropout: float = 0.1, max_len: int = 5000) -> None:
        super().__init__(d_model, max_len)
        self.max_len = max_len
        self.dropout = Dropout(dropout)

    @property
    def pe(self) -> Float[Tensor, "1 position width"]:
        """The first `max_len` rows of the table as 001 keeps it, a batch of one."""
        return self.table[None, : self.max_len]

    def forward(
        self, x: Float[Tensor, "batch position width"], first: int = 0
    ) -> Float[Tensor, "batch position width"]:
        """`first` is the position of x's first token in its sentence."""
        return self.dropout(super().forward(x, first))

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[f"{prefix}pe"] = self.pe

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *others: Any, **named: Any) -> None:
        state_dict.pop(f"{prefix}pe", None)
        super()._load_from_state_dict(state_dict, prefix, *others, **named)
