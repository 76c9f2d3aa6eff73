"""What the parts of a model take in and give out, noted while it runs; afterwards the model is as before."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from torch import Tensor, nn

from openwork.nn.attention import MultiHeadAttention
from openwork.nn.kernels.reference import attention_scores, softmax_over, weighted_sum
from openwork.nn.masks import Mask


@dataclass(frozen=True)
class Attended:
    """One call of an attention kernel: Q K^T, that scaled, the weights, and the heads (batch, head, query, ...)."""

    products: Tensor
    scores: Tensor
    weights: Tensor
    heads: Tensor


@dataclass
class Notes:
    """Name of a module -> what its calls took (the first argument) and gave, in order; and those of the kernels."""

    taken: dict[str, list[Tensor]] = field(default_factory=dict)
    given: dict[str, list[Tensor]] = field(default_factory=dict)
    attended: dict[str, list[Attended]] = field(default_factory=dict)


class WatchingKernel:
    """The steps of the reference kernel, which are noted."""

    def __init__(self, notes: list[Attended]) -> None:
        self.notes = notes

    def __call__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Mask,
        scale: float,
        dropout: float = 0.0,
        bias: Tensor | None = None,
    ) -> Tensor:
        scores = attention_scores(query, key, scale, bias)
        weights = softmax_over(scores, mask.boolean(query.shape[-2], key.shape[-2], query.device))
        heads = weighted_sum(weights, value)
        self.notes.append(Attended(attention_scores(query, key, 1.0), scores, weights, heads))
        return heads


@contextmanager
def watching(model: nn.Module) -> Iterator[Notes]:
    """While the block runs, every call of a part is noted."""
    notes = Notes()
    with ExitStack() as after:
        for name, module in model.named_modules():
            after.callback(module.register_forward_hook(_noting(notes, name)).remove)
            if isinstance(module, MultiHeadAttention):
                after.callback(setattr, module, "kernel", module.kernel)
                module.kernel = WatchingKernel(notes.attended.setdefault(name, []))
        yield notes


def _noting(notes: Notes, name: str) -> Callable[[nn.Module, tuple, object], None]:
    def note(module: nn.Module, taken: tuple, given: object) -> None:
        if taken and isinstance(taken[0], Tensor):
            notes.taken.setdefault(name, []).append(taken[0].detach())
        if isinstance(given, Tensor):
            notes.given.setdefault(name, []).append(given.detach())

    return note
