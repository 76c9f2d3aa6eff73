"""Matrices of a graph in eight bits, where they are whole multiples of scales: those of a bundle in int8.

Whoever loads the graph computes them once, and then in float32 as before; the file is a quarter.
"""

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

EIGHT = 127  # the largest whole number
LEAST = 1024  # numbers that are worth two more operations
OFF = 1e-3  # from a whole number, by rounding


def keep_in_eight_bits(graph: ir.Graph) -> None:
    """Replaces each such matrix by whole numbers and scales, and their product."""
    for name, value in list(graph.initializers.items()):
        tensor = value.const_value
        assert tensor is not None
        if value.dtype != ir.DataType.FLOAT or len(tensor.shape) != 2 or tensor.size < LEAST:
            continue
        found = _whole(tensor.numpy())
        if found is None:
            continue
        del graph.initializers[name]
        parts = [
            _initializer(graph, f"{name}.{kind}", part) for kind, part in zip(("int8", "scale"), found, strict=True)
        ]
        cast = ir.node("Cast", parts[:1], attributes={"to": ir.DataType.FLOAT}, name=f"{name}.cast")
        product = ir.node("Mul", [cast.outputs[0], parts[1]], name=f"{name}.product")
        cast.outputs[0].name, product.outputs[0].name = f"{name}.whole", f"{name}.float"
        value.replace_all_uses_with(product.outputs[0])
        graph.insert_before(graph[0], (cast, product))


def _whole(weight: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]] | None:
    """Whole numbers and the scales of rows or of columns; None where there are none."""
    for axis in (1, 0):
        largest = np.abs(weight).max(axis=axis, keepdims=True)
        scale = np.where(largest > 0, largest / EIGHT, 1.0).astype(np.float32)
        numbers = weight / scale
        rounded = np.round(numbers)
        if np.abs(numbers - rounded).max() < OFF:
            return rounded.astype(np.int8), scale
    return None


def _initializer(graph: ir.Graph, name: str, content: NDArray[np.generic]) -> ir.Value:
    value = ir.Value(name=name, const_value=ir.tensor(content, name=name))
    graph.register_initializer(value)
    return value
