"""Multi-head attention by sums of keys and values, which do not grow (Katharopoulos et al. 2020, section 3.4)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from openwork.nn.attention import MultiHeadAttention
from openwork.nn.cache import KeyValue, Selectable
from openwork.nn.kernels import linear, widened
from openwork.nn.masks import Mask


@dataclass(frozen=True)
class LinearState(Selectable):
    """What later steps need: `sums`, S beside Z, of all positions before the latest ones, and the latest ones.

    `real` (rows, 1, key, 1): which of the latest are no padding; None: all. `before`: positions in the sums.
    """

    latest: KeyValue
    real: Tensor | None
    sums: linear.Sums | None = None
    before: int = 0

    @property
    def size(self) -> int:
        """Number of positions read."""
        return self.before + self.latest.size

    def factors(self) -> tuple[Tensor, Tensor]:
        """phi(k) and values beside ones of the latest positions."""
        key, value = widened(self.latest.key, self.latest.value)
        return linear.hidden(linear.features(key), self.real), linear.with_ones(value)

    def summed(self) -> linear.Sums:
        """The sums of all positions (equations 18 and 19)."""
        with torch.autocast(self.latest.key.device.type, enabled=False):
            keys, values = self.factors()
            added = keys.transpose(-2, -1) @ values
        return added if self.sums is None else self.sums + added


class LinearAttention(MultiHeadAttention):
    """The same projections. In causal self-attention the past is a `LinearState`, and each step costs the same."""

    weighs_tokens = False

    def grow(self, past: LinearState | None, x: Float[Tensor, "batch key width"], mask: Mask) -> LinearState:
        before = 0 if past is None else past.size
        latest = self.keys_values(x, before).for_heads(self.heads.count)
        real = linear.real_keys(mask, latest.key, before)
        return LinearState(latest, real, None if past is None else past.summed(), before)

    def forward(  # type: ignore[override]
        self, x: Float[Tensor, "batch query width"], keys_values: KeyValue | LinearState, mask: Mask
    ) -> Float[Tensor, "batch query output_width"]:
        """The kernel's where all keys are there: of an encoder, a memory, and what is read first."""
        if isinstance(keys_values, KeyValue):
            return super().forward(x, keys_values, mask)
        if keys_values.sums is None:
            return super().forward(x, keys_values.latest, mask)
        query = self.queries(x)
        with torch.autocast(x.device.type, enabled=False):
            found = linear.prefix_sums(linear.features(*widened(query)), *keys_values.factors(), keys_values.sums)
        return self.output(self.join(linear.normalised(found).to(keys_values.latest.value.dtype)))
