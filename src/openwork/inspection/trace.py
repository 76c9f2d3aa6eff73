"""A calculation step by step: what an explanation shows, whatever was calculated, and by which code.

A trace is data. Those who make one call the functions that really do the work and note what these gave; those who show
one (terminal, JSON, a page) need nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

SCHEMA = 1  # of `to_json`; a change that readers must know of raises it

Verdict = Literal["equal", "rounding", "wrong"]


# Records that hold arrays are compared by identity: == of arrays gives an array, and whether a dataclass asks for it
# differs between versions of Python.


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
        """Plain values."""
        return {
            "document": self.document,
            "value": _plain(self.value.tolist()),
            "verdict": self.verdict,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Statement:
    """What a document says of a step's value in words, whether the value bears it out, and what was found."""

    document: str
    sentence: str
    holds: bool
    found: str

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"document": self.document, "sentence": self.sentence, "holds": self.holds, "found": self.found}


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
            "said": [one.to_json() for one in self.said],
        }


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """Steps in the order of calculation; `assumptions` says what was settled where a document leaves it open."""

    name: str
    title: str
    steps: tuple[Step, ...]
    assumptions: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Trace({self.name!r}, {len(self.steps)} steps)"

    def step(self, name: str) -> Step:
        """The step of that name; KeyError if there is none."""
        for step in self.steps:
            if step.name == name:
                return step
        raise KeyError(name)

    def to_json(self) -> dict[str, Any]:
        """Plain values, with the version of their form."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "title": self.title,
            "assumptions": list(self.assumptions),
            "steps": [step.to_json() for step in self.steps],
        }

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> "Trace":
        """What `to_json` gave, or what a program made of its JSON text. ValueError: another version of the form."""
        if values["schema"] != SCHEMA:
            raise ValueError(f"a trace of version {values['schema']}, not {SCHEMA}")
        steps = tuple(map(_step, values["steps"]))
        return Trace(values["name"], values["title"], steps, tuple(values["assumptions"]))


def _step(values: Mapping[str, Any]) -> Step:
    return Step(
        name=values["name"],
        title=values["title"],
        equation=values["equation"],
        value=_array(values["value"]).reshape(values["shape"]),
        axes=tuple(values["axes"]),
        inputs=tuple(values["inputs"]),
        code=values["code"],
        source=values["source"],
        labels={axis: tuple(labels) for axis, labels in values["labels"].items()},
        printed=tuple(
            Printed(one["document"], _array(one["value"]), one["verdict"], one["reason"]) for one in values["printed"]
        ),
        parameters=tuple(values["parameters"]),
        said=tuple(Statement(**one) for one in values.get("said", ())),
    )


def _array(value: Any) -> np.ndarray:
    return np.array(_numbers(value))


def _numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_numbers(one) for one in value]
    return float(value) if isinstance(value, str) else value


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value
