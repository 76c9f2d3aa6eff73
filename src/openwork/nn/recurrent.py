"""Stacks of recurrent cells, their state, and the recurrent encoder (Bahdanau, Cho and Bengio 2015)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from openwork.machine.device import has_narrow_kernels
from openwork.nn.cache import Selectable
from openwork.nn.shapes import Lengths, Vectors


class Cell(NamedTuple):
    """A kind of cell: blocks of its matrices, and the framework's classes for one step and for stacks of layers.

    `opened`: the number of the block whose bias begins with 1, so that at first nothing is forgotten (Gers et al.
    2000). `has_inner`: whether it passes on an inner value besides its output.
    """

    gates: int
    one: type[nn.RNNCell | nn.LSTMCell | nn.GRUCell]
    stack: type[nn.RNN | nn.LSTM | nn.GRU]
    opened: int | None = None
    has_inner: bool = False


CELLS = {
    "rnn": Cell(1, nn.RNNCell, nn.RNN),  # h_t = tanh(W x_t + U h_{t-1}) (Elman 1990)
    "lstm": Cell(4, nn.LSTMCell, nn.LSTM, opened=1, has_inner=True),  # Hochreiter and Schmidhuber 1997
    "gru": Cell(3, nn.GRUCell, nn.GRU),  # Cho et al. 2014, with h_{t-1} reset after its matrix
}


@dataclass(frozen=True)
class CellState(Selectable):
    """The outputs of a stack of cells after the tokens so far, and the inner values of LSTMs."""

    hidden: Float[Tensor, "rows layer width"]
    cell: Float[Tensor, "rows layer width"] | None = None

    def each(self, change: Callable[[Tensor], Tensor]) -> "CellState":
        """Both, changed in the same way."""
        return CellState(change(self.hidden), None if self.cell is None else change(self.cell))

    def below(self, upper: "CellState") -> "CellState":
        """These layers, and on top of them those of `upper`."""
        cell = None if self.cell is None or upper.cell is None else torch.cat([self.cell, upper.cell], dim=1)
        return CellState(torch.cat([self.hidden, upper.hidden], dim=1), cell)


def cell_layers(
    cell: str, inputs: int, width: int, layers: int, dropout: float, *, bidirectional: bool = False
) -> nn.RNN | nn.LSTM | nn.GRU:
    """A stack of layers of a kind of cell with dropout between them, and fresh weights."""
    kind, between = CELLS[cell], dropout if layers > 1 else 0.0
    made = kind.stack(inputs, width, layers, batch_first=True, dropout=between, bidirectional=bidirectional)
    initialise_gates(made, kind)
    return made


def initialise_gates(module: nn.RNNBase | nn.RNNCellBase, kind: Cell) -> None:
    """Glorot-uniform matrices gate by gate, zero biases, but 1 for an LSTM's forget gate: nothing is forgotten yet."""
    for name, parameter in module.named_parameters():
        gates = parameter.detach().chunk(kind.gates)  # views into the parameter
        for gate in gates:
            if name.startswith("weight"):
                nn.init.xavier_uniform_(gate)
            else:
                nn.init.zeros_(gate)
        if name.startswith("bias_ih") and kind.opened is not None:
            nn.init.ones_(gates[kind.opened])


def run_cells(
    stack: nn.Module, inputs: Tensor | PackedSequence, state: Tensor | tuple[Tensor, Tensor] | None = None
) -> Any:
    """What the stack makes of inputs: its outputs and its state; an LSTM computes in float32 where it must."""
    is_narrow = isinstance(stack, nn.LSTM) and torch.is_autocast_enabled("cpu")
    if not is_narrow or has_narrow_kernels():
        return stack(inputs, state)
    if isinstance(state, tuple):
        state = state[0].float(), state[1].float()
    elif state is not None:
        state = state.float()
    with torch.autocast("cpu", enabled=False):
        return stack(inputs.float(), state)


def climb(
    stack: nn.RNN | nn.LSTM | nn.GRU, x: Float[Tensor, "rows position inputs"], state: CellState
) -> tuple[Vectors, CellState]:
    """The outputs of the stack's last layer, and the state of all of them after the last position."""
    # torch's stacks want their states layer-first, even where the batch comes first elsewhere
    before = state.each(lambda x: x.transpose(0, 1).contiguous())
    outputs, after = run_cells(stack, x, before.hidden if before.cell is None else (before.hidden, before.cell))
    reached = CellState(*after) if isinstance(after, tuple) else CellState(after)
    return outputs, reached.each(lambda x: x.transpose(0, 1))


class RecurrentEncoder(nn.Module):
    """Reads a sequence; the memory of a token is what is known at it.

    In both directions that is the states of the two readers there; in one, the state of what was read until then.
    """

    def __init__(
        self, inputs: int, width: int, layers: int, dropout: float, cell: str = "lstm", *, bidirectional: bool = True
    ) -> None:
        super().__init__()
        self.layers = cell_layers(cell, inputs, width, layers, dropout, bidirectional=bidirectional)

    @property
    def width(self) -> int:
        """Numbers in the state of one direction; the forward one's come first in a memory."""
        return self.layers.hidden_size

    @property
    def memory_width(self) -> int:
        """Numbers in the memory of a token."""
        return self.width * (2 if self.layers.bidirectional else 1)

    def forward(
        self, x: Float[Tensor, "batch position inputs"], lengths: Lengths
    ) -> tuple[Float[Tensor, "batch position memory_width"], Float[Tensor, "batch width"]]:
        """The memory, zero at padding, and what the reader who ends last knows of the whole.

        That is the backward reader's state at the first token; of a reader in one direction, the one at the last.
        """
        # packing wants at least one token; a row without any is masked in the attention
        packed = pack_padded_sequence(x, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False)
        outputs, after = run_cells(self.layers, packed)
        memory, _ = pad_packed_sequence(outputs, batch_first=True, total_length=x.shape[1])
        hidden = after[0] if isinstance(after, tuple) else after
        return memory, hidden[-1]  # of both directions, the backward one of the last layer
