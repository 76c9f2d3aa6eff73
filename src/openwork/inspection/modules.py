"""The modules of a model with the shapes of their weights, alike layers in one line."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from torch import nn

_LAYER = re.compile(r"\.(\d+)\.")


@dataclass(frozen=True)
class Module:
    """Modules that are alike. `name` has a range where layers differ in their number alone, such as layers.0-5.

    `also` are other names of the same weights, where some are shared.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...]
    copies: int
    weights: int
    also: tuple[str, ...] = ()


def list_modules(model: nn.Module) -> list[Module]:
    """In the order in which the model holds them; their weights add up to the model's."""
    names: dict[int, list[str]] = {}
    for name, weight in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(weight), []).append(name)
    modules: dict[str, list[tuple[tuple[int, ...], tuple[str, ...]]]] = {}
    for name, weight in model.named_parameters():
        also = tuple(_owner(other) for other in names[id(weight)][1:])
        modules.setdefault(_owner(name), []).append((tuple(weight.shape), also))
    alike: dict[tuple[str, tuple[tuple[int, ...], ...], tuple[str, ...]], list[str]] = {}
    for name, weights in modules.items():
        shapes = tuple(shape for shape, _ in weights)
        shared = tuple(other for _, also in weights for other in also)
        alike.setdefault((_LAYER.sub(".*.", name), shapes, shared), []).append(name)
    return [
        Module(_range(group), shapes, len(group), len(group) * sum(map(math.prod, shapes)), also)
        for (_, shapes, also), group in alike.items()
    ]


def module_lines(modules: Iterable[Module]) -> list[str]:
    """A table: name, shapes, copies, weights of all copies."""
    rows = [
        (
            module.name, " + ".join(" x ".join(map(str, shape)) for shape in module.shapes),
            f"x {module.copies}", f"{module.weights:,}",
        )
        for module in modules
    ]  # fmt: skip
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = []
    for module, row in zip(modules, rows, strict=True):
        cells = [*(cell.ljust(width) for cell, width in zip(row[:3], widths, strict=False)), row[3].rjust(widths[3])]
        shared = f" = {' = '.join(module.also)}" if module.also else ""
        lines.append("  ".join(("", *cells, shared)).rstrip())
    return lines


def _owner(weight: str) -> str:
    """The module of a weight: encoder.layers.0.feedforward.expand of encoder.layers.0.feedforward.expand.bias."""
    return weight.removesuffix(".weight").removesuffix(".bias")


def _range(names: list[str]) -> str:
    found = [match for name in names if (match := _LAYER.search(name))]
    if len(found) < 2:
        return names[0]
    numbers = [int(match[1]) for match in found]
    return _LAYER.sub(f".{numbers[0]}-{numbers[-1]}.", names[0], count=1)
