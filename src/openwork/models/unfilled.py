"""Models without numbers: names, shapes and types of their weights, which take no memory."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

DRAWS = (Tensor.normal_, nn.init.normal_)


@contextmanager
def unfilled() -> Iterator[None]:
    """What is built within has no numbers, and none are drawn for it."""
    with torch.device("meta"), _NothingDrawn():
        yield


class _NothingDrawn(TorchFunctionMode):
    """Without numbers the framework draws by an implementation whose import takes almost two seconds."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        named = kwargs or {}
        drawn = args[0] if args else named.get("tensor")
        if func in DRAWS and isinstance(drawn, Tensor) and drawn.is_meta:
            return drawn
        return func(*args, **named)
