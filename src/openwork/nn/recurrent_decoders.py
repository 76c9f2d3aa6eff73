"""Recurrent decoders: with additive attention before each step, with Luong's attention after it, or with none.

After Bahdanau, Cho and Bengio 2015, with LSTM cells (Hochreiter and Schmidhuber 1997) or others in the place of their
gated units. The cells of the other decoder read the target alone, so they take all positions in one call: global
attention after Luong, Pham and Manning 2015 (section 3.1), without their input feeding (section 3.3). With no attention
it is the decoder of Sutskever, Vinyals and Le 2014.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from openwork.nn.cache import Selectable
from openwork.nn.dropout import Dropout
from openwork.nn.recurrent import CELLS, CellState, cell_layers, climb, initialise_gates
from openwork.nn.shapes import Vectors


@dataclass(frozen=True)
class RecurrentMemory(Selectable):
    """What the decoder attends to: the encoder's outputs, what the scores take of them, and which are real."""

    values: Float[Tensor, "rows source memory_width"]
    keys: Float[Tensor, "rows source inner"]
    mask: Bool[Tensor, "rows 1 1 source"]


def additive_scores(
    queries: Float[Tensor, "batch query inner"], keys: Float[Tensor, "batch key inner"], v: Float[Tensor, "inner"]
) -> Float[Tensor, "batch query key"]:
    """score(q, k) = v^T tanh(W_q q + W_k k), of queries and keys that are projected already."""
    return torch.tanh(queries[:, :, None, :] + keys[:, None, :, :]) @ v


def masked_softmax(
    scores: Float[Tensor, "batch query key"], mask: Bool[Tensor, "batch #query key"]
) -> Float[Tensor, "batch query key"]:
    """Weights that sum to 1 over the keys a query may attend to; a query that may attend to none has weights 0."""
    # The lowest finite number and not -inf: where all keys are masked, -inf would give NaN in the gradient.
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, lowest).softmax(-1).masked_fill(~mask, 0.0)


class GlobalAttention(nn.Module, ABC):
    """Attention of a decoder state to the whole source. `context_width`: numbers in its context vector."""

    context_width: int

    @abstractmethod
    def keys(self, memory: Float[Tensor, "batch key memory_width"]) -> Float[Tensor, "batch key inner"]:
        """What the scores take of each key, which is the same for all queries."""

    @abstractmethod
    def weights(
        self,
        query: Float[Tensor, "batch query width"],
        keys: Float[Tensor, "batch key inner"],
        mask: Bool[Tensor, "batch 1 1 key"],
    ) -> Float[Tensor, "batch query key"]:
        """Attention weights: a row adds up to 1, or to 0 where a query may attend to no key."""

    def forward(
        self, query: Float[Tensor, "batch query width"], memory: RecurrentMemory
    ) -> tuple[Float[Tensor, "batch query context"], Float[Tensor, "batch query key"]]:
        """The weighted sum of the memory's values for each query, and the weights."""
        weights = self.weights(query, memory.keys, memory.mask)
        return weights @ memory.values, weights


