"""A calculation step by step, as data: values with their equations, inputs and code; and parts of it to show.

Whoever makes a trace calls the functions that do the work and notes their values; whoever shows one (terminal, JSON, a
page) needs nothing else.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from openwork.base.errors import UsageError

SCHEMA = 1  # of `to_json`; a change that readers must know of raises it

Verdict = Literal["equal", "rounding", "wrong"]
GRID = ("row", "column")  # the last axes of numbers that belong to the patches of a picture
_LAYER = re.compile(r"\.layers\.(\d+)\.")


# Records with arrays are compared by identity: == of arrays gives an array.
# The source documents, by the numbers under which traces name them: 002, or 002, 2.1 with a section.
TITLES = {
    "000": "Transformer 模型",
    "001": "转换器(Transformer)详解",
    "002": "Transformer 模型全景分析报告",
    "003": "注意力机制:Transformer模型与自然语言处理",
    "004": "Transformer",
}


def title_of(document: str) -> str:
    """The title of a source document, with the section if one is named; any other name as it is."""
    number, comma, section = document.partition(",")
    return f"{TITLES.get(number, number)}{comma}{section}"


@dataclass(frozen=True, eq=False)
class Printed:
    """What a document prints for a step's value, and whether it is right; the reason where it is not."""

    document: str
    value: np.ndarray
    verdict: Verdict
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "value": _plain(self.value.tolist())}


@dataclass(frozen=True)
class Statement:
    """A document's sentence about a step's value, whether it is true of the value, and what was found."""

    document: str
    sentence: str
    holds: bool
    found: str


@dataclass(frozen=True, eq=False, repr=False)
class Step:
    """One value and where it comes from.

    Args:
        name: unique in its trace, with dots: "encoder.layers.0.self_attention.scores".
        title: what is done, a sentence; its other languages are in the catalogue.
        equation: as text, "softmax(Q K^T / sqrt(d_k))".
        value: what came out, float64 or integers.
        axes: a name for each axis of the value, in the terms of `nn/shapes.py`.
        inputs: names of the steps whose values went in.
        code: the qualified name of the function or module that made the value; empty for what is given.
        source: who says so: "Vaswani et al. 2017, equation 1".
        labels: axis -> what stands at each of its places, such as pieces of text.
        printed: the documents' own figures for this value.
        parameters: names of the model's weights that went in as well: "encoder.layers.0.self_attention.query.weight";
            running statistics are among them.
        said: what the documents say of this value without figures.
    """

    name: str
    title: str
    equation: str
    value: np.ndarray
    axes: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    code: str = ""
    source: str = ""
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    printed: tuple[Printed, ...] = ()
    parameters: tuple[str, ...] = ()
    said: tuple[Statement, ...] = ()

    def __post_init__(self) -> None:
        if self.value.ndim != len(self.axes):
            raise ValueError(f"{self.name}: {self.value.ndim} axes in the value, {len(self.axes)} names")

    def __repr__(self) -> str:
        return f"Step({self.name!r}, {', '.join(map('{} {}'.format, self.axes, self.value.shape)) or self.value})"

    def to_json(self) -> dict[str, Any]:
        """Plain values; minus infinity, which JSON does not know, is the text "-inf"."""
        return {
            "name": self.name,
            "title": self.title,
            "equation": self.equation,
            "source": self.source,
            "code": self.code,
            "inputs": list(self.inputs),
            "parameters": list(self.parameters),
            "axes": list(self.axes),
            "shape": list(self.value.shape),
            "labels": {axis: list(labels) for axis, labels in self.labels.items()},
            "value": _plain(self.value.tolist()),
            "printed": [one.to_json() for one in self.printed],
            "said": [asdict(one) for one in self.said],
        }


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """Steps in the order of calculation; `assumptions`: choices that a document leaves open.

    `picture`: the pixels (height, width, channels) of a picture that was read, over which steps are laid.
    """

    name: str
    title: str
    steps: tuple[Step, ...]
    assumptions: tuple[str, ...] = ()
    picture: np.ndarray | None = None

    def __repr__(self) -> str:
        return f"Trace({self.name!r}, {len(self.steps)} steps)"

    def step(self, name: str) -> Step:
        """The step of that name; KeyError if there is none."""
        return {step.name: step for step in self.steps}[name]

    def to_json(self) -> dict[str, Any]:
        """Plain values, with the version of their form."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "title": self.title,
            "assumptions": list(self.assumptions),
            "steps": [step.to_json() for step in self.steps],
        }


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


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
    """The selected steps; `inner` are the names of those inside sub-layers.

    A step whose input is left out names the inputs of that instead. UsageError: no such layer or head.
    """
    layer, head = selection.layer, selection.head
    layers = 1 + max((_layer(step) for step in steps), default=-1)
    heads = max((step.value.shape[step.axes.index("head")] for step in steps if "head" in step.axes), default=0)
    check_layer(layer, layers)
    check_head(head, heads)
    if layer is not None:
        kept = {step.name for step in steps if _layer(step) in (-1, layer)}
    else:
        kept = {step.name for step in steps if selection.every or step.name not in inner}
    chosen = bridged(steps, kept)
    return tuple(chosen if head is None else (_only_head(step, head, heads) for step in chosen))


def check_layer(layer: int | None, layers: int) -> None:
    """UsageError for a layer, counted from 0, that is not among so many; None is any."""
    if layer is not None and not 0 <= layer < layers:
        raise UsageError(
            f"there is no layer {layer}", hint=f"layers are counted from 0; the last one is {layers - 1}", code="U034"
        )


def check_head(head: int | None, heads: int) -> None:
    """The same of heads."""
    if head is not None and not 0 <= head < heads:
        raise UsageError(
            f"there is no head {head}", hint=f"heads are counted from 0; the last one is {heads - 1}", code="U035"
        )


def bridged(steps: Sequence[Step], kept: Collection[str]) -> list[Step]:
    """The steps of these names; an input that is left out is replaced by its own inputs."""
    made_from = {step.name: step.inputs for step in steps}
    return [replace(step, inputs=_bridge(step.inputs, made_from, kept)) for step in steps if step.name in kept]


def _layer(step: Step) -> int:
    found = _LAYER.search(step.name)
    return int(found[1]) if found else -1


def _bridge(inputs: Sequence[str], made_from: dict[str, tuple[str, ...]], kept: Collection[str]) -> tuple[str, ...]:
    """The nearest steps before that are kept, each once."""
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
