"""Which weights a training moves: frozen ones, groups of layers, and adapters.

What was learnt on other texts is in the lower layers, and the more general the lower: they are to change later and less
(Howard and Ruder 2018, sections 3.2 and 3.3). So groups of layers, the last layers first, have rates of their own and
an update from which each learns. A group that does not learn yet gets no gradients, and is not moved by any optimiser;
when it starts follows from the update's number alone, so that a resumed run continues as if it had never stopped.
The layers with adapters are in `nn/low_rank.py`.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from torch import Tensor, nn

from openwork.base.errors import ConfigError
from openwork.nn.low_rank import AdaptedLinear, merged_weight
from openwork.training.settings import TrainingSettings


def freeze(model: nn.Module, patterns: Sequence[str]) -> int:
    """Takes the weights that the patterns name out of training; how many numbers that are.

    A pattern is a part ("encoder", "decoder.layers.0"), a weight's whole name, or a name with * and ?. A matrix that
    several parts share is frozen if any of its names matches. ConfigError for a pattern that names nothing, and when
    nothing is left to train.
    """
    for pattern in patterns:
        for weight in _named(model, pattern, "fine_tuning.frozen"):
            weight.requires_grad_(False)
    if patterns and not any(weight.requires_grad for weight in model.parameters()):
        raise ConfigError(
            "fine_tuning.frozen: every weight is frozen, so there is nothing to train",
            hint="leave some part out",
            code="C063",
        )
    return sum(weight.numel() for weight in model.parameters() if not weight.requires_grad)


def names(pattern: str, name: str) -> bool:
    """Whether the pattern is the name, a part that it belongs to, or fits it with * and ?."""
    return name == pattern or name.startswith(f"{pattern}.") or fnmatchcase(name, pattern)


def _named(model: nn.Module, pattern: str, key: str) -> list[nn.Parameter]:
    """The weights that a pattern in a setting `key` names; ConfigError where there are none."""
    weights = list(model.named_parameters(remove_duplicate=False))
    found = [weight for name, weight in weights if names(pattern, name)]
    if not found:
        parts = ", ".join(dict.fromkeys(name.partition(".")[0] for name, _ in weights))
        raise ConfigError(
            f"{key}: {pattern!r} names no weight of this model",
            hint=f"its parts are {parts}; names of weights may hold * and ?",
            code="C062",
        )
    return found


def group_layers(model: nn.Module, groups: Sequence[str]) -> list[list[nn.Parameter]]:
    """The weights of each group that are not frozen, then those that no group names.

    A group is a few patterns (`freezing.names`) with spaces between; a weight belongs to the first group that names
    it, a matrix that several parts share by any of its names. ConfigError for a pattern that names nothing.
    """
    found: list[list[nn.Parameter]] = [[] for _ in range(len(groups) + 1)]
    places: dict[int, int] = {}
    for place, group in enumerate(groups):
        for pattern in group.split():
            for weight in _named(model, pattern, "training.layer_groups"):
                places.setdefault(id(weight), place)
    for weight in model.parameters():
        if weight.requires_grad:
            found[places.get(id(weight), len(groups))].append(weight)
    return found


def first_updates(model: nn.Module, settings: TrainingSettings) -> dict[int, int]:
    """Of each weight that learns later than from the first update on, by its id, the update from which it learns.

    Group after group, the first from the first update on; nobody waits for a group that is frozen whole.
    """
    begins: dict[int, int] = {}
    if settings.unfreeze_every:
        for place, weights in enumerate(filter(None, group_layers(model, settings.layer_groups))):
            begins |= dict.fromkeys(map(id, weights), 1 + place * settings.unfreeze_every)
    return begins


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
    return {name: module for name, module in model.named_modules() if isinstance(module, AdaptedLinear)}


def merge(model: nn.Module) -> int:
    """Makes plain layers of those with adapters, which do the same; how many there were."""
    found = adapters(model)
    for name, layer in found.items():
        _put(model, name, layer.merged())
    return len(found)


def merged_tensors(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of such a model, as a checkpoint has them, as those of the model without adapters."""
    layers = [name.removesuffix(".down") for name in weights if name.endswith(".down")]
    layers = [layer for layer in layers if all(f"{layer}.{end}" in weights for end in ("weight", *ENDS))]
    extra = {f"{layer}.{end}" for layer in layers for end in ENDS}
    found = {name: tensor for name, tensor in weights.items() if name not in extra}
    for layer in layers:
        found[f"{layer}.weight"] = merged_weight(*(weights[f"{layer}.{end}"] for end in ("weight", *ENDS)))
    return found


def _put(model: nn.Module, name: str, layer: nn.Module) -> None:
    parent, _, own = name.rpartition(".")
    setattr(model.get_submodule(parent), own, layer)
