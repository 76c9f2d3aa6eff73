"""One update of the weights."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from openwork.base.errors import OpenworkError
from openwork.models.interfaces import SequenceModel
from openwork.nn.dropout import drawing_from
from openwork.training.objective import make_objective
from openwork.training.precision import PrecisionName
from openwork.training.schedules import Schedule
from openwork.training.settings import TrainingSettings
from openwork.training.stream import TrainingBatch
from openwork.training.workers import Workers
from openwork.training.working_copy import WorkingCopy

PARTS_APART = 2**40  # between the seeds of an update's parts: no other update's seed falls there


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


@dataclass(frozen=True)
class Task:
    """A part of an update: some sentences, the target tokens of the whole, and what dropout follows from."""

    part: TrainingBatch
    tokens: int
    seed: int


@dataclass(frozen=True)
class PartResult:
    """Gradients by the working weights, and the sums of the losses in nats."""

    gradients: Sequence[Tensor | None]
    smoothed: float
    likelihood: float


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
        self.copy = WorkingCopy(model, precision)
        # The framework's stacks of recurrent layers draw their dropout from one generator for all threads.
        stacks = any(isinstance(module, nn.RNNBase) for module in model.modules())
        self.workers = Workers(1 if stacks else settings.workers or 1)

    def update(self, batches: Sequence[TrainingBatch], step: int) -> StepReport:
        """Update number `step` (from 1) from the gradients of `batches`, weighted by their tokens.

        Dropout follows from (seed, step, part) alone: a resumed run needs no generator state to continue exactly.
        """
        seed = self.settings.seed * 1_000_003 + step
        torch.manual_seed(seed)
        self.copy.refresh()
        self.copy.model.train()
        tokens = sum(batch.target_tokens for batch in batches)
        parts = [part for batch in batches for part in batch.parts(self.workers.count)]
        tasks = [Task(part, tokens, seed + place * PARTS_APART) for place, part in enumerate(parts)]
        results = self.workers.map(self._gradients, tasks)
        self.copy.take([result.gradients for result in results])
        smoothed = sum(result.smoothed for result in results)
        likelihood = sum(result.likelihood for result in results)
        norm = self._clip()
        if not math.isfinite(norm) or not math.isfinite(smoothed):
            raise _diverged(step)
        rate = self._take_step(step)
        sources = sum(batch.source_tokens for batch in batches)
        sentences = sum(batch.sentences for batch in batches)
        return StepReport(step, smoothed / tokens, likelihood / tokens, norm, rate, tokens, sources, sentences)

    def _gradients(self, task: "Task") -> "PartResult":
        """What one part adds to the gradients; runs in a thread of its own beside others."""
        with drawing_from(torch.Generator().manual_seed(task.seed)):
            sums = self.objective(self.copy.model, task.part)
            gradients = torch.autograd.grad(sums.smoothed / task.tokens, self.copy.working, allow_unused=True)
        return PartResult(gradients, sums.smoothed.item(), sums.likelihood.item())

    def _clip(self) -> float:
        limit = self.settings.clip_norm or math.inf
        return nn.utils.clip_grad_norm_(self.model.parameters(), limit).item()

    def _take_step(self, step: int) -> float:
        rate = self.schedule(step)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.step()
        # The framework's fused optimisers do not count this as a change; who keeps something made of the weights asks.
        torch.autograd.graph.increment_version(list(self.model.parameters()))
        return rate


def _diverged(step: int) -> OpenworkError:
    return OpenworkError(
        f"the loss or its gradient is no longer a number at update {step}; nothing was changed by this update",
        why="the learning rate is most often too high for the warm-up",
        hint="lower training.learning_rate (or schedule_scale), or raise training.warmup, and start again; "
        "the checkpoints before are intact",
    )
