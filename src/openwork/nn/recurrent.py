"""Recurrent encoder and decoder, joined by additive attention.

After Bahdanau, Cho and Bengio 2015, with LSTM cells (Hochreiter and Schmidhuber 1997) or others in the place of their
gated units.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from openwork.machine.device import has_narrow_kernels
from openwork.nn.additive import AdditiveAttention
from openwork.nn.cache import Selectable
from openwork.nn.cells import CELLS, Cell
from openwork.nn.dropout import Dropout
from openwork.nn.shapes import Lengths


@dataclass(frozen=True)
class RecurrentMemory(Selectable):
    """What the decoder attends to: the encoder's outputs, what the scores take of them, and which are real."""

    values: Float[Tensor, "rows source memory_width"]
    keys: Float[Tensor, "rows source inner"]
    mask: Bool[Tensor, "rows 1 1 source"]


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
) -> tuple[Float[Tensor, "rows position width"], CellState]:
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


class RecurrentDecoder(nn.Module):
    """Reads the target so far and attends to the memory before each token (appendix A.2.2 of the paper).

    c_i = attention(s_{i-1}, memory),  s_i = cell([y_{i-1}; c_i], s_{i-1}) in the first layer; the layers above it
    read [s_i; c_i]. They do not take part in the attention, so each of them takes all positions in one call.
    """

    def __init__(
        self, width: int, memory_width: int, inner: int, layers: int, dropout: float, cell: str = "lstm"
    ) -> None:
        super().__init__()
        self.layers = layers
        self.kind = CELLS[cell]
        self.attention = AdditiveAttention(width, memory_width, inner)
        self.bridge = nn.Linear(width, layers * width)
        self.first = self.kind.one(width + memory_width, width)
        initialise_gates(self.first, self.kind)
        self.upper = cell_layers(cell, width + memory_width, width, layers - 1, dropout) if layers > 1 else None
        self.readout = nn.Linear(width + memory_width, width)
        self.dropout = Dropout(dropout)

    def start(
        self,
        memory: Float[Tensor, "rows source memory_width"],
        backward: Float[Tensor, "rows width"],
        mask: Bool[Tensor, "rows 1 1 source"],
    ) -> tuple[RecurrentMemory, CellState]:
        """The memory prepared, and s_0 = tanh(W_s h) of the encoder's backward state h at the first token.

        An LSTM's inner values begin with zeros.
        """
        hidden = torch.tanh(self.bridge(backward)).unflatten(-1, (self.layers, -1))
        state = CellState(hidden, torch.zeros_like(hidden) if self.kind.has_inner else None)
        keys = self.attention.keys(memory)
        # cells may give float32 where products do not, and each step would cast the values anew
        return RecurrentMemory(memory.to(keys.dtype), keys, mask), state

    def forward(
        self, x: Float[Tensor, "rows position width"], memory: RecurrentMemory, state: CellState
    ) -> tuple[Float[Tensor, "rows position width"], CellState]:
        """For each input vector the readout tanh(W [s_i; c_i]), and the state after the last."""
        attended, grown = self._attend(x, memory, state)
        if self.upper is not None:
            outputs, above = climb(self.upper, self.dropout(attended), state.each(lambda x: x[:, 1:]))
            attended = torch.cat([outputs, attended[..., outputs.shape[-1] :]], dim=-1)
            grown = grown.below(above)
        return self.dropout(torch.tanh(self.readout(attended))), grown

    def _attend(self, x: Tensor, memory: RecurrentMemory, state: CellState) -> tuple[Tensor, CellState]:
        """[s_i; c_i] of the first layer for all positions, and its last state."""
        hidden, cell, outputs = state.hidden[:, 0], None if state.cell is None else state.cell[:, 0], []
        for y in x.unbind(1):
            context, _ = self.attention(hidden[:, None], memory.keys, memory.values, memory.mask)
            context = context[:, 0]
            read = torch.cat([y, context], dim=-1)
            if cell is None:
                hidden = self.first(read, hidden)
            else:
                hidden, cell = self.first(read, (hidden, cell))
            outputs.append(torch.cat([hidden, context], dim=-1))
        return torch.stack(outputs, dim=1), CellState(hidden[:, None], None if cell is None else cell[:, None])
