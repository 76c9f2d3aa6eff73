"""One update of the weights."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from openwork.base.errors import OpenworkError
from openwork.models.interfaces import SequenceModel
from openwork.training.batches import TensorBatch
from openwork.training.objective import make_objective
from openwork.training.precision import PrecisionName
from openwork.training.schedules import Schedule
from openwork.training.settings import TrainingSettings


@dataclass(frozen=True)
class StepReport:
    """What one update did. `loss` is what was minimised, `likelihood` the plain one, both in nats per token."""

    step: int
    loss: float
    likelihood: float
    gradient_norm: float
    learning_rate: float
    target_tokens: int
    source_tokens: int
    sentences: int


class Updater:
    """Makes updates: gradients of some batches, clipped, given to the optimiser at the scheduled rate."""

    def __init__(
        self,
        model: SequenceModel,
        optimiser: torch.optim.Optimizer,
        schedule: Schedule,
        settings: TrainingSettings,
        precision: PrecisionName,
    ) -> None:
        self.model = model
        self.optimiser = optimiser
        self.schedule = schedule
        self.settings = settings
        self.objective = make_objective(settings, precision)

    def update(self, batches: Sequence[TensorBatch], step: int) -> StepReport:
        """Update number `step` (from 1) from the gradients of `batches`, weighted by their tokens.

        Dropout follows from (seed, step) alone: a resumed run needs no generator state to continue exactly.
        """
        torch.manual_seed(self.settings.seed * 1_000_003 + step)
        self.model.train()
        tokens = sum(batch.target_tokens for batch in batches)
        smoothed = likelihood = 0.0
        for batch in batches:
            sums = self.objective(self.model, batch)
            (sums.smoothed / tokens).backward()
            smoothed += sums.smoothed.item()
            likelihood += sums.likelihood.item()
        norm = self._clip()
        if not math.isfinite(norm) or not math.isfinite(smoothed):
            raise _diverged(step)
        rate = self._take_step(step)
        sources = sum(batch.source_tokens for batch in batches)
        sentences = sum(batch.sentences for batch in batches)
        return StepReport(step, smoothed / tokens, likelihood / tokens, norm, rate, tokens, sources, sentences)

    def _clip(self) -> float:
        limit = self.settings.clip_norm or math.inf
        return nn.utils.clip_grad_norm_(self.model.parameters(), limit).item()

    def _take_step(self, step: int) -> float:
        rate = self.schedule(step)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        return rate


def _diverged(step: int) -> OpenworkError:
    return OpenworkError(
        f"the loss or its gradient is no longer a number at update {step}; nothing was changed by this update",
        why="the learning rate is most often too high for the warm-up",
        hint="lower training.learning_rate (or schedule_scale), or raise training.warmup, and start again; "
        "the checkpoints before are intact",
    )
