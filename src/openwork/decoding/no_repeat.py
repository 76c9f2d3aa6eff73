"""No phrase comes twice: the surest guard against a translation that goes round in circles."""

from jaxtyping import Bool
from torch import Tensor

from openwork.decoding.rules import Prefixes, TokenRule


class NoRepeat(TokenRule):
    """No `size` consecutive tokens come twice in a target."""

    def __init__(self, size: int) -> None:
        self.size = size

    def refuse(self, refused: Bool[Tensor, "rows vocabulary"], prefixes: Prefixes) -> None:
        written = prefixes.tokens[:, 1:]
        if written.shape[1] < self.size:
            return
        sequences = written.unfold(1, self.size, 1)
        latest = written[:, written.shape[1] - self.size + 1 :]
        row, place = (sequences[..., :-1] == latest[:, None]).all(-1).nonzero(as_tuple=True)
        refused[row, sequences[row, place, -1]] = True
