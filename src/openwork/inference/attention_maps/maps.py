"""Maps of attention weights, and their form in JSON.

A weight w is written as the 16-bit number round(65535 w), so what is read differs by at most 0.5 / 65535 = 7.7e-6.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

Kind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")
LARGEST = 65535  # stands for the weight 1

Weights = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class LayerMap:
    """The weights (head, query, key) of one attention: self-attention of encoder or decoder, or cross-attention.

    `layer` counts from 0. Each row adds up to 1.
    """

    kind: Kind
    layer: int
    weights: Weights

    @property
    def heads(self) -> int:
        return len(self.weights)

    @property
    def mean(self) -> Weights:
        """The mean of the heads (query, key)."""
        return self.weights.mean(0)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"kind": self.kind, "layer": self.layer, "heads": self.heads, **packed(self.weights)}


def packed(weights: Float[np.ndarray, "*heads query key"]) -> dict[str, Any]:
    """Rows, columns, and the weights from 0 to 1 as base64 of little-endian 16-bit numbers, row after row."""
    numbers = np.rint(LARGEST * np.clip(weights, 0.0, 1.0)).astype("<u2")
    rows, columns = weights.shape[-2:]
    return {"rows": rows, "columns": columns, "weights": base64.b64encode(numbers.tobytes()).decode("ascii")}


def unpacked(written: dict[str, Any]) -> NDArray[np.float64]:
    """The weights that `packed` wrote, or those of a map (head, query, key); at most 7.7e-6 away from the model's."""
    numbers = np.frombuffer(base64.b64decode(written["weights"]), "<u2")
    heads = (written["heads"],) if "heads" in written else ()
    return numbers.reshape(*heads, written["rows"], written["columns"]) / LARGEST


def mean_of(maps: Sequence[LayerMap]) -> Weights:
    """The mean of all heads of several layers (query, key)."""
    return np.concatenate([one.weights for one in maps]).mean(0)
