"""One step of a recurrent layer, by formula: the vanilla RNN, the LSTM and the GRU.

sigma is the logistic function, * the product number by number; each gate has a matrix W for the input x_t, a matrix U
for the output h_{t-1} of the step before, and two biases b and d, whose sum is the bias of the papers. Models compute
with the framework's fused layers, which are held equal to these.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from openwork.nn import recurrent


@dataclass(frozen=True)
class GateWeights:
    """The weights of one layer in one direction; the gates are stacked in the framework's order."""

    w: Float[Tensor, "gates inputs"]
    u: Float[Tensor, "gates width"]
    b: Float[Tensor, "gates"]
    d: Float[Tensor, "gates"]

    @staticmethod
    def of(module: nn.RNNBase | nn.RNNCellBase, suffix: str = "") -> "GateWeights":
        """Those of the framework's cell, or with a suffix like "_l0" or "_l0_reverse" of a layer of its stacks."""
        names = (f"weight_ih{suffix}", f"weight_hh{suffix}", f"bias_ih{suffix}", f"bias_hh{suffix}")
        return GateWeights(*(module.get_parameter(name) for name in names))


@dataclass(frozen=True)
class Passed:
    """What a cell passes on to its next step: its output h_t, and of an LSTM its inner value c_t."""

    hidden: Float[Tensor, "rows width"]
    cell: Float[Tensor, "rows width"] | None = None


def rnn_step(x: Float[Tensor, "rows inputs"], before: Passed, weights: GateWeights) -> Passed:
    """h_t = tanh(W x_t + b + U h_{t-1} + d) (Elman 1990)."""
    return Passed(torch.tanh(linear(x, weights.w, weights.b) + linear(before.hidden, weights.u, weights.d)))


def lstm_gates(
    x: Float[Tensor, "rows inputs"], hidden: Float[Tensor, "rows width"], weights: GateWeights
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """i, f, o = sigma(W x_t + b + U h_{t-1} + d) and the candidate g = tanh(the same), each with its own matrices.

    In the order i, f, g, o (rows, width): what is let in, what is kept, the candidate, what is let out.
    """
    i, f, g, o = (linear(x, weights.w, weights.b) + linear(hidden, weights.u, weights.d)).chunk(4, dim=-1)
    return torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)


def lstm_step(x: Float[Tensor, "rows inputs"], before: Passed, weights: GateWeights) -> Passed:
    """c_t = f * c_{t-1} + i * g,  h_t = o * tanh(c_t) (Hochreiter and Schmidhuber 1997; f: Gers et al. 2000)."""
    assert before.cell is not None, "an LSTM's state has an inner value"
    i, f, g, o = lstm_gates(x, before.hidden, weights)
    cell = f * before.cell + i * g
    return Passed(o * torch.tanh(cell), cell)


def gru_gates(
    x: Float[Tensor, "rows inputs"], hidden: Float[Tensor, "rows width"], weights: GateWeights
) -> tuple[Tensor, Tensor, Tensor]:
    """r, z = sigma(W x_t + b + U h_{t-1} + d),  n = tanh(W x_t + b + r * (U h_{t-1} + d)).

    In the order r, z, n (rows, width): how much of the old output the candidate sees, how much of it stays, and the
    candidate. Cho et al. 2014 reset h_{t-1} before its matrix, n = tanh(W x_t + U (r * h_{t-1})); the framework, whose
    cells are also those of cuDNN, after it.
    """
    read, known = linear(x, weights.w, weights.b), linear(hidden, weights.u, weights.d)
    (r_x, z_x, n_x), (r_h, z_h, n_h) = read.chunk(3, dim=-1), known.chunk(3, dim=-1)
    r = torch.sigmoid(r_x + r_h)
    return r, torch.sigmoid(z_x + z_h), torch.tanh(n_x + r * n_h)


def gru_step(x: Float[Tensor, "rows inputs"], before: Passed, weights: GateWeights) -> Passed:
    """h_t = z * h_{t-1} + (1 - z) * n (Cho et al. 2014, equation 7)."""
    _, z, n = gru_gates(x, before.hidden, weights)
    return Passed(z * before.hidden + (1 - z) * n)


@dataclass(frozen=True)
class Cell:
    """A kind of cell as models have it, with its step."""

    step: Callable[[Tensor, Passed, GateWeights], Passed]
    gates: int
    one: type[nn.RNNCell | nn.LSTMCell | nn.GRUCell]
    stack: type[nn.RNN | nn.LSTM | nn.GRU]
    opened: int | None
    has_inner: bool

    def beginning(self, x: Float[Tensor, "rows *rest"], width: int) -> Passed:
        """Zeros for as many rows as `x` has, in its type: nothing was read."""
        nothing = x.new_zeros(x.shape[0], width)
        return Passed(nothing, nothing if self.has_inner else None)


STEPS = {"rnn": rnn_step, "lstm": lstm_step, "gru": gru_step}
CELLS = {name: Cell(STEPS[name], *kind) for name, kind in recurrent.CELLS.items()}


def unroll(
    cell: Cell, inputs: Iterable[Float[Tensor, "rows inputs"]], before: Passed, weights: GateWeights
) -> tuple[Float[Tensor, "rows position width"], Passed]:
    """A layer in one direction, a step for each position: its outputs, and what it passes on after the last."""
    outputs = []
    for one in inputs:
        before = cell.step(one, before, weights)
        outputs.append(before.hidden)
    return torch.stack(outputs, dim=1), before
