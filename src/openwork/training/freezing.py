"""Weights that a training leaves as they are."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from torch import nn

from openwork.base.errors import ConfigError


def freeze(model: nn.Module, patterns: Sequence[str]) -> int:
    """Takes the weights that the patterns name out of training; how many numbers that are.

    A pattern is a part ("encoder", "decoder.layers.0"), a weight's whole name, or a name with * and ?. A matrix that
    several parts share is frozen if any of its names matches. ConfigError for a pattern that names nothing, and when
    nothing is left to train.
    """
    weights = list(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        found = [weight for name, weight in weights if names(pattern, name)]
        if not found:
            parts = ", ".join(dict.fromkeys(name.partition(".")[0] for name, _ in weights))
            raise ConfigError(
                f"fine_tuning.frozen: {pattern!r} names no weight of this model",
                hint=f"its parts are {parts}; names of weights may hold * and ?",
                code="C062",
            )
        for weight in found:
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
