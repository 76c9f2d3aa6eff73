"""A least length, for models that stop too soon."""

from jaxtyping import Bool
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.rules import Prefixes, TokenRule


class MinimumLength(TokenRule):
    """No end before a target has `length` tokens, the end symbol not counted."""

    def __init__(self, length: int) -> None:
        self.length = length

    def refuse(self, refused: Bool[Tensor, "rows vocabulary"], prefixes: Prefixes) -> None:
        written = prefixes.tokens.shape[1] - 1
        if written < self.length:
            refused[:, SYMBOL_IDS.end] = True
