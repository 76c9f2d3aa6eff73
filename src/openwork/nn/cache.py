"""Keys and values that later steps need again: values that are passed in and returned, never kept on a module."""

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor

SelectableT = TypeVar("SelectableT", bound="Selectable")


class Selectable:
    """A dataclass of tensors with a row for each hypothesis, of tuples of these, and of values that all rows share."""

    def select(self: SelectableT, rows: Int[Tensor, "new_rows"]) -> SelectableT:
        """The given rows, in the given order; a row may come several times."""
        return type(self)(*(select_rows(value, rows) for value in vars(self).values()))


def select_rows(value: Any, rows: Int[Tensor, "new_rows"]) -> Any:
    """The given rows of a tensor, of each value of a tuple, or of a value with `select`; other values as they are."""
    if isinstance(value, Tensor):
        return value.index_select(0, rows)
    if isinstance(value, tuple):
        return tuple(select_rows(one, rows) for one in value)
    return value.select(rows) if hasattr(value, "select") else value


@runtime_checkable
class PastPositions(Protocol):
    """What a self-attention keeps of the positions so far: `KeyValue`, or the sums of `linear_attention.py`."""

    @property
    def size(self) -> int:
        """Number of positions."""
        ...


@dataclass(frozen=True)
class KeyValue(Selectable):
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


def extend(past: KeyValue | None, later: KeyValue) -> KeyValue:
    """`past` followed by `later`; at the first step there is no past."""
    return later if past is None else past.extend(later)