class AdditiveAttention(GlobalAttention):
    """A small network with one hidden layer compares a query with each key (Bahdanau et al. 2015, appendix A.1.2)."""

    def __init__(self, query_width: int, key_width: int, inner: int) -> None:
        super().__init__()
        self.context_width = key_width
        self.query = nn.Linear(query_width, inner, bias=False)  # W_q, the paper's W_a
        self.key = nn.Linear(key_width, inner, bias=False)  # W_k, the paper's U_a
        self.score = nn.Linear(inner, 1, bias=False)  # v, the paper's v_a

    def keys(self, memory: Tensor) -> Tensor:
        return self.key(memory)

    def weights(self, query: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        return masked_softmax(additive_scores(self.query(query), keys, self.score.weight[0]), mask[:, 0])


class DotAttention(GlobalAttention):
    """score(s, h) = s^T h (Luong et al. 2015, equation 8), for a memory of the decoder's width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.context_width = width

    def keys(self, memory: Tensor) -> Tensor:
        return memory

    def weights(self, query: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        return masked_softmax(query @ keys.transpose(1, 2), mask[:, 0])


class GeneralAttention(DotAttention):
    """score(s, h) = s^T W_a h (Luong et al. 2015, equation 8), for a memory of any width."""

    def __init__(self, width: int, memory_width: int) -> None:
        super().__init__(memory_width)
        self.key = nn.Linear(memory_width, width, bias=False)  # W_a

    def keys(self, memory: Tensor) -> Tensor:
        return self.key(memory)


class NoAttention(GlobalAttention):
    """Looks at nothing: what it sees is empty, and its weights are the same for every real token of the source."""

    context_width = 0

    def keys(self, memory: Tensor) -> Tensor:
        return memory[..., :0]

    def weights(self, query: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        real = mask[:, 0].to(query.dtype)
        share = real / real.sum(-1, keepdim=True).clamp(min=1)
        return share.expand(-1, query.shape[1], -1)


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
        """The memory prepared, and s_0 = tanh(W_s h) of the backward state h; an LSTM's inner values are zeros."""
        hidden = torch.tanh(self.bridge(backward)).unflatten(-1, (self.layers, -1))
        state = CellState(hidden, torch.zeros_like(hidden) if self.kind.has_inner else None)
        keys = self.attention.keys(memory)
        # cells may give float32 where products do not, and each step would cast the values anew
        return RecurrentMemory(memory.to(keys.dtype), keys, mask), state

    def forward(self, x: Vectors, memory: RecurrentMemory, state: CellState) -> tuple[Vectors, CellState]:
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
            context = self.attention(hidden[:, None], memory)[0][:, 0]
            read = torch.cat([y, context], dim=-1)
            if cell is None:
                hidden = self.first(read, hidden)
            else:
                hidden, cell = self.first(read, (hidden, cell))
            outputs.append(torch.cat([hidden, context], dim=-1))
        return torch.stack(outputs, dim=1), CellState(hidden[:, None], None if cell is None else cell[:, None])


class LuongDecoder(nn.Module):
    """s_i = cells(y_{i-1}, s_{i-1});  c_i = attention(s_i, memory);  the output is tanh(W [s_i; c_i]) (equation 5).

    Its first state follows from one vector h of the encoder's: s_0 = tanh(W_s h), and W_s h itself as the inner value
    of an LSTM, as if its output gate were open. Without attention that is all it knows of the source.
    """

    def __init__(
        self, width: int, state_width: int, layers: int, dropout: float, attention: GlobalAttention, cell: str = "lstm"
    ) -> None:
        """`state_width`: numbers in the encoder's vector h."""
        super().__init__()
        self.kind = CELLS[cell]
        self.attention = attention
        self.bridge = nn.Linear(state_width, layers * width)
        self.stack = cell_layers(cell, width, width, layers, dropout)
        self.readout = nn.Linear(width + attention.context_width, width)
        self.dropout = Dropout(dropout)

    def start(
        self,
        memory: Float[Tensor, "rows source memory_width"],
        whole: Float[Tensor, "rows state_width"],
        mask: Bool[Tensor, "rows 1 1 source"],
    ) -> tuple[RecurrentMemory, CellState]:
        """The memory prepared, and the first state from `whole`, the encoder's vector h."""
        inner = self.bridge(whole).unflatten(-1, (self.stack.num_layers, -1))
        state = CellState(torch.tanh(inner), inner if self.kind.has_inner else None)
        return RecurrentMemory(memory[..., : self.attention.context_width], self.attention.keys(memory), mask), state

    def forward(self, x: Vectors, memory: RecurrentMemory, state: CellState) -> tuple[Vectors, CellState]:
        """For each input vector the readout, and the state after the last."""
        outputs, state = climb(self.stack, x, state)
        context, _ = self.attention(outputs, memory)
        return self.dropout(torch.tanh(self.readout(torch.cat([outputs, context], dim=-1)))), state
