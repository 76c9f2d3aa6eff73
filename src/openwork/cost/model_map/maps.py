"""The map of a model: its boxes with their weights and operations, and all maps of a page as plain JSON."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from openwork.cost.cost import LENGTH
from openwork.cost.model_map.boxes import PlacedBox, boxes_of
from openwork.cost.model_map.meanings import Meaning, meaning_of
from openwork.cost.model_map.passing import ModulePass, passed
from openwork.cost.part import SentenceLengths
from openwork.inspection.code_lines import CodeLines, code_lines
from openwork.models.families import ModelSettings
from openwork.models.interfaces import count_weights
from openwork.nn.attention import MultiHeadAttention

SCHEMA = 1  # of `MapPages.content`; a change that readers must know of raises it
_LAYER = re.compile(r"\.\d+(?=\.|$)")


@dataclass(frozen=True)
class HeldWeight:
    """Weights of one shape in so many layers; `counted_at` is the slot of the box that counts them, where shared."""

    name: str
    shape: tuple[int, ...]
    copies: int
    counted_at: str | None = None

    @property
    def count(self) -> int:
        return 0 if self.counted_at is not None else self.copies * math.prod(self.shape)


@dataclass(frozen=True)
class MapBox:
    """A box with its numbers, over all layers that it repeats in.

    Attributes:
        module: the name of the module, with * for the number of the layer.
        kind: the name of its class.
        weights: the weights that are in it.
        operations: floating-point operations of its products, for one sentence pair.
        shape: what it gives, (position, width); empty where that is no array.
        heads: number of heads, and widths of keys and of values.
    """

    placed: PlacedBox
    meaning: Meaning
    module: str
    kind: str
    weights: tuple[HeldWeight, ...]
    operations: int
    shape: tuple[int, ...]
    heads: tuple[int, int, int] | None

    @property
    def count(self) -> int:
        """The number of its weights, without those that another box counts."""
        return sum(weight.count for weight in self.weights)


@dataclass(frozen=True)
class ModelMap:
    """A model as boxes. Their weights and operations add up to the model's.

    `sizes`: entries of the vocabularies, or features of a source of numbers. `lengths`: those of the sentence pair.
    """

    name: str
    settings: ModelSettings
    sizes: tuple[int, int]
    lengths: SentenceLengths
    boxes: tuple[MapBox, ...]

    @property
    def weights(self) -> int:
        return sum(box.count for box in self.boxes)

    @property
    def operations(self) -> int:
        return sum(box.operations for box in self.boxes)


def map_of(name: str, settings: ModelSettings, sizes: tuple[int, int], length: int = LENGTH) -> ModelMap:
    """The map of a model of these sizes of source and target, for a sentence pair of so many tokens on each side.

    No weights are read: those of the model are never written.

    Raises:
        LookupError: a weight or an operation of the model is in none of the boxes.
    """
    found = passed(settings, sizes, SentenceLengths(length, length))
    placed = boxes_of(found.model)
    weights = _weights(found.model, placed)
    boxes = tuple(_box(found, box, weights[box.slot]) for box in placed)
    made = ModelMap(name, settings, sizes, found.lengths, boxes)
    if made.weights != count_weights(found.model) or made.operations != sum(found.operations.values()):
        raise LookupError(f"{name}: its boxes do not hold all of its weights and operations")
    return made


def _box(found: ModulePass, box: PlacedBox, weights: tuple[HeldWeight, ...]) -> MapBox:
    modules = [module for one in box.copies for module in _inside(found.model, one)]
    names = box.copies[0] if box.copies else ()
    first = found.model.get_submodule(names[0]) if names else found.model
    heads = first.heads if isinstance(first, MultiHeadAttention) else None
    return MapBox(
        box,
        meaning_of(found.model, box),
        _LAYER.sub(".*", names[0]) if names else "",
        type(first).__name__,
        weights,
        sum(found.operations[module] for module in dict.fromkeys(modules)),
        _shape(found, box, names),
        None if heads is None else (heads.count, heads.width, heads.value_width),
    )


def _inside(model: nn.Module, names: Iterable[str]) -> Iterable[nn.Module]:
    for name in names:
        yield from model.get_submodule(name).modules() if name else (model,)


def _shape(found: ModulePass, box: PlacedBox, names: tuple[str, ...]) -> tuple[int, ...]:
    """What the first layer's box gives; of a connection, which is no call of a module, its last part that is one."""
    if not names:  # the softmax keeps the shape of the logits
        return found.shapes[found.model]
    own = found.shapes.get(found.model.get_submodule(names[0]))
    given = [found.shapes[module] for module in _inside(found.model, names) if module in found.shapes]
    return own or (given[-1] if given else ())


