"""Probabilities and scores by their definitions, without the functions that decoding uses."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.settings import DecodingSettings
from openwork.models.interfaces import StepModel


def penalty(length: int, settings: DecodingSettings) -> float:
    """Length penalty of a target of so many tokens, the end symbol counted: the log-probability is divided by it.

    exp(alpha log((5 + length) / 6)), or exp(alpha log(length)) with the rule "power" (Wu et al. 2016, equation 14).
    """
    base = float(length) if settings.length_rule == "power" else (5.0 + length) / 6.0
    return math.exp(settings.length_penalty * math.log(base))


def score(length: int, log_probability: float, settings: DecodingSettings) -> float:
    """Score of a hypothesis: its log-probability divided by the length penalty."""
    return log_probability / penalty(length, settings)


def next_log_probabilities(logits: Tensor) -> Tensor:
    """log p(token) (..., vocabulary) in double precision; minus infinity for pad, unknown and start."""
    allowed = logits.double().clone()
    allowed[..., list(SYMBOL_IDS.forbidden)] = -torch.inf
    return allowed.log_softmax(-1)


@torch.no_grad()
def target_log_probability(
    model: StepModel[Any], source: Tensor, lengths: Tensor, tokens: Sequence[int], *, ended: bool
) -> float:
    """log P(target | source) by teacher forcing: the sum over the target's tokens and, if `ended`, the end symbol."""
    outputs = [*tokens, SYMBOL_IDS.end] if ended else list(tokens)
    read = torch.tensor([[SYMBOL_IDS.start, *outputs[:-1]]], device=source.device)
    logits, _ = model.step(read, model.start(source, lengths))
    return sum(float(row[token]) for row, token in zip(next_log_probabilities(logits[0]), outputs, strict=True))
