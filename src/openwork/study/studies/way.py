"""How many matrix products lie on the way from an input to an output, read from the graph that autograd keeps."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

PRODUCTS = ("MmBackward", "AddmmBackward", "BmmBackward", "ConvolutionBackward")


def serial_products(output: Tensor, inputs: Sequence[Tensor]) -> int:
    """Products on the longest way from any of the inputs: they must be done one after the other on any machine."""
    return _products(output, inputs, max)


def shortest_way(output: Tensor, one: Tensor) -> int:
    """Products on the shortest way from one input: how far the gradient has to travel."""
    return _products(output, [one], min)


def _products(output: Tensor, leaves: Sequence[Tensor], choose: Callable[[list[int]], int]) -> int:
    """Depth first, without recursion, as a way may be thousands of nodes long. ValueError: there is no way."""
    ends = {id(leaf) for leaf in leaves}
    found: dict[Any, int | None] = {}
    waiting: list[Any] = [output.grad_fn]
    while waiting:
        node = waiting[-1]
        below = [further for further, _ in node.next_functions if further is not None]
        ahead = [further for further in below if further not in found]
        if ahead:
            waiting += ahead
            continue
        waiting.pop()
        counts = [count for further in below if (count := found[further]) is not None]
        if id(getattr(node, "variable", None)) in ends:
            found[node] = 0
        else:
            found[node] = choose(counts) + node.name().startswith(PRODUCTS) if counts else None
    whole = found[output.grad_fn]
    if whole is None:
        raise ValueError("the output does not depend on this input")
    return whole
