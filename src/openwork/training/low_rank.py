"""Adapters put into a model, and merged into its matrices again (the layers are in `nn/low_rank.py`)."""

from collections.abc import Mapping, Sequence

from torch import Tensor, nn

from openwork.base.errors import ConfigError
from openwork.nn.low_rank import AdaptedLinear, merged_weight
from openwork.training.freezing import names

ENDS = ("down", "up", "scale")  # of the names of what an adapter adds to a layer


def adapt(model: nn.Module, patterns: Sequence[str], rank: int, scale: float) -> list[str]:
    """Gives linear layers adapters; the names of these layers.

    A pattern is a part, a layer's whole name, or a name with * and ?. Layers that are no larger than an adapter would
    be are left out. ConfigError for a pattern that names no layer.
    """
    layers = {
        name: layer
        for name, layer in model.named_modules()
        if isinstance(layer, nn.Linear) and rank * (layer.in_features + layer.out_features) < layer.weight.numel()
    }
    chosen: list[str] = []
    for pattern in patterns:
        found = [name for name in layers if names(pattern, name)]
        if not found:
            raise ConfigError(
                f"fine_tuning.low_rank_parts: {pattern!r} names no linear layer with more weights than an adapter of "
                f"rank {rank}",
                hint='"*.query" and "*.value" name projections of attention; openwork info shows the names of a bundle',
                code="C091",
            )
        chosen += [name for name in found if name not in chosen]
    for name in chosen:
        _put(model, name, AdaptedLinear(layers[name], rank, scale))
    return chosen


def freeze_all_but_adapters(model: nn.Module, fresh: Sequence[str] = ()) -> None:
    """Takes all weights out of training but those of adapters, and those that are `fresh` and must be learnt."""
    learning = {id(weight) for module in adapters(model).values() for weight in (module.down, module.up)}
    for name, weight in model.named_parameters():
        weight.requires_grad_(id(weight) in learning or name in fresh)


def adapters(model: nn.Module) -> dict[str, AdaptedLinear]:
    """The layers with adapters, by name."""
    return {name: module for name, module in model.named_modules() if isinstance(module, AdaptedLinear)}


def merge(model: nn.Module) -> int:
    """Makes plain layers of those with adapters, which do the same; how many there were."""
    found = adapters(model)
    for name, layer in found.items():
        _put(model, name, layer.merged())
    return len(found)


def merged_tensors(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of such a model, as a checkpoint has them, as those of the model without adapters."""
    layers = [name.removesuffix(".down") for name in weights if name.endswith(".down") and _is_adapted(weights, name)]
    extra = {f"{layer}.{end}" for layer in layers for end in ENDS}
    found = {name: tensor for name, tensor in weights.items() if name not in extra}
    for layer in layers:
        parts = [weights[f"{layer}.{end}"] for end in ENDS]
        found[f"{layer}.weight"] = merged_weight(weights[f"{layer}.weight"], *parts)
    return found


def _is_adapted(weights: Mapping[str, Tensor], name: str) -> bool:
    layer = name.removesuffix(".down")
    return all(f"{layer}.{end}" in weights for end in (*ENDS, "weight"))


def _put(model: nn.Module, name: str, layer: nn.Module) -> None:
    parent, _, own = name.rpartition(".")
    setattr(model.get_submodule(parent), own, layer)
