"""Token embeddings (section 3.4 of the paper)."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from jaxtyping import Int
from torch import Tensor, nn

from openwork.base.symbols import SYMBOL_IDS
from openwork.nn.shapes import Source, Vectors


class TokenEmbedding(nn.Module):
    """One vector a token, multiplied by sqrt(width) so that it is not drowned by the positions added to it.

    `scaled`: whether it is; BART's, for one, are not.
    """

    def __init__(self, vocabulary: int, width: int, scaled: bool = True) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.scale = width**0.5 if scaled else 1.0

    @property
    def pieces(self) -> int:
        """Entries of the vocabulary."""
        return self.table.num_embeddings

    def forward(self, tokens: Int[Tensor, "batch position"]) -> Vectors:
        return self.table(tokens) * self.scale

    def after_start(self, source: Source) -> Vectors:
        """The vector of the start symbol, and then one for each token."""
        return self(with_start(source))


def with_start(source: Source) -> Int[Tensor, "batch position"]:
    """With the start symbol in front."""
    return nn.functional.pad(source, (1, 0), value=SYMBOL_IDS.start)


ModuleT = TypeVar("ModuleT", bound=nn.Module)


def initialise(model: ModuleT) -> ModuleT:
    """Gives a model Glorot-uniform matrices, zero biases, embeddings N(0, 1 / width), and returns it.

    The paper does not say. Glorot and Bengio 2010, equation 16 for the matrices; an embedding of variance
    1 / width has unit variance after the scaling by sqrt(width) and gives logits of unit variance when it is
    also the output matrix.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Conv1d | nn.Conv2d):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
    return model


def output_matrix(vocabulary: int, width: int) -> nn.Parameter:
    """An output matrix of its own (vocabulary, width), Glorot-uniform; with tied weights a model needs none."""
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(vocabulary, width)))


def tied_weights(
    tying: str, make: Callable[[int], Any], source_vocabulary: int, target_vocabulary: int
) -> tuple[Any, Any, Tensor]:
    """The source's embedding, the target's, and the output matrix; `tying` says which of them are one (section 3.4).

    "three-way": all of them. "target": the target's embedding and the output matrix. "none": none of them.
    """
    target = make(target_vocabulary)
    source = target if tying == "three-way" else make(source_vocabulary)
    weight = target.weight if isinstance(target, nn.Embedding) else target.table.weight
    return source, target, output_matrix(*weight.shape) if tying == "none" else weight
