"""The graph of a whole search: the encoder, and a loop whose body is a step of the decoder and of the beam.

torch makes a graph of each of the two modules of `search.py`. Here they become one: weights that both have are held
once, what is the same in all steps is seen by the body from outside, and the rest goes from step to step.
"""

import copy
import hashlib
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import onnx_ir as ir
import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.settings import DecodingSettings
from openwork.interop.onnx.eight_bits import keep_in_eight_bits
from openwork.interop.onnx.search import Carried, Found, SearchStart, SearchStep
from openwork.models.seq2seq import Transformer
from openwork.nn.attention import KernelAttention
from openwork.nn.kernels import reference
from openwork.nn.positions import SinusoidTable

EXAMPLE = (3, 7)  # sentences and positions of the source that the modules are traced with; all may change
EXAMPLE_POSITIONS = 4  # of the target
ANY = torch.export.Dim.DYNAMIC
OUTPUTS = ("tokens", "scores")


def search_graph(model: Transformer, settings: DecodingSettings, positions: int) -> ir.Model:
    """From `source` (batch, position) and `source_lengths` (batch) to `tokens` (batch, best, position) and `scores`
    (batch, best).

    Sources and targets of up to `positions` tokens have positions.
    """
    plain = _plain(model, positions)
    source = torch.full(EXAMPLE, SYMBOL_IDS.end)
    lengths = torch.arange(EXAMPLE[1], EXAMPLE[1] - EXAMPLE[0], -1)
    start, step = SearchStart(plain, settings).eval(), SearchStep(plain, settings).eval()
    with torch.no_grad(), _quiet():
        _, carried, constant = start(source, lengths)
        outer = _exported(start, (source, lengths), ({0: ANY, 1: ANY}, {0: ANY}))
        example = (_longer(carried), constant)
        body = _exported(step, example, pytree.tree_map(_rows_and_positions, example))
    return _joined(outer, body, carried, settings)


def _plain(model: Transformer, positions: int) -> Transformer:
    """A copy that computes attention by its formula, with tables of so many positions: kernels choose by sizes, and a
    graph cannot."""
    plain = copy.deepcopy(model).eval()
    for module in plain.modules():
        if isinstance(module, KernelAttention):
            module.kernel = reference.attention
        if isinstance(module, SinusoidTable):
            module.table = module.made(positions)
    return plain


def _longer(carried: Carried) -> Carried:
    """As after some steps: an axis of length 0 or 1 would be taken for one that never grows."""

    def grown(x: Tensor, axis: int, size: int) -> Tensor:
        shape = list(x.shape)
        shape[axis] = size
        return x.new_ones(shape)

    found = carried.found._replace(tokens=grown(carried.found.tokens, 2, EXAMPLE_POSITIONS))
    return carried._replace(
        tokens=grown(carried.tokens, 2, EXAMPLE_POSITIONS + 1),
        totals=torch.zeros_like(carried.totals),
        found=found,
        past=[grown(part, 2, EXAMPLE_POSITIONS) for part in carried.past],
    )


def _exported(module: nn.Module, example: tuple[Any, ...], axes: Any) -> ir.Model:
    """The module's graph. `axes`: for each tensor of the example, those of any size."""
    made = torch.onnx.export(module, example, dynamo=True, dynamic_shapes=axes, verbose=False)
    assert made is not None
    model = made.model
    model.graph.metadata_props.clear()
    for node in model.graph:
        node.metadata_props.clear()  # lines of the code, with paths of this machine
    for value in (*model.graph.inputs, *model.graph.outputs, *model.graph.initializers.values()):
        value.metadata_props.clear()
    return model


def _rows_and_positions(x: Tensor) -> dict[int, Any]:
    """The axes of what a step is given that may have any size."""
    return {0: ANY, 2: ANY} if x.ndim > 2 else {0: ANY}


def _joined(outer: ir.Model, body: ir.Model, carried: Carried, settings: DecodingSettings) -> ir.Model:
    """`outer`, whose outputs go into a loop with this body: first whether it begins, then what is carried from step to
    step, then what stays the same. `carried`: an example of it."""
    structure = pytree.tree_structure(carried)
    count = structure.num_leaves
    graph, inside = outer.graph, body.graph
    for value, shape in zip(graph.inputs, (["batch", "position"], ["batch"]), strict=True):
        value.shape = ir.Shape(shape)
    goes_on, *rest = graph.outputs
    first, constant = rest[:count], rest[count:]
    _share_weights(graph, inside)
    _rename(inside)
    kept, seen = list(inside.inputs)[:count], list(inside.inputs)[count:]
    for inner, value in zip(seen, constant, strict=True):
        inner.replace_all_uses_with(value)
    number = ir.val("step.number", dtype=ir.DataType.INT64, shape=[])
    before = ir.val("step.goes_on", dtype=ir.DataType.BOOL, shape=[])
    inside.inputs[:] = [number, before, *kept]
    for value in (*kept, *inside.outputs):
        value.shape = None  # what a loop carries may grow
    last = [ir.Value(name=f"last.{place}") for place in range(count)]
    graph.append(ir.node("Loop", [None, goes_on, *first], attributes={"body": inside}, outputs=last))
    found: Found = pytree.tree_unflatten(last, structure).found
    graph.outputs[:] = _best(graph, found, settings.best)
    keep_in_eight_bits(graph)
    return outer


def _best(graph: ir.Graph, found: Found, best: int) -> list[ir.Value]:
    """The outputs of the graph: the first few of the hypotheses that the search knows."""
    numbers = ir.Value(name="best", const_value=ir.tensor(list(range(best)), dtype=ir.DataType.INT64, name="best"))
    graph.register_initializer(numbers)
    shapes = (["batch", best, "length"], ["batch", best])
    types = (ir.DataType.INT64, ir.DataType.FLOAT)
    outputs = [
        ir.Value(name=name, shape=ir.Shape(shape), type=ir.TensorType(kind))
        for name, shape, kind in zip(OUTPUTS, shapes, types, strict=True)
    ]
    values: tuple[Any, ...] = (found.tokens, found.scores)
    for value, output in zip(values, outputs, strict=True):
        graph.append(ir.node("Gather", [value, numbers], attributes={"axis": 1}, outputs=[output]))
    return outputs


def _share_weights(graph: ir.Graph, inside: ir.Graph) -> None:
    """The body's weights become the graph's; those that both have are held once."""
    known = {_content(value): value for value in graph.initializers.values()}
    for name, value in list(inside.initializers.items()):
        held = known.get(_content(value))
        del inside.initializers[name]
        if held is None:
            value.name = f"step.{name}"
            graph.register_initializer(value)
        else:
            value.replace_all_uses_with(held)


def _content(value: ir.Value) -> tuple[Any, ...]:
    tensor = value.const_value
    assert tensor is not None
    return str(tensor.dtype), tuple(tensor.shape), hashlib.sha256(tensor.tobytes()).hexdigest()


def _rename(graph: ir.Graph) -> None:
    """Names of their own for all values: what a body names may not be named outside."""
    for value in graph.inputs:
        value.name = f"step.{value.name}"
    for node in graph:
        node.name = f"step.{node.name}"
        for value in node.outputs:
            value.name = f"step.{value.name}"


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what the exporter says about packages that are not there, and about its own insides."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
