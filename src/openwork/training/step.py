"""One update of the weights, and updates on trial: all that an update computes, and nothing that stays of it.

A model with batch norms learns from whole batches: half of one has other statistics. And each forward pass of a
training moves the running statistics, so that a pass that does not count has to restore them.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from openwork.base.errors import OpenworkError, wants_memory
from openwork.machine.precision import PrecisionName
from openwork.machine.workers import Workers
from openwork.models.interfaces import SequenceModel
from openwork.nn.dropout import drawing_from
from openwork.nn.normalisation import has_batch_norms, over_all, running_statistics
from openwork.training.batches.batch import NoSentences, TrainingBatch
from openwork.training.batches.packing import PackedBatch
from openwork.training.computing.captured import Captured
from openwork.training.computing.working_copy import WorkingCopy
from openwork.training.kept_zeros import KeptZeros
from openwork.training.loss import make_objective
from openwork.training.optimisers import (
    optimiser_tensors,
    restore_optimiser,
    set_rate,
    skips_on_device,
    take_step,
)
from openwork.training.schedules import Schedule
from openwork.training.settings import TrainingSettings
from openwork.training.trained_weights import first_updates


def kept_statistics(model: SequenceModel) -> Callable[[], None]:
    """Keeps the running statistics of a model as they are now; the function that it returns restores them."""
    kept = [(statistic, statistic.clone()) for statistic in running_statistics(model).values()]

    def restore() -> None:
        for statistic, before in kept:
            statistic.copy_(before)

    return restore


def whole_batch_too_large(cause: str) -> OpenworkError:
    """Where memory is not enough for a batch that must not be divided."""
    return OpenworkError(
        "there is not enough memory for a whole batch, and batch normalisation cannot compute it in parts",
        why=cause,
        hint="set batches.tokens lower, and training.accumulate higher",
        code="E028",
    )


def seed_of(seed: int, step: int, part: int = 0) -> int:
    """A seed for each part of each update, all 32 bits of it mixed: torch's generator on a CPU uses no others."""
    return int(np.random.SeedSequence([seed, step, part]).generate_state(1)[0])


@dataclass(frozen=True)
class StepReport:
    """What one update did. `loss` is what was minimised, `likelihood` the plain one, both in nats per token.

    `skipped`: the loss or its gradient was no number, and nothing was changed.
    """

    step: int
    loss: float
    likelihood: float
    gradient_norm: float
    learning_rate: float
    target_tokens: int
    source_tokens: int
    sentences: int
    skipped: bool = False


