"""What each device holds and sends: the figures of the papers, and the layers of a model that is built."""

import pytest

from openwork.cost.communication import BUCKET, Network, Traffic
from openwork.cost.cost import cost_of
from openwork.cost.part import MemoryCost
from openwork.cost.sharding import device_memory, gathered_bytes, gathered_weights, layer_counts, update_traffic
from openwork.models.families import model_settings
from openwork.models.presets import PRESETS

PSI = 7_500_000_000
# Figure 1 of Rajbhandari et al. 2020: 2 bytes for a weight and for a gradient, 12 for the optimiser, on 64 devices.
WHOLE = MemoryCost(weights=2 * PSI, copies=0, gradients=2 * PSI, moments=12 * PSI, activations=0, passing=0)


def test_the_figure_of_the_zero_paper() -> None:
    """120, 31.4 and 1.9 GB. With full sharding we have the weights in whole beside, 15 GB."""
    sizes = {name: device_memory(WHOLE, name, 64).total / 1e9 for name in ("none", "optimiser", "full")}
    assert {name: round(size, 1) for name, size in sizes.items()} == {"none": 120, "optimiser": 31.4, "full": 16.9}
    assert device_memory(WHOLE, "full", 1) == WHOLE


def test_the_shares_of_a_device() -> None:
    """The moving average stays whole; of the optimiser's 80 bytes a matrix with half the weights has 40."""
    memory = MemoryCost(weights=40, copies=16, gradients=40, moments=120, activations=7, passing=3)
    assert device_memory(memory, "optimiser", 4, averages=40).moments == 80 / 4 + 40
    assert device_memory(memory, "optimiser", 4, averages=40, largest=0.5).moments == 80 / 2 + 40
    full = device_memory(memory, "full", 4, averages=40, gathered=9)
    assert vars(full) == {"weights": 50, "copies": 0, "gradients": 10, "moments": 60, "activations": 7, "passing": 12}


def test_the_volumes_of_the_zero_paper() -> None:
    """Section 7: twice the weights for an all-reduce, three times for full sharding, but for (P - 1) / P."""
    sent = {name: sum(one.sent(4) for one in update_traffic(name, 1000, 4, units=5)) for name in ("none", "full")}
    assert sent == {"none": 2 * 4000 * 3 / 4, "full": 3 * 4000 * 3 / 4}


def test_messages() -> None:
    weights = BUCKET // 4 * 2 + 1  # just over two buckets
    assert update_traffic("none", weights, 4, 5) == (Traffic("all-reduce", 4 * weights, 3),)
    assert update_traffic("optimiser", weights, 4, 5)[1] == Traffic("broadcast", 4 * weights, 4)
    gathered, scattered = update_traffic("full", weights, 4, units=5, passes=2)
    assert (gathered.messages, scattered.messages) == (2 * 2 * 5, 2 * 5)
    assert gathered.size == 2 * scattered.size == 4 * 4 * weights
    assert all(update_traffic(name, weights, 1, 5) == () for name in ("none", "optimiser", "full"))


def test_the_shares_of_a_broadcast() -> None:
    """Each of 4 processes sends 100 bytes around: 3 steps for each, and each link carries 3 shares of 4."""
    traffic = Traffic("broadcast", 400, messages=4)
    assert traffic.seconds(Network(100.0, 2.0), 4) == 4 * 3 * 2 + 300 / 100


@pytest.mark.slow
@pytest.mark.parametrize("name", ["paper-base", "nano", "gpt-small"])
def test_the_largest_layer_is_that_of_a_built_model(name: str) -> None:
    from openwork.models.build import build_model
    from openwork.models.weights import empty_weights

    settings = model_settings(PRESETS[name])
    cost = cost_of(settings, 100)
    with empty_weights():
        model = build_model(settings, 100, 100)
    stacks = [stack for module in model.modules() if (stack := getattr(module, "layers", None)) is not None]
    layers = [sum(weight.numel() for weight in layer.parameters()) for stack in stacks for layer in stack]
    total = sum(weight.numel() for weight in model.parameters())
    layer, rest = gathered_weights(cost, settings)
    assert sum(layer_counts(settings).values()) == len(layers)
    few = max(layers) / 100  # the norm at the end of a pre-norm stack is counted with its layers
    assert layer == pytest.approx(max(layers), abs=few)
    assert rest == pytest.approx(total - sum(layers), abs=few)
    assert gathered_bytes(cost, settings) == 4 * (2 * rest + 3 * layer)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_model_has_layers(preset: str) -> None:
    settings = model_settings(PRESETS[preset])
    assert all(count > 0 for count in layer_counts(settings).values())
