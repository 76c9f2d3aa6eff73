"""Table 1 of the paper, measured: operations, serial steps and path length of three types of layer, and their time.

Operations are those that torch counts, serial steps and path lengths the matrix products on the longest and on the
shortest way through the graph of the calculation, so all three come from layers that run. Convolutions see the last
`kernel` positions; their path is the number of layers until the last position depends on the first. The table's fourth
row, attention restricted to a neighbourhood, has no layer here.
"""

import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from openwork.inspection.plots import Chart, Figures, Series
from openwork.nn.convolution import CausalConvolution
from openwork.nn.kernels import fused, reference
from openwork.nn.masks import EVERYTHING
from openwork.study.studies.recurrence import PlainSelfAttention, recurrent_layer
from openwork.study.studies.study import Claim, Result, Variant
from openwork.study.studies.table import LayerStudySettings

ATTENTION = Variant("self_attention", "self-attention")
RECURRENT = Variant("recurrent", "recurrent")
CONVOLUTION = Variant("convolutional", "convolutional")
DILATED = Variant("dilated", "dilated")
KINDS = (ATTENTION, RECURRENT, CONVOLUTION, DILATED)


class PaperRow(NamedTuple):
    """What table 1 states of a type of layer; `products` is its complexity as a number, of n, d and k."""

    complexity: str
    serial: str
    path: str
    products: Callable[[int, int, int], int]


TABLE_1 = {
    ATTENTION.key: PaperRow("O(n^2 d)", "O(1)", "O(1)", lambda n, d, k: n * n * d),
    RECURRENT.key: PaperRow("O(n d^2)", "O(n)", "O(n)", lambda n, d, k: n * d * d),
    # section 4: O(n/k) layers of contiguous kernels, O(log_k(n)) of dilated ones, which is what the table has
    CONVOLUTION.key: PaperRow("O(k n d^2)", "O(1)", "O(n/k)", lambda n, d, k: k * n * d * d),
    DILATED.key: PaperRow("O(k n d^2)", "O(1)", "O(log_k(n))", lambda n, d, k: k * n * d * d),
}


def linear_of_ones(inputs: int, outputs: int) -> nn.Linear:
    """The product of a convolution that adds up its window."""
    layer = nn.Linear(inputs, outputs, bias=False)
    nn.init.ones_(layer.weight)
    return layer


def layers_until_reached(length: int, kernel: int, *, dilated: bool) -> int:
    """Convolutions, one on the other, until the last of `length` positions depends on the first.

    An impulse at the first position is sent through layers of ones; dilated ones are `kernel` times as far apart as the
    layer before.
    """
    x = torch.zeros(1, length, 1, dtype=torch.float64)
    x[0, 0] = 1
    layers = 0
    while not x[0, -1]:
        layer = CausalConvolution(1, 1, kernel, kernel**layers if dilated else 1, linear=linear_of_ones).double()
        with torch.no_grad():
            x = (layer(x)[0] > 0).double()
        layers += 1
    return layers


@dataclass(frozen=True)
class Measured:
    """One layer at one length: floating-point operations, serial steps, path length, seconds."""

    length: int
    operations: int
    serial: int
    path: int
    seconds: float


@dataclass(frozen=True)
class LayerData:
    """What was measured of each type of layer; self-attention's operations are those of equation 1, as in the table."""

    width: int
    kernel: int
    layers: dict[str, tuple[Measured, ...]]

    def ratios(self, kind: Variant) -> tuple[float, ...]:
        """Operations for each of the paper's, at each length."""
        products = TABLE_1[kind.key].products
        return tuple(one.operations / products(one.length, self.width, self.kernel) for one in self.layers[kind.key])

    @property
    def operations_are_the_papers(self) -> bool:
        """Whether they are the same multiple of the paper's at each length, for each type."""
        return all(max(ratios) == min(ratios) for ratios in map(self.ratios, KINDS))

    def rises_by(self, kind: Variant, field: str, each: int) -> bool:
        """Whether a count rises by so many for each further position."""
        return len({getattr(one, field) - each * one.length for one in self.layers[kind.key]}) == 1


def measure(sizes: LayerStudySettings) -> LayerData:
    """Every type of layer at every length."""
    width, kernel = sizes.width, sizes.kernel
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(sizes.seed)
        recurrent = recurrent_layer(width, 1.0)
        near, far = (CausalConvolution(width, width, kernel, dilation).double() for dilation in (1, kernel))
        found: dict[str, list[Measured]] = {kind.key: [] for kind in KINDS}
        for length in sizes.lengths:
            x = torch.randn(1, length, width, dtype=torch.float64)
            found[ATTENTION.key].append(_attention(x, sizes.repeats))
            found[RECURRENT.key].append(_recurrent(recurrent, x, sizes.repeats))
            for kind, layer in ((CONVOLUTION, near), (DILATED, far)):
                path = layers_until_reached(length, kernel, dilated=kind == DILATED)
                found[kind.key].append(_convolution(layer, x, path, sizes.repeats))
    return LayerData(width, kernel, {key: tuple(measured) for key, measured in found.items()})