def _weights(model: nn.Module, boxes: Iterable[PlacedBox]) -> dict[str, tuple[HeldWeight, ...]]:
    """The weights of each box by its slot; a shared one is counted at the first box that has it."""
    counted: dict[int, str] = {}
    found: dict[str, tuple[HeldWeight, ...]] = {}
    for box in boxes:
        rows: Counter[tuple[str, tuple[int, ...], str | None]] = Counter()
        own: set[int] = set()
        for names in box.copies:
            for name in names:
                module = model.get_submodule(name)
                prefix = f"{name.rpartition('.')[2]}." if len(names) > 1 else ""
                for key, weight in module.named_parameters(recurse=bool(name)):
                    at = counted.setdefault(id(weight), box.slot)
                    shared = None if at == box.slot and id(weight) not in own else at
                    own.add(id(weight))
                    rows[f"{prefix}{key}", tuple(weight.shape), shared] += 1
        found[box.slot] = tuple(HeldWeight(name, shape, copies, at) for (name, shape, at), copies in rows.items())
    return found


class MapPages:
    """Several maps as plain JSON; what several boxes have, formulas and source lines, is there once."""

    def __init__(self) -> None:
        self.code: list[CodeLines] = []
        self.meanings: list[tuple[str, Meaning]] = []

    def content(self, maps: Iterable[ModelMap], family: Mapping[str, str]) -> dict[str, Any]:
        """The content of the page's screen. Boxes name their meaning by its number, and that its source lines.

        Args:
            maps: the first one is shown first.
            family: the presets that a reader may choose from, with what they are called.
        """
        return {
            "schema": SCHEMA,
            "family": dict(family),
            "maps": [self._map(one) for one in maps],
            "meanings": [self._meaning(kind, one) for kind, one in self.meanings],
            "code": [one.to_json() for one in self.code],
        }

    def _map(self, one: ModelMap) -> dict[str, Any]:
        return {
            "name": one.name,
            "settings": one.settings.model_dump(mode="json", exclude_none=True),
            "sizes": list(one.sizes),
            "lengths": [int(one.lengths.source), int(one.lengths.target)],
            "boxes": [self._box(box) for box in one.boxes],
        }

    def _box(self, box: MapBox) -> dict[str, Any]:
        placed = box.placed
        return {
            "slot": placed.slot,
            "role": placed.role,
            "side": placed.side,
            **({"stack": placed.stack, "copies": len(placed.copies)} if placed.stack else {}),
            "module": box.module,
            "weights": [
                [one.name, list(one.shape), one.copies, *([one.counted_at] if one.counted_at else [])]
                for one in box.weights
            ],
            "operations": box.operations,
            "shape": list(box.shape),
            **({"heads": list(box.heads)} if box.heads else {}),
            "meaning": _number((box.kind, box.meaning), self.meanings),
        }

    def _meaning(self, kind: str, one: Meaning) -> dict[str, Any]:
        code = [_number(code_lines(made), self.code) for made in one.code]
        return {
            "kind": kind,
            "formulas": list(one.formulas),
            "source": one.source,
            "exhibits": list(one.exhibits),
            "code": code,
        }


def _number(one: Any, known: list[Any]) -> int:
    if one not in known:
        known.append(one)
    return known.index(one)
