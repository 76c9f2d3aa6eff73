"""Models that get their numbers from a file: built without drawing any, and without memory where none is needed yet."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

DRAWS = (Tensor.normal_, Tensor.uniform_, nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_)


@contextmanager
def empty_weights() -> Iterator[None]:
    """What is built within has names, shapes and types, but no memory and no weights."""
    with torch.device("meta"), _NothingDrawn(lambda tensor: tensor.is_meta):
        yield


@contextmanager
def uninitialised() -> Iterator[None]:
    """What is built within has memory with arbitrary contents, to be overwritten with saved weights.

    To draw what is then thrown away takes a second for the paper's base model, and changes the random numbers that
    come after.
    """
    with _NothingDrawn(lambda tensor: True):
        yield


class _NothingDrawn(TorchFunctionMode):
    """Leaves out the drawing of the tensors that `skips` names.

    Without memory the framework would draw by an implementation whose import takes almost two seconds.
    """

    def __init__(self, skips: Callable[[Tensor], bool]) -> None:
        super().__init__()
        self._skips = skips

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        named = kwargs or {}
        drawn = args[0] if args else named.get("tensor")
        if func in DRAWS and isinstance(drawn, Tensor) and self._skips(drawn):
            return drawn
        return func(*args, **named)
