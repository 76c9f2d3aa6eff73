"""Token embeddings (section 3.4 of the paper)."""

from jaxtyping import Int
from torch import Tensor, nn

from openwork.nn.shapes import Vectors


class TokenEmbedding(nn.Module):
    """One vector a token, multiplied by sqrt(width) so that it is not drowned by the positions added to it.

    `scaled`: whether it is; BART's, for one, are not.
    """

    def __init__(self, vocabulary: int, width: int, scaled: bool = True) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.scale = width**0.5 if scaled else 1.0

    def forward(self, tokens: Int[Tensor, "batch position"]) -> Vectors:
        return self.table(tokens) * self.scale
