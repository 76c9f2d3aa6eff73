"""A recurrent decoder whose cells read the target alone; attention to the source comes after them, or there is none.

Global attention after Luong, Pham and Manning 2015 (section 3.1), without their input feeding (section 3.3): so the
cells take all positions in one call. With no attention it is the decoder of Sutskever, Vinyals and Le 2014.
"""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from openwork.nn.additive import masked_softmax
from openwork.nn.cells import CELLS
from openwork.nn.dropout import Dropout
from openwork.nn.recurrent import CellState, RecurrentMemory, cell_layers, climb


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

    def forward(
        self, x: Float[Tensor, "rows position width"], memory: RecurrentMemory, state: CellState
    ) -> tuple[Float[Tensor, "rows position width"], CellState]:
        """For each input vector the readout, and the state after the last."""
        outputs, state = climb(self.stack, x, state)
        context, _ = self.attention(outputs, memory)
        return self.dropout(torch.tanh(self.readout(torch.cat([outputs, context], dim=-1)))), state
