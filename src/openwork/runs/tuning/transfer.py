"""Going on from a bundle with a model of another kind or task: what fits by name and shape is taken, the rest is fresh.

An encoder that has learnt to translate can read for a classifier, one that has filled in masked pieces can tag. The
source keeps its tokenizer, on which the first layer depends; the target has one of its own, learnt from the new pairs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from openwork.base.errors import ConfigError
from openwork.models.build import build_model
from openwork.models.families import ModelSettings
from openwork.models.interfaces import SequenceModel
from openwork.models.weights import empty_weights
from openwork.nn.normalisation import running_statistics
from openwork.text.pair import TokenizerPair


def is_another(theirs: ModelSettings, ours: ModelSettings) -> bool:
    """Whether the kind of model or its task is another, so that not all weights can be the bundle's."""
    return theirs.kind != ours.kind or getattr(theirs, "task", None) != getattr(ours, "task", None)


@dataclass(frozen=True)
class Taken:
    """The names of the weights that were taken from a bundle, and of those that are fresh."""

    taken: tuple[str, ...]
    fresh: tuple[str, ...]

    def parts(self, names: tuple[str, ...]) -> str:
        """The parts of the model that these weights belong to."""
        return ", ".join(dict.fromkeys(name.partition(".")[0] for name in names)) or "nothing"


def fitting(
    weights: Mapping[str, Tensor], theirs: ModelSettings, before: TokenizerPair, ours: ModelSettings, now: TokenizerPair
) -> dict[str, Tensor]:
    """The bundle's weights that a model of `ours` has under the same name and in the same shape.

    A table with rows for the source's pieces may have grown (`fine_tuning.py`); one for the target's pieces is taken
    only where these are the bundle's own.
    """
    sizes = now.source.vocabulary_size, now.target.vocabulary_size
    own = _on_meta(ours, *sizes)
    shapes = {name: weight.shape for name, weight in _learnt(own).items()}
    same_target = now.target.fingerprint == before.target.fingerprint
    refused = set() if same_target or now.shared else _of_target(ours, *sizes)
    names = _stored_names(_on_meta(theirs, before.source.vocabulary_size, before.target.vocabulary_size))
    found: dict[str, Tensor] = {}
    for name, shape in shapes.items():
        stored = weights.get(names.get(name, name))
        if stored is None or name in refused:
            continue
        rows = before.source.vocabulary_size
        grown = stored.shape[1:] == shape[1:] and rows == stored.shape[0] < shape[0] == sizes[0]
        if stored.shape == shape or grown:
            found[name] = stored
    return found


def _learnt(model: SequenceModel[Any]) -> dict[str, Tensor]:
    """Weights, and the running statistics without which those of a batch norm mean something else."""
    return {**dict(model.named_parameters()), **running_statistics(model)}


def _on_meta(settings: ModelSettings, source: int, target: int) -> SequenceModel[Any]:
    with empty_weights():
        return build_model(settings, source, target)


def _of_target(settings: ModelSettings, source: int, target: int) -> set[str]:
    """The weights whose shape follows from the target's vocabulary."""
    one, other = (dict(_on_meta(settings, source, size).named_parameters()) for size in (target, target + 1))
    return {name for name, weight in one.items() if weight.shape != other[name].shape}


def _stored_names(model: nn.Module) -> dict[str, str]:
    """Every name of every weight -> the one under which a shared one is stored."""
    first = {id(weight): name for name, weight in model.named_parameters()}
    return {name: first[id(weight)] for name, weight in model.named_parameters(remove_duplicate=False)}


def take(model: SequenceModel[Any], found: Mapping[str, Tensor], folder: str) -> Taken:
    """Puts the weights into the model. ConfigError where there are none."""
    own = _learnt(model)
    if not found:
        raise ConfigError(
            f"fine_tuning.from_bundle: no weight of {folder} fits this model",
            why="weights are taken by name and shape, and none has both",
            hint="give the model the sizes of the bundle, such as its width and heads; openwork info shows them",
            code="C090",
        )
    with torch.no_grad():
        for name, tensor in found.items():
            own[name].copy_(tensor)
    return Taken(tuple(found), tuple(name for name in own if name not in found))