def _attention(x: Tensor, repeats: int) -> Measured:
    """Counted as in the paper's table: equation 1 without the projections, which are O(n d^2) in every type.

    The formula is counted, for the fused kernel is one node of the graph; the fused kernel is timed.
    """
    layer, quick = (
        PlainSelfAttention(x.shape[-1], kernel).double() for kernel in (reference.attention, fused.attention)
    )
    memory = layer.attention.keys_values(x)
    query, scale = layer.attention.queries(x), layer.attention.scale
    operations = _operations(lambda: reference.attention(query, memory.key, memory.value, EVERYTHING, scale))
    places = _places(x)
    outputs = layer(torch.stack(places, dim=1))
    path = shortest_way(outputs[:, -1], places[0])
    return Measured(x.shape[1], operations, serial_products(outputs, places), path, _seconds(lambda: quick(x), repeats))


def _recurrent(layer: nn.RNN, x: Tensor, repeats: int) -> Measured:
    """Step by step, so that each step is in the graph; timed with the framework's own loop."""
    places, cell = _places(x), nn.RNNCell(layer.input_size, layer.hidden_size).double()
    cell.load_state_dict({name.removesuffix("_l0"): weight for name, weight in layer.state_dict().items()})

    def read() -> Tensor:
        hidden = x.new_zeros(x.shape[0], layer.hidden_size)
        for place in places:
            hidden = cell(place, hidden)
        return hidden

    last, operations = read(), _operations(read)
    path, seconds = shortest_way(last, places[0]), _seconds(lambda: layer(x), repeats)
    return Measured(x.shape[1], operations, serial_products(last, places), path, seconds)


def _convolution(layer: CausalConvolution, x: Tensor, path: int, repeats: int) -> Measured:
    places = _places(x)
    serial = serial_products(layer(torch.stack(places, dim=1))[0], places)
    return Measured(x.shape[1], _operations(lambda: layer(x)), serial, path, _seconds(lambda: layer(x), repeats))


def _places(x: Tensor) -> list[Tensor]:
    """Each position's vector (batch, width), as a leaf of the graph."""
    return [place.detach().requires_grad_() for place in x.unbind(dim=1)]


def _operations(work: Callable[[], object]) -> int:
    with torch.no_grad(), FlopCounterMode(display=False) as counted:
        work()
    return counted.get_total_flops()


def _seconds(work: Callable[[], object], repeats: int) -> float:
    """The shortest of several times, after one that is not counted."""
    with torch.no_grad():
        return min(timeit.repeat(work, number=1, repeat=repeats + 1)[1:])


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
        if ahead := [further for further in below if further not in found]:
            waiting += ahead
            continue
        counts = [count for further in below if (count := found[further]) is not None]
        if id(getattr(node, "variable", None)) in ends:
            found[node] = 0
        else:
            found[node] = choose(counts) + node.name().startswith(PRODUCTS) if counts else None
        waiting.pop()
    whole = found[output.grad_fn]
    if whole is None:
        raise ValueError("the output does not depend on this input")
    return whole


def run(sizes: LayerStudySettings) -> Result:
    """The figures, and what is claimed of them; nothing is claimed of the time, which is this machine's."""
    data = measure(sizes)
    claims = (
        Claim("the counted operations are the paper's, times a constant for each type", data.operations_are_the_papers),
        Claim(
            "a recurrent layer takes one serial step more for each position, the others always the same number",
            data.rises_by(RECURRENT, "serial", 1)
            and all(data.rises_by(kind, "serial", 0) for kind in (ATTENTION, CONVOLUTION)),
        ),
        Claim(
            "a recurrent layer's path between the ends grows with each position, self-attention's has the same length",
            data.rises_by(RECURRENT, "path", 1) and data.rises_by(ATTENTION, "path", 0),
        ),
    )
    forms = {"length": "", "operations": ",", "serial": "", "path": ""}
    rows = [
        (kind.words, *(f"{getattr(one, field):{form}}" for field, form in forms.items()), f"{1e6 * one.seconds:,.0f}")
        for kind in KINDS
        for one in data.layers[kind.key]
    ]
    tables = (
        Figures(
            "the paper's table 1, and operations counted for each of its",
            ("layer", "complexity", "serial steps", "path length", "counted / paper's"),
            [(kind.words, *TABLE_1[kind.key][:3], f"{data.ratios(kind)[0]:g}") for kind in KINDS],
        ),
        Figures(
            f"measured at d = {data.width}, k = {data.kernel}",
            ("layer", "n", "operations", "serial steps", "path length", "microseconds"),
            rows,
        ),
    )

    def lines(field: str, kinds: tuple[Variant, ...] = (ATTENTION, RECURRENT, CONVOLUTION)) -> tuple[Series, ...]:
        return tuple(
            Series(kind.words, [(one.length, getattr(one, field)) for one in data.layers[kind.key]]) for kind in kinds
        )

    charts = (
        Chart("Operations", "length n", "operations", lines("operations"), True, True),
        Chart("Path from the first to the last position", "length n", "steps", lines("path", KINDS), True, True),
        Chart("Time of one layer on this machine", "length n", "seconds", lines("seconds"), True, True),
    )
    return Result(data, claims, tables, charts)
