"""Weights in groups of layers, the last layers first: rates of their own, and an update from which each learns.

What was learnt on other texts is in the lower layers, and the more general the lower: they are to change later and less
(Howard and Ruder 2018, sections 3.2 and 3.3). A group that does not learn yet gets no gradients, and is not moved by
any optimiser; when it begins follows from the update's number alone, so that a run goes on as if it had never stopped.
"""

from collections.abc import Sequence

from torch import nn

from openwork.base.errors import ConfigError
from openwork.training.freezing import names
from openwork.training.settings import TrainingSettings


def group_layers(model: nn.Module, groups: Sequence[str]) -> list[list[nn.Parameter]]:
    """The weights of each group that are not frozen, then those that no group names.

    A group is a few patterns (`freezing.names`) with spaces between; a weight belongs to the first group that names
    it, a matrix that several parts share by any of its names. ConfigError for a pattern that names nothing.
    """
    found: list[list[nn.Parameter]] = [[] for _ in range(len(groups) + 1)]
    places: dict[int, int] = {}
    every = list(model.named_parameters(remove_duplicate=False))
    for place, group in enumerate(groups):
        for pattern in group.split():
            chosen = [weight for name, weight in every if names(pattern, name)]
            if not chosen:
                parts = ", ".join(dict.fromkeys(name.partition(".")[0] for name, _ in every))
                raise ConfigError(
                    f"training.layer_groups: {pattern!r} names no weight of this model",
                    hint=f"its parts are {parts}; names of weights may hold * and ?",
                    code="C095",
                )
            for weight in chosen:
                places.setdefault(id(weight), place)
    for weight in model.parameters():
        if weight.requires_grad:
            found[places.get(id(weight), len(groups))].append(weight)
    return found


class Unfreezing:
    """From which update on each weight learns: group after group, the first from the first update on.

    Nobody waits for a group that is frozen whole.
    """

    def __init__(self, model: nn.Module, settings: TrainingSettings) -> None:
        self.begins: dict[int, int] = {}  # of each weight that learns later than at the first update
        if settings.unfreeze_every:
            groups = filter(None, group_layers(model, settings.layer_groups))
            for place, weights in enumerate(groups):
                self.begins |= dict.fromkeys(map(id, weights), 1 + place * settings.unfreeze_every)

    def learns(self, weight: nn.Parameter, step: int) -> bool:
        """Whether update number `step` (from 1) moves a weight."""
        return step >= self.begins.get(id(weight), 1)
