"""Sources that a model is verified with: random ones, cut to a length, padded; ids of pieces or rows of numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from openwork.base.sources import NumberForm, SourceEncoder
from openwork.base.symbols import SYMBOL_IDS
from openwork.inference.batches import NumberBatches, padded
from openwork.text.tokenizer import SYMBOL_NAMES


class IdSources:
    """Ids of a vocabulary of `size` pieces, each source with its end symbol."""

    def __init__(self, size: int) -> None:
        self.size = size

    def drawn(self, length: int, generator: torch.Generator) -> tuple[int, ...]:
        """A random source of so many positions."""
        ids = torch.randint(len(SYMBOL_NAMES), self.size, (length - 1,), generator=generator).tolist()
        return (*ids, SYMBOL_IDS.end)

    def level(self, source: tuple[int, ...], length: int) -> tuple[int, ...]:
        """The source cut or repeated to so many positions."""
        ids = source[:-1]
        return (*(ids[number % len(ids)] for number in range(length - 1)), SYMBOL_IDS.end)

    def padded(self, sources: Sequence[tuple[int, ...]], device: torch.device) -> tuple[Tensor, Tensor]:
        """The sources as one batch, padded on the right, and their lengths."""
        return padded([source[:-1] for source in sources], device)

    def more_padding(self, source: Tensor, count: int) -> Tensor:
        """The batch with so many positions of padding after it."""
        return nn.functional.pad(source, (0, count), value=SYMBOL_IDS.pad)

    def other_padding(self, source: Tensor, real: Tensor) -> Tensor:
        """The batch with something else where `real` (batch, position) says that nothing is."""
        return source.masked_fill(~real, len(SYMBOL_NAMES) + 1 % (self.size - len(SYMBOL_NAMES)))


class NumberSources:
    """Numbers of a form, such as the pixels of patches in bytes."""

    def __init__(self, form: NumberForm) -> None:
        self.form = form
        self.batches = NumberBatches(form)

    def drawn(self, length: int, generator: torch.Generator) -> NDArray[Any]:
        shape = length, self.form.features
        if self.form.dtype == "|u1":
            return torch.randint(256, shape, generator=generator).numpy().astype(self.form.dtype)
        return torch.randn(shape, generator=generator).numpy()

    def level(self, source: NDArray[Any], length: int) -> NDArray[Any]:
        return source[np.arange(length) % len(source)]

    def padded(self, sources: Sequence[NDArray[Any]], device: torch.device) -> tuple[Tensor, Tensor]:
        return self.batches.padded(sources, device)

    def more_padding(self, source: Tensor, count: int) -> Tensor:
        return nn.functional.pad(source, (0, 0, 0, count))

    def other_padding(self, source: Tensor, real: Tensor) -> Tensor:
        return source.masked_fill(~real[:, :, None], 1.0)


ProbeSources = IdSources | NumberSources


def sources_of(encoder: SourceEncoder) -> ProbeSources:
    """Sources of the kind that the encoder gives."""
    return IdSources(encoder.size) if encoder.numbers is None else NumberSources(encoder.numbers)
