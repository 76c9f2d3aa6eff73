"""Where two computations of the same numbers part: the first module whose input is still alike and whose output is not.

Modules are watched from outside, by hooks that are gone afterwards; nothing is stored on them.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

SOURCE, TARGET = "source", "target"

Key = tuple[str, str, torch.Size, torch.Size]
"""Side and name of a module, and the axes behind the positions before and after it: a dropout may serve two widths."""


@dataclass
class Calls:
    """What went into a module and what came out, over all its calls: (rows, position, ...)."""

    before: list[Tensor] = field(default_factory=list)
    after: list[Tensor] = field(default_factory=list)


@dataclass
class Record:
    """The calls of every module in the order in which they first ended, those over the source and the target apart.

    Whoever computes sets `side`, since the two may share a module, such as an embedding.
    """

    side: str = SOURCE
    calls: dict[Key, Calls] = field(default_factory=dict)

    def note(self, name: str, before: Tensor | None, after: Tensor | None) -> None:
        """Adds one call, if it has tensors on both sides."""
        if before is not None and after is not None:
            before, after = _with_positions(before.detach()), _with_positions(after.detach())
            calls = self.calls.setdefault((self.side, name, before.shape[2:], after.shape[2:]), Calls())
            calls.before.append(before)
            calls.after.append(after)


@dataclass(frozen=True)
class DivergencePlace:
    """A module and the position, counted from 0 on the source's or target's side, at which it is the first to part."""

    module: str
    side: str
    position: int


@contextmanager
def watching(model: nn.Module) -> Iterator[Record]:
    """While the block runs, the record that is given notes every call of a part of the model."""
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
    """The first module of which the outputs part though the inputs do not; None if there is none.

    `rows`: which row of each record is compared; `limits`: how many positions of each side. Two tensors part where
    they differ by more than `tolerance` times their largest number (at least 1).
    """
    for key, calls in one.calls.items():
        theirs, (side, name, *_) = other.calls.get(key), key
        if theirs is None:
            continue
        position = _parting(calls.after, theirs.after, rows, limits[side], tolerance)
        if position is not None and _parting(calls.before, theirs.before, rows, limits[side], tolerance) is None:
            return DivergencePlace(name, side, position)
    return None


def first_endless(record: Record) -> DivergencePlace | None:
    """The first module that gives something that is no finite number."""
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
    """(rows, position, ...): a cell's vectors, of one step each, get the axis that they lack; ids have theirs."""
    if x.dim() == 2 and x.is_floating_point():
        return x[:, None]
    return x[..., None] if x.dim() == 2 else x
