"""Tokens and positions by 001's names."""

from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn.dropout import Dropout
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.positions import SinusoidalPositions


class Embed(TokenEmbedding):
    """One vector a token, times sqrt(d_model).

    The first values are N(0, 1), as 001 says; `make_model` draws others, as its own code does too.
    """

    def __init__(self, vocab: int, d_model: int = 512) -> None:
        super().__init__(vocab, d_model)
        self.vocab = vocab
        self.d_model = d_model

    @property
    def emb(self) -> nn.Embedding:
        """The table (vocab, d_model)."""
        return self.table

    @property
    def scaling(self) -> float:
        """sqrt(d_model)."""
        return self.scale


class PositionalEncoding(SinusoidalPositions):
    """Adds the sinusoids of the positions to x (batch, position, d_model), then dropout.

    Departs from 001: the table grows when a sentence is longer than `max_len`, and an odd d_model ends with a sine;
    there, both are errors. It is computed in float64 and rounded; there, in float32, far positions are off in the
    fourth decimal. It is no part of the saved state, since it can always be made anew.
    """

    def __init__(self, d_model: int = 512, dropout: float = 0.1, max_len: int = 5000) -> None:
        super().__init__(d_model, max_len)
        self.dropout = Dropout(dropout)

    @property
    def pe(self) -> Float[Tensor, "1 position width"]:
        """The table as 001 keeps it, a batch of one."""
        return self.table[None]

    def forward(
        self, x: Float[Tensor, "batch position width"], first: int = 0
    ) -> Float[Tensor, "batch position width"]:
        """`first` is the position of x's first token in its sentence."""
        return self.dropout(super().forward(x, first))