class Updater:
    """Makes updates: gradients of some batches, clipped, given to the optimiser at the scheduled rate."""

    def __init__(
        self,
        model: SequenceModel,
        optimiser: torch.optim.Optimizer,
        schedule: Schedule,
        settings: TrainingSettings,
        precision: PrecisionName,
        copy: WorkingCopy | None = None,
        soft_share: float = 0.0,
        kept_zeros: KeptZeros | None = None,
    ) -> None:
        """`copy`: what computes in place of the model. `soft_share`: what a teacher's probabilities are of the loss.

        `kept_zeros`: the weights that stay zeros, if not only those that the model's settings name.
        """
        self.model = model
        self.optimiser = optimiser
        self.schedule = schedule
        self.settings = settings
        self.copy = copy or WorkingCopy(model, precision)
        self.processes = self.copy.processes
        self.objective = make_objective(settings, precision, soft_share)
        self.first_updates = first_updates(self.copy.stored, settings)
        self.kept_zeros = kept_zeros or KeptZeros(model)
        self.kept_zeros.masks = self.copy.masks_of_stored(self.kept_zeros.masks)
        # The framework's stacks of recurrent layers draw the dropout between them from one generator for all threads.
        stacks = any(isinstance(module, nn.RNNBase) and module.dropout > 0 for module in model.modules())
        self.whole_batches = has_batch_norms(model)
        parts = 1 if stacks or self.whole_batches else settings.workers or 1
        self._share = -(-parts // self.processes.count)  # parts of a batch that are this process's
        self.workers = Workers(1 if self.copy.in_step else self._share)
        self._in_step = self.copy.in_step or (self.whole_batches and self.processes.count > 1)
        self.divisions = 1  # parts of each worker's share, one after the other
        self.captured = self._captures()

    def _captures(self) -> Captured | None:
        """What records and replays whole passes, for an optimiser that skips a step on the device."""
        if self.processes.count > 1 or self.whole_batches or not skips_on_device(self.optimiser):
            return None
        return Captured(self.objective, self.copy, self.copy.own[0].device) if self.copy.own else None

    def update(self, batches: Sequence[TrainingBatch], step: int, rate_scale: float = 1.0) -> StepReport:
        """Update number `step` (from 1) from the gradients of `batches`, weighted by their tokens.

        `batches` hold this process's share of the sentences; gradients and losses are those of all processes. Where the
        loss or its gradient is no number, nothing is changed, and the report says so.

        Dropout follows from (seed, step, part) alone: a resumed run needs no generator state to continue exactly, and
        the parts of a batch have the same dropout on one process with four workers and on four with one.
        """
        torch.manual_seed(seed_of(self.settings.seed, step, self.processes.rank))
        self.copy.refresh()
        if not self.copy.model.training:
            self.copy.model.train()
        counts = [(batch.target_tokens, batch.source_tokens, batch.sentences) for batch in batches]
        sums: list[int] = [sum(column) for column in zip(*counts, strict=True)]
        tokens, sources, sentences = (int(count) for count in self.processes.total(*sums))
        restore_statistics = kept_statistics(self.model) if self.whole_batches else None
        learning = [step >= self.first_updates.get(id(weight), 1) for weight in self.copy.own]
        gathered = self._gather(batches, tokens, step, learning)
        norm = self.copy.clip(self.settings.clip_norm or math.inf)
        rate = rate_scale * self.schedule(step)
        # Where the losses are on the device still, its optimiser asks them, and nothing waits until all is under way.
        is_under_way = isinstance(gathered, Tensor)
        if isinstance(gathered, Tensor):
            gathered = torch.stack((*gathered.unbind(), norm.double()))
            self._take_step(rate, gathered)
            smoothed, likelihood, length = gathered.tolist()
        else:
            (smoothed, likelihood), length = gathered, norm.item()
        skipped = not (math.isfinite(length) and math.isfinite(smoothed))
        if skipped and restore_statistics is not None:
            restore_statistics()
        elif not (skipped or is_under_way):
            self._take_step(rate)
        losses = smoothed / tokens, likelihood / tokens
        return StepReport(step, *losses, length, 0.0 if skipped else rate, tokens, sources, sentences, skipped)

    def _gather(
        self, batches: Sequence[TrainingBatch], tokens: int, step: int, learning: Sequence[bool]
    ) -> tuple[float, float] | Tensor:
        """Takes the gradients of all batches and gives the sums of the losses, which may be on the device still.

        `learning`: for each of the working weights whether this update moves it. Where memory is not enough, the
        batches are computed in twice as many parts, from then on. The sums are the same, but for rounding and for what
        dropout leaves out.
        """
        while True:
            parts, fails = self._parts(batches), False
            try:
                if self.captured is not None and all(self.captured.takes(part) for _, part in parts):
                    return self._gather_captured(parts, tokens, learning)
                sums = self._gather_parts(parts, tokens, step, learning)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                if self.captured is not None and self.captured.forget():
                    continue
                if self.copy.in_step:
                    raise OpenworkError(
                        f"process {self.processes.rank} of {self.processes.count} has not enough memory for its share "
                        "of a batch",
                        why='with training.sharding = "full" it cannot compute in more parts than the others',
                        hint="set batches.tokens lower and training.accumulate higher, or train on more processes",
                        code="E037",
                    ) from error
                if self.whole_batches:
                    raise whole_batch_too_large("its statistics are those of all sentences of a batch") from error
                if len(parts) >= sum(batch.sentences for batch in batches):
                    raise OpenworkError(
                        "there is not enough memory for an update, even sentence by sentence",
                        why="the model with its gradients and the optimiser leaves too little for a single sentence",
                        hint="take a smaller model, or leave out the longest pairs: filters.maximum_characters",
                        code="E021",
                    ) from error
                sums, fails = (0.0, 0.0), True
            smoothed, likelihood, failures = self.copy.join((*sums, fails))
            if not failures:
                return smoothed, likelihood
            # here, not above: an error that is being handled keeps all that was computed until then
            self.divisions *= 2
            if torch.cuda.is_available():
                torch.cuda.empty_cache()

    def _parts(self, batches: Sequence[TrainingBatch]) -> list[tuple[int, TrainingBatch]]:
        """The parts that this process computes, each with its number among those of all processes."""
        most, processes = self._share * self.divisions, self.processes
        return [
            ((number * most + place) * processes.count + processes.rank, part)
            for number, batch in enumerate(batches)
            for place, part in enumerate(self._dealt(batch, most))
        ]

    def _dealt(self, batch: TrainingBatch, most: int) -> Sequence[TrainingBatch]:
        """At most so many parts of a batch; in step just so many on every process."""
        parts = batch.parts(most)
        return [*parts, *[NoSentences(batch)] * (most - len(parts))] if self._in_step else parts

    def _gather_parts(
        self, parts: Sequence[tuple[int, TrainingBatch]], tokens: int, step: int, learning: Sequence[bool]
    ) -> tuple[float, float]:
        """As many at a time as there are workers: more gradients than these never stand in memory."""

        def gradients(numbered: tuple[int, TrainingBatch]) -> tuple[list[Tensor | None], float, float]:
            number, part = numbered
            return self._gradients(part, tokens, seed_of(self.settings.seed, step, number), learning)

        smoothed = likelihood = 0.0
        if not parts:  # fewer sentences than processes
            self.copy.take([])
        for first in range(0, len(parts), self.workers.count):
            results = self.workers.map(gradients, parts[first : first + self.workers.count])
            found, losses, likelihoods = zip(*results, strict=True)
            self.copy.take(found, more=first > 0)
            smoothed += sum(losses)
            likelihood += sum(likelihoods)
        return smoothed, likelihood

    def _gradients(
        self, part: TrainingBatch, tokens: int, seed: int, learning: Sequence[bool]
    ) -> tuple[list[Tensor | None], float, float]:
        """What one part adds to the gradients, by the working weights, and the sums of its losses in nats.

        `tokens` are those of the whole update; dropout follows from `seed`. Runs in a thread of its own next to others.
        """
        with drawing_from(torch.Generator().manual_seed(seed)), over_all(self.processes):
            sums = self.objective(self.copy.model, part)
            gradients = self.copy.gradients(sums.smoothed / tokens, learning)
        return gradients, sums.smoothed.item(), sums.likelihood.item()

    def _gather_captured(
        self, parts: Sequence[tuple[int, TrainingBatch]], tokens: int, learning: Sequence[bool]
    ) -> Tensor:
        """One part after the other, without waiting for the device: the sums (2,) stay there."""
        assert self.captured is not None
        self.captured.begin(tokens)
        for place, (_, part) in enumerate(parts):
            assert isinstance(part, PackedBatch)
            self.captured.add(part, learning, more=place > 0)
        return self.captured.sums

    def _take_step(self, rate: float, numbers: Tensor | None = None) -> None:
        """Moves the weights; with `numbers`, only if all of them are finite, which the device finds out by itself."""
        set_rate(self.optimiser, rate)
        vars(self.optimiser)["found_inf"] = None if numbers is None else (~numbers.isfinite().all()).float()
        take_step(self.optimiser)
        self.kept_zeros.restore()
        self.copy.stepped()


def is_out_of_memory(error: BaseException) -> bool:
    """Whether this is what the framework or Python says when there is no memory left."""
    return isinstance(error, torch.OutOfMemoryError) or wants_memory(error)


@contextmanager
def on_trial(model: SequenceModel, optimiser: torch.optim.Optimizer) -> Iterator[None]:
    """While the block runs, gradients may be made and updates at a rate of 0; none of it is there afterwards.

    The optimiser makes and moves its moments as it would. What it remembered before, what batch norms did, and the
    state of the random numbers are restored.
    """
    device = next(model.parameters()).device
    remembered = {name: value.clone() for name, value in optimiser_tensors(model, optimiser).items()}
    training, restore_statistics = model.training, kept_statistics(model)
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        try:
            yield
        finally:
            for parameter in model.parameters():
                parameter.grad = None
            restore_optimiser(model, optimiser, remembered)
            restore_statistics()
            model.train(training)
            if device.type == "cuda":
                torch.cuda.empty_cache()


def timed_trial(updater: Updater, batches: Sequence[TrainingBatch]) -> float:
    """The seconds of an update of these batches whose rate is 0; only `on_trial`."""
    start = time.perf_counter()
    last = updater.settings.steps  # by then every group of layers learns
    updater.update(batches, step=last, rate_scale=0.0)
    if torch.cuda.is_available():
        torch.cuda.synchronize()  # the optimiser's step is under way still
    return time.perf_counter() - start
