"""Keys and values that later steps need again: values that are passed in and returned, never kept on a module."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class KeyValue:
    """The projected keys (rows, head, position, head_width) and values (rows, head, position, value_width)."""

    key: Tensor
    value: Tensor

    @property
    def size(self) -> int:
        """Number of positions held."""
        return self.key.shape[-2]

    def for_heads(self, heads: int) -> "KeyValue":
        """Each head of keys and values once for every query head of the group that shares it."""
        group = heads // self.key.shape[1]
        if group == 1:
            return self
        return KeyValue(self.key.repeat_interleave(group, dim=1), self.value.repeat_interleave(group, dim=1))

    def extend(self, later: "KeyValue") -> "KeyValue":
        """These positions followed by the later ones."""
        return KeyValue(torch.cat((self.key, later.key), dim=-2), torch.cat((self.value, later.value), dim=-2))

    def select(self, rows: Tensor) -> "KeyValue":
        """The given rows, in the given order; a row may come several times."""
        return KeyValue(self.key.index_select(0, rows), self.value.index_select(0, rows))


def extend(past: KeyValue | None, later: KeyValue) -> KeyValue:
    """`past` followed by `later`; at the first step there is no past."""
    return later if past is None else past.extend(later)
