"""Where two computations of the same numbers diverge: the first module with the same input and another output.

Modules are watched from outside, by hooks that are gone afterwards; nothing is stored on them.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

SOURCE, TARGET = "source", "target"

Key = tuple[str, str, torch.Size, torch.Size]
"""Side and name of a module, and the axes behind the positions before and after it: a dropout may serve two widths."""


class Calls(NamedTuple):
    """The inputs and outputs of a module, over all its calls: (rows, position, ...)."""

    before: list[Tensor]
    after: list[Tensor]


@dataclass
class Record:
    """The calls of every module in the order in which they first ended, those over the source and the target apart.

    Whoever computes sets `side`, since the two may share a module, such as an embedding.
    """

    side: str = SOURCE
    calls: dict[Key, Calls] = field(default_factory=dict)

    def note(self, name: str, before: Tensor | None, after: Tensor | None) -> None:
        """Adds one call, if its input and output are tensors."""
        if before is not None and after is not None:
            before, after = _with_positions(before.detach()), _with_positions(after.detach())
            calls = self.calls.setdefault((self.side, name, before.shape[2:], after.shape[2:]), Calls([], []))
            calls.before.append(before)
            calls.after.append(after)


@dataclass(frozen=True)
class DivergencePlace:
    """The first module that diverges, and the position, counted from 0 on the source's or target's side."""

    module: str
    side: str
    position: int


@contextmanager
def watching(model: nn.Module) -> Iterator[Record]:
    """While the block runs, the record notes every call of a part of the model."""
    record = Record()

    def watch(name: str, module: nn.Module) -> Any:
        def note(_: nn.Module, arguments: Any, output: Any) -> None:
            record.note(name, _first_tensor(arguments), _first_tensor(output))

        return module.register_forward_hook(note)

    handles = [watch(name, module) for name, module in model.named_modules() if name]
    try:
        yield record
    finally:
        for handle in handles:
            handle.remove()


def difference(one: Tensor, other: Tensor) -> Tensor:
    """|one - other|, infinite where one of the two is not a number."""
    one, other = one.double(), other.double()
    return (one - other).abs().nan_to_num(nan=torch.inf).masked_fill(one == other, 0.0)


def first_parting(
    one: Record, other: Record, rows: tuple[int, int], limits: Mapping[str, int], tolerance: float
) -> DivergencePlace | None:
    """The first module whose outputs diverge though its inputs do not; None if there is none.

    `rows`: which row of each record is compared; `limits`: how many positions of each side. Two tensors diverge where
    they differ by more than `tolerance` times their largest number (at least 1).
    """
    for key, calls in one.calls.items():
        theirs, (side, name, *_) = other.calls.get(key), key
        if theirs is not None:
            position = _parting(calls.after, theirs.after, rows, limits[side], tolerance)
            if position is not None and _parting(calls.before, theirs.before, rows, limits[side], tolerance) is None:
                return DivergencePlace(name, side, position)
    return None


def first_endless(record: Record) -> DivergencePlace | None:
    """The first module whose output is not finite."""
    for (side, name, *_), calls in record.calls.items():
        positions = [~after.isfinite().flatten(2).all(-1).all(0) for after in calls.after]
        endless = torch.cat(positions).nonzero()
        if endless.numel():
            return DivergencePlace(name, side, int(endless[0]))
    return None


def _parting(one: list[Tensor], other: list[Tensor], rows: tuple[int, int], limit: int, tolerance: float) -> int | None:
    """The first position where the row differs."""
    left = torch.cat([call[rows[0]] for call in one])[:limit]
    right = torch.cat([call[rows[1]] for call in other])[: left.shape[0]]
    left = left[: right.shape[0]]
    allowed = tolerance * max(1.0, float(left.abs().max()), float(right.abs().max()))
    apart = (difference(left, right).flatten(1).amax(-1) > allowed).nonzero()
    return int(apart[0]) if apart.numel() else None


def _first_tensor(values: Any) -> Tensor | None:
    """A module's tensor, or the first of several; packed sequences have no positions."""
    if isinstance(values, tuple) and values and not isinstance(values, PackedSequence):
        values = values[0]
    return values if isinstance(values, Tensor) and values.dim() in (2, 3) else None


def _with_positions(x: Tensor) -> Tensor:
    """(rows, position, ...): vectors of a recurrent cell get a position, ids a last axis."""
    if x.dim() == 2 and x.is_floating_point():
        return x[:, None]
    return x[..., None] if x.dim() == 2 else x
