"""Attention through several layers: rollout and flow (Abnar and Zuidema 2020, "Quantifying Attention Flow").

A layer's output is its input plus what its attention gives, so that half of a position's attention is said to go to
itself: A = 0.5 W + 0.5 I, where W is the mean of the heads (section 3 of the paper).

Rollout multiplies the A of all layers. Flow takes them as a network of pipes, with a node for each position between two
layers and the weights as capacities, and asks how much can flow from a position after the last layer to one before the
first. From a target position both first go to the encoder's last vectors by the cross-attention, the mean of all its
heads and layers; there is no residual connection from the decoder to the source.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from importlib.util import find_spec
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from openwork.base.messages import msg
from openwork.inference.attention_maps.capture import SentenceAttention
from openwork.inference.attention_maps.maps import mean_of, packed

MOST_FLOW = 40  # pieces on a side: a maximum flow for each pair of positions takes a second at 40, minutes at 400
UNITS = 10**6  # of capacity in a weight of 1: scipy's flows are whole numbers


@dataclass(frozen=True, eq=False)
class ThroughLayers:
    """Attention to the source's embeddings from each encoder output, and from each target position.

    `rollout` (source, source) and `cross_rollout` (target, source) have rows that add up to 1; each number of `flow`
    and `cross_flow` is a flow of its own, from 0 to 1. `reason` says why flows are left out, and is empty otherwise.
    """

    rollout: NDArray[np.float64]
    cross_rollout: NDArray[np.float64]
    flow: NDArray[np.float64] | None
    cross_flow: NDArray[np.float64] | None
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        flows = {"encoder": self.flow, "cross": self.cross_flow}
        return {
            "encoder": packed(self.rollout),
            "cross": packed(self.cross_rollout),
            "flow": {name: None if one is None else packed(one) for name, one in flows.items()},
            "flowReason": self.reason,
        }


def through_layers(found: SentenceAttention, *, with_flow: bool = True) -> ThroughLayers | None:
    """Rollout and flow of a sentence; None for an encoder without self-attention in all of its layers."""
    encoder, cross = found.of_kind("encoder"), found.of_kind("cross")
    if not encoder:
        return None
    layers = [with_residual(one.mean) for one in encoder]
    to_top = mean_of(cross).astype(np.float64)
    rolled = rollout(layers)
    reason = _reason(max(to_top.shape)) if with_flow else msg("it was not asked for")
    flow = None if reason else maximum_flows(layers)
    cross_flow = None if reason else maximum_flows([*layers, to_top])
    return ThroughLayers(rolled, to_top @ rolled, flow, cross_flow, reason)


def with_residual(weights: Float[np.ndarray, "query key"]) -> Float[np.ndarray, "query key"]:
    """0.5 W + 0.5 I."""
    return 0.5 * weights.astype(np.float64) + 0.5 * np.eye(len(weights))


def rollout(layers: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """A_L ... A_1, from the output of the last layer (row) to the input of the first (column): equation 1."""
    return reduce(lambda below, above: above @ below, layers)


def maximum_flows(layers: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The maximum flow from each row of the last matrix to each column of the first (section 3, "attention flow").

    `layers` are the capacities (above, below) between neighbouring levels of nodes, the lowest first; they are rounded
    to millionths.
    """
    from scipy.sparse import block_array
    from scipy.sparse.csgraph import maximum_flow

    sizes = [layers[0].shape[1], *(len(layer) for layer in layers)]
    blocks: list[list[Any]] = [[None] * len(sizes) for _ in sizes]
    for level, layer in enumerate(layers):
        blocks[level + 1][level] = np.rint(UNITS * layer).astype(np.int32)
    blocks[0][0], blocks[-1][-1] = (np.zeros((size, size), np.int32) for size in (sizes[0], sizes[-1]))
    graph, top = block_array(blocks, format="csr", dtype=np.int32), sum(sizes[:-1])
    flows = [
        [maximum_flow(graph, top + row, column).flow_value for column in range(sizes[0])] for row in range(sizes[-1])
    ]
    return np.array(flows) / UNITS


def _reason(pieces: int) -> str:
    if pieces > MOST_FLOW:
        return msg(f"flows are calculated for at most {MOST_FLOW} pieces, and there are {pieces}")
    if find_spec("scipy") is None:
        return msg("maximum flows need scipy, which is not installed (the extra experiments)")
    return ""
