"""Linformer: attention to a fixed number of mixtures of the positions (Wang et al. 2020)."""

from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from openwork.nn.attention import Heads, MultiHeadAttention
from openwork.nn.cache import KeyValue
from openwork.nn.kernels import linear
from openwork.nn.masks import EVERYTHING, Mask


class LowRankAttention(MultiHeadAttention):
    """head_i = softmax(Q W_i^Q (E K W_i^K)^T / sqrt(d_k)) F V W_i^V (equation 7), E and F of shape (rank, length).

    All heads share E and F (their section 4, headwise sharing). A text shorter than `length` uses their first columns,
    and padding is zero in the mixtures. Each mixture holds all positions, so it is for attention in both directions.
    """

    weighs_tokens = False

    def __init__(self, width: int, heads: Heads, *, length: int, rank: int, **options: Any) -> None:
        super().__init__(width, heads, **options)
        self.key_mixtures = nn.Linear(length, rank, bias=False)  # E
        self.value_mixtures = nn.Linear(length, rank, bias=False)  # F

    def forward(
        self, x: Float[Tensor, "batch query width"], keys_values: KeyValue, mask: Mask
    ) -> Float[Tensor, "batch query output_width"]:
        if mask.is_causal:
            raise ValueError("a mixture of all positions holds later ones")
        real = linear.real_keys(mask, keys_values.key)
        mixed = (
            mixture.weight[:, : keys_values.size] @ linear.hidden(heads, real)
            for mixture, heads in ((self.key_mixtures, keys_values.key), (self.value_mixtures, keys_values.value))
        )
        return super().forward(x, KeyValue(*mixed), EVERYTHING)
