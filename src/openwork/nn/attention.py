"""Multi-head attention (section 3.2.2 of the paper)."""

from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn.cache import KeyValue
from openwork.nn.kernels import Kernel, fused
from openwork.nn.masks import Mask


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O, head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V).

    The h projections of one kind stand side by side in one matrix, so that one product makes all heads.

    Args:
        width: d_model, the width of what comes in and goes out.
        heads: h.
        head_width: d_k, free of width / heads.
        value_width: d_v, likewise.
        bias: adds a bias to the four projections; the paper's formulas have none.
        weight_dropout: drops attention weights while training; not in the paper.
        kernel: computes equation 1.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        head_width: int,
        value_width: int,
        *,
        bias: bool = False,
        weight_dropout: float = 0.0,
        kernel: Kernel = fused.attention,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.scale = head_width**-0.5
        self.weight_dropout = weight_dropout
        self.kernel = kernel
        self.query = nn.Linear(width, heads * head_width, bias=bias)  # W^Q
        self.key = nn.Linear(width, heads * head_width, bias=bias)  # W^K
        self.value = nn.Linear(width, heads * value_width, bias=bias)  # W^V
        self.output = nn.Linear(heads * value_width, width, bias=bias)  # W^O

    def _split(self, x: Tensor) -> Tensor:
        """(batch, position, head * each) -> (batch, head, position, each)"""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def keys_values(self, x: Float[Tensor, "batch key width"]) -> KeyValue:
        """K W^K and V W^V for all heads, of the positions that will be asked."""
        return KeyValue(self._split(self.key(x)), self._split(self.value(x)))

    def forward(
        self, x: Float[Tensor, "batch query width"], asked: KeyValue, mask: Mask
    ) -> Float[Tensor, "batch query width"]:
        """Each position of `x` asks the positions in `asked`: its own sequence's or another's."""
        dropout = self.weight_dropout if self.training else 0.0
        heads = self.kernel(self._split(self.query(x)), asked.key, asked.value, mask, self.scale, dropout)
        return self.output(heads.transpose(1, 2).flatten(-2))
