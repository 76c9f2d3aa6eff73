"""Parts of a trace: the overview, one layer, one head. What is left out is bridged, so that no input is unknown."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from openwork.base.errors import UsageError
from openwork.inspection.trace import Step

_LAYER = re.compile(r"\.layers\.(\d+)\.")


@dataclass(frozen=True)
class Selection:
    """What to show of a model's trace.

    Args:
        layer: all steps of this layer of encoder and decoder, counted from 0, and none of other layers.
        head: of values that have heads, this one alone, counted from 0.
        every: all steps of all layers. Without this and `layer`: what each sub-layer gives, and attention weights.
    """

    layer: int | None = None
    head: int | None = None
    every: bool = False


def select(steps: Sequence[Step], inner: Collection[str], selection: Selection) -> tuple[Step, ...]:
    """The steps that are asked for; `inner` are the names of those inside sub-layers.

    A step whose input is left out names what that was made from instead. UsageError: no such layer or head.
    """
    _check("layer", selection.layer, 1 + max((_layer(step) for step in steps), default=-1))
    heads = max((_heads(step) for step in steps), default=0)
    _check("head", selection.head, heads)
    chosen = bridged(steps, {step.name for step in steps if _is_chosen(step, inner, selection)})
    head = selection.head
    return tuple(chosen if head is None else (_only_head(step, head, heads) for step in chosen))


def bridged(steps: Sequence[Step], kept: Collection[str]) -> list[Step]:
    """The steps of these names; where an input of theirs is left out, what that was made from stands instead."""
    made_from = {step.name: step.inputs for step in steps}
    return [replace(step, inputs=_bridge(step.inputs, made_from, kept)) for step in steps if step.name in kept]


def _check(what: str, number: int | None, count: int) -> None:
    if number is None or 0 <= number < count:
        return
    if what == "layer":
        raise UsageError(
            f"there is no layer {number}", hint=f"layers are counted from 0; the last one is {count - 1}", code="U034"
        )
    raise UsageError(
        f"there is no head {number}", hint=f"heads are counted from 0; the last one is {count - 1}", code="U035"
    )


def _layer(step: Step) -> int:
    found = _LAYER.search(step.name)
    return int(found[1]) if found else -1


def _heads(step: Step) -> int:
    return step.value.shape[step.axes.index("head")] if "head" in step.axes else 0


def _is_chosen(step: Step, inner: Collection[str], selection: Selection) -> bool:
    if selection.every:
        return selection.layer is None or _layer(step) in (-1, selection.layer)
    if selection.layer is None:
        return step.name not in inner
    return _layer(step) in (-1, selection.layer)


def _bridge(inputs: Sequence[str], made_from: dict[str, tuple[str, ...]], kept: Collection[str]) -> tuple[str, ...]:
    """The nearest steps before that are there, each once."""
    found: list[str] = []
    waiting, seen = list(inputs), set[str]()
    while waiting:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        if name in kept:
            found.append(name)
        else:
            waiting[:0] = made_from.get(name, ())
    return tuple(found)


def _only_head(step: Step, head: int, heads: int) -> Step:
    """Where heads share keys and values, those of this head's group."""
    if "head" not in step.axes:
        return step
    axis = step.axes.index("head")
    own = head * step.value.shape[axis] // heads
    return replace(step, value=step.value.take([own], axis), labels={**step.labels, "head": (str(own),)})
