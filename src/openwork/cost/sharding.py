"""What each device of a training in parallel holds, and what it sends in an update. No torch here.

Data parallel: each of P devices computes its share of every batch. `none`: each holds everything. `optimiser`: each
holds the optimiser's state of its share of the weights (the first stage of Rajbhandari et al. 2020). `full`: each holds
its share of weights, gradients and state; layers are gathered when they are computed (FSDP; Zhao et al. 2023). The
weights are there in whole as well, to validate with and to be written.
"""

import math
from dataclasses import replace
from typing import Literal

from openwork.cost.communication import BUCKET, Traffic
from openwork.cost.cost import Cost
from openwork.cost.part import BYTES, MemoryCost
from openwork.models.families import ModelSettings

Sharding = Literal["none", "optimiser", "full"]
SIDES = ("encoder", "decoder")
# How the names of the parts of layers begin, in `transformer.py` and `recurrent.py`; "": of a model of one stack.
NAMES = {**{side: (side,) for side in SIDES}, "": ("self-attention", "feed-forward", "row")}


def layer_counts(model: ModelSettings) -> dict[str, int]:
    """The layers of each side; a model of one stack has the side ""."""
    values = model.model_dump()
    sides = {side: values[f"{side}_layers"] for side in SIDES if values.get(f"{side}_layers")}
    return sides or {"": values.get("layers", 1)}


def gathered_weights(cost: Cost, model: ModelSettings) -> tuple[int, int]:
    """Weights that `full` gathers together: of the largest layer, and of all that is in no layer."""
    counts = layer_counts(model)
    sums = {
        side: sum(part.count * part.weights for part in cost.parts if part.name.startswith(NAMES[side]))
        for side in counts
    }
    if not all(sums.values()):  # counted, not calculated: all layers are one part
        layers = sum(part.count * part.weights for part in cost.parts if part.name == "layers")
        return -(-layers // sum(counts.values())), cost.weights - layers
    return max(-(-sums[side] // counts[side]) for side in counts), cost.weights - sum(sums.values())


def device_memory(
    memory: MemoryCost, sharding: Sharding, devices: int, *, averages: int = 0, gathered: int = 0, largest: float = 0.0
) -> MemoryCost:
    """The memory of one of so many devices, of the one that holds most.

    Args:
        memory: with everything on each device, for the device's share of the batch.
        averages: bytes of a moving average of the weights, which `memory.moments` counts; every device has it whole.
        gathered: bytes of gathered weights and of their gradients, for `full`.
        largest: share of all weights that the largest matrix has; `optimiser` divides none.
    """
    if sharding == "none" or devices == 1:
        return memory
    moments = memory.moments - averages
    if sharding == "optimiser":
        return replace(memory, moments=averages + max(_share(moments, devices), round(moments * largest)))
    return replace(
        memory,
        weights=memory.weights + _share(memory.weights, devices),
        copies=0,  # the gathered layers alone are cast
        gradients=_share(memory.gradients, devices),
        moments=averages + _share(moments, devices),
        passing=memory.passing + gathered,
    )


def _share(size: int, devices: int) -> int:
    return -(-size // devices)


def gathered_bytes(cost: Cost, model: ModelSettings) -> int:
    """What `full` holds besides its shares: all that is in no layer with its gradient, and of layers the one that is
    computed, the next one, and a gradient.
    """
    layer, rest = gathered_weights(cost, model)
    return BYTES * (2 * rest + 3 * layer)


def update_traffic(sharding: Sharding, weights: int, devices: int, units: int, passes: int = 1) -> tuple[Traffic, ...]:
    """The messages of an update; of one device none.

    Args:
        weights: all of them, sent as float32.
        units: groups of weights that `full` gathers together: layers, and all that is in no layer.
        passes: forward and backward passes of each device in the update; `full` gathers in each of them.
    """
    size, buckets = BYTES * weights, math.ceil(BYTES * weights / BUCKET)
    gradients = Traffic("all-reduce", size, buckets)
    if devices == 1:
        return ()
    match sharding:
        case "none":
            return (gradients,)
        case "optimiser":
            return gradients, Traffic("broadcast", size, max(devices, buckets))
        case "full":
            gathered = Traffic("all-gather", 2 * passes * size, 2 * passes * units)  # forward and backward
            return gathered, Traffic("reduce-scatter", passes * size, passes * units)
