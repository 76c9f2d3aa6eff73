"""Recurrent encoder and decoder: LSTMs, joined by additive attention.

After Bahdanau, Cho and Bengio 2015, with LSTM cells (Hochreiter and Schmidhuber 1997) where they have gated units.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from openwork.nn.additive import AdditiveAttention
from openwork.nn.dropout import Dropout


@dataclass(frozen=True)
class Memory:
    """What the decoder attends to: the encoder's outputs, their projections for the scores, and which are real."""

    values: Float[Tensor, "rows source memory_width"]
    keys: Float[Tensor, "rows source inner"]
    mask: Bool[Tensor, "rows 1 1 source"]

    def select(self, rows: Int[Tensor, "new_rows"]) -> "Memory":
        """The given rows, in the given order; a row may come several times."""
        return Memory(*(x.index_select(0, rows) for x in (self.values, self.keys, self.mask)))


@dataclass(frozen=True)
class CellState:
    """The outputs and the inner values of a stack of LSTM cells after the tokens so far."""

    hidden: Float[Tensor, "rows layer width"]
    cell: Float[Tensor, "rows layer width"]

    def select(self, rows: Int[Tensor, "new_rows"]) -> "CellState":
        """The given rows, in the given order; a row may come several times."""
        return CellState(self.hidden.index_select(0, rows), self.cell.index_select(0, rows))


def lstm(inputs: int, width: int, layers: int, dropout: float, *, bidirectional: bool = False) -> nn.LSTM:
    """A stack of LSTM layers with dropout between them, and fresh weights."""
    between = dropout if layers > 1 else 0.0
    made = nn.LSTM(inputs, width, layers, batch_first=True, dropout=between, bidirectional=bidirectional)
    initialise_gates(made)
    return made


def initialise_gates(module: nn.LSTM | nn.LSTMCell) -> None:
    """Glorot-uniform matrices gate by gate, zero biases, but 1 for the forget gate: at first nothing is forgotten."""
    for name, parameter in module.named_parameters():
        for gate in parameter.detach().chunk(4):  # input, forget, cell, output; views into the parameter
            if name.startswith("weight"):
                nn.init.xavier_uniform_(gate)
            else:
                nn.init.zeros_(gate)
        if name.startswith("bias_ih"):
            nn.init.ones_(parameter.detach().chunk(4)[1])


class RecurrentEncoder(nn.Module):
    """Reads a sequence in both directions; the memory of a token is what both know when they stand at it."""

    def __init__(self, inputs: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.layers = lstm(inputs, width, layers, dropout, bidirectional=True)

    def forward(
        self, x: Float[Tensor, "batch position inputs"], lengths: Int[Tensor, "batch"]
    ) -> tuple[Float[Tensor, "batch position memory_width"], Float[Tensor, "batch width"]]:
        """The memory, twice `width` wide and zero at padding, and the backward reader's state at the first token."""
        # packing wants at least one token; a row without any is masked in the attention
        packed = pack_padded_sequence(x, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False)
        outputs, (hidden, _) = self.layers(packed)
        memory, _ = pad_packed_sequence(outputs, batch_first=True, total_length=x.shape[1])
        return memory, hidden[-1]  # the last one is the backward direction of the last layer


class RecurrentDecoder(nn.Module):
    """Reads the target so far and looks at the memory before each token (appendix A.2.2 of the paper).

    c_i = attention(s_{i-1}, memory),  s_i = LSTM([y_{i-1}; c_i], s_{i-1}) in the first layer; the layers above it
    read [s_i; c_i]. They do not take part in the attention, so each of them takes all positions in one call.
    """

    def __init__(self, width: int, memory_width: int, inner: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.layers = layers
        self.attention = AdditiveAttention(width, memory_width, inner)
        self.bridge = nn.Linear(width, layers * width)
        self.first = nn.LSTMCell(width + memory_width, width)
        initialise_gates(self.first)
        self.upper = lstm(width + memory_width, width, layers - 1, dropout) if layers > 1 else None
        self.readout = nn.Linear(width + memory_width, width)
        self.dropout = Dropout(dropout)

    def start(
        self,
        memory: Float[Tensor, "rows source memory_width"],
        backward: Float[Tensor, "rows width"],
        mask: Bool[Tensor, "rows 1 1 source"],
    ) -> tuple[Memory, CellState]:
        """The memory made ready, and s_0 = tanh(W_s h) of the encoder's backward state h at the first token."""
        hidden = torch.tanh(self.bridge(backward)).unflatten(-1, (self.layers, -1))
        return Memory(memory, self.attention.keys(memory), mask), CellState(hidden, torch.zeros_like(hidden))

    def forward(
        self, x: Float[Tensor, "rows position width"], memory: Memory, state: CellState
    ) -> tuple[Float[Tensor, "rows position width"], CellState]:
        """For each input vector the readout tanh(W [s_i; c_i]), and the state after the last."""
        attended, hidden, cell = self._attend(x, memory, state.hidden[:, 0], state.cell[:, 0])
        grown = CellState(hidden[:, None], cell[:, None])
        if self.upper is not None:
            outputs, above = _climb(self.upper, self.dropout(attended), state)
            attended = torch.cat([outputs, attended[..., outputs.shape[-1] :]], dim=-1)
            grown = CellState(
                torch.cat([grown.hidden, above.hidden], dim=1), torch.cat([grown.cell, above.cell], dim=1)
            )
        return self.dropout(torch.tanh(self.readout(attended))), grown

    def _attend(self, x: Tensor, memory: Memory, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """[s_i; c_i] of the first layer for all positions, and its last state."""
        outputs = []
        for y in x.unbind(1):
            context, _ = self.attention(hidden[:, None], memory.keys, memory.values, memory.mask)
            context = context[:, 0]
            hidden, cell = self.first(torch.cat([y, context], dim=-1), (hidden, cell))
            outputs.append(torch.cat([hidden, context], dim=-1))
        return torch.stack(outputs, dim=1), hidden, cell


def _climb(upper: nn.LSTM, attended: Tensor, state: CellState) -> tuple[Tensor, CellState]:
    """The layers above the first, which read [s_i; c_i]: their outputs and last states."""
    # torch's LSTM wants its states layer-first, even when the batch comes first elsewhere
    hidden, cell = (x[:, 1:].transpose(0, 1).contiguous() for x in (state.hidden, state.cell))
    outputs, (hidden, cell) = upper(attended, (hidden, cell))
    return outputs, CellState(hidden.transpose(0, 1), cell.transpose(0, 1))
