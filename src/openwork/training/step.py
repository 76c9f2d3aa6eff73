"""One update of the weights, and updates on trial: all that an update computes, and nothing that stays of it.

A model with batch norms learns from whole batches: half of one has other statistics. And each forward pass of a
training moves the running statistics, so that a pass that does not count has to restore them.
"""

import copy
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from openwork.base.errors import OpenworkError, wants_memory
from openwork.machine.precision import TYPES, PrecisionName
from openwork.machine.workers import Workers
from openwork.models.interfaces import SequenceModel
from openwork.models.weights import model_facts
from openwork.nn.dropout import drawing_from
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.normalisation import has_batch_norms, running_statistics
from openwork.training.batches.batch import TrainingBatch
from openwork.training.loss import make_objective
from openwork.training.optimisers import optimiser_tensors, restore_optimiser, set_rate
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


class WorkingCopy:
    """The model in the type of the matrix products, cast once an update; in float32 that is the model itself.

    Left to itself, the framework's autocast casts each weight in each forward pass and each input of a product on its
    way in, and all gradients back one by one: a tenth of an update on a CPU. Here the matrices of linear layers are
    next to the model's in the narrow type, cast when the model's changed, and what flows between the sub-layers is
    narrow from the embeddings on. Embeddings, norms with their statistics, and positions are the model's own, in
    float32; so are all sums of gradients, what the optimiser remembers, and the loss.
    """

    def __init__(self, model: SequenceModel, precision: PrecisionName) -> None:
        # A recurrent cell adds up its state over all positions, which wants float32 between the products.
        recurrent = any(isinstance(module, nn.RNNBase | nn.RNNCellBase) for module in model.modules())
        narrow = precision != "float32" and not recurrent
        self.model = _narrowed(model, TYPES[precision]) if narrow else model
        pairs = zip(model.parameters(), self.model.parameters(), strict=True)
        trained = [(own, working) for own, working in pairs if own.requires_grad]
        self.own = [own for own, _ in trained]
        self.working = [working for _, working in trained]
        self._cast = [(own, working) for own, working in trained if own is not working]

    def refresh(self) -> None:
        """Casts the weights, after they have changed."""
        with torch.no_grad():
            for own, working in self._cast:
                working.copy_(own)

    def take(self, gradients: Sequence[Sequence[Tensor | None]], *, more: bool = False) -> None:
        """The sums of gradients by the working weights become the gradients of the model's own.

        `more`: they come on top of those that were taken before.
        """
        for own, *parts in zip(self.own, *gradients, strict=True):
            known = [part for part in parts if part is not None]
            if not more and not known:
                own.grad = None
            for number, part in enumerate(known):
                if number == 0 and not (more and own.grad is not None):
                    # In the layout of the weight, which the optimiser's kernel takes for granted.
                    own.grad = (torch.empty_like(own) if own.grad is None else own.grad).copy_(part)
                else:
                    assert own.grad is not None
                    own.grad += part


def _narrowed(model: SequenceModel, dtype: torch.dtype) -> SequenceModel:
    """A copy that shares all weights but those of its linear layers, and whose embeddings give vectors of `dtype`.

    It shares what the model keeps besides, too: running statistics that it moves are the model's own.
    """
    shared = [*model.parameters(), *model_facts(model).values()]
    narrow = copy.deepcopy(model, {id(tensor): tensor for tensor in shared})
    for module in narrow.modules():
        if isinstance(module, nn.Linear):
            for name, parameter in list(module.named_parameters(recurse=False)):
                cast = nn.Parameter(parameter.detach().to(dtype), requires_grad=parameter.requires_grad)
                setattr(module, name, cast)
        elif isinstance(module, TokenEmbedding):
            module.register_forward_hook(lambda _module, _inputs, output: output.to(dtype))
    return narrow


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
    ) -> None:
        self.model = model
        self.optimiser = optimiser
        self.schedule = schedule
        self.settings = settings
        self.objective = make_objective(settings, precision)
        self.copy = WorkingCopy(model, precision)
        self.first_updates = first_updates(model, settings)
        # The framework's stacks of recurrent layers draw the dropout between them from one generator for all threads.
        stacks = any(isinstance(module, nn.RNNBase) and module.dropout > 0 for module in model.modules())
        self.whole_batches = has_batch_norms(model)
        self.workers = Workers(1 if stacks or self.whole_batches else settings.workers or 1)
        self.divisions = 1  # parts of each worker's share, one after the other

    def update(self, batches: Sequence[TrainingBatch], step: int, rate_scale: float = 1.0) -> StepReport:
        """Update number `step` (from 1) from the gradients of `batches`, weighted by their tokens.

        Where the loss or its gradient is no number, nothing is changed, and the report says so.

        Dropout follows from (seed, step, part) alone: a resumed run needs no generator state to continue exactly.
        """
        torch.manual_seed(seed_of(self.settings.seed, step))
        self.copy.refresh()
        self.copy.model.train()
        tokens = sum(batch.target_tokens for batch in batches)
        restore_statistics = kept_statistics(self.model)
        learning = [step >= self.first_updates.get(id(weight), 1) for weight in self.copy.own]
        smoothed, likelihood = self._gather(batches, tokens, step, learning)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip_norm or math.inf).item()
        skipped = not (math.isfinite(norm) and math.isfinite(smoothed))
        if skipped:
            restore_statistics()
        rate = 0.0 if skipped else self._take_step(rate_scale * self.schedule(step))
        sources = sum(batch.source_tokens for batch in batches)
        sentences = sum(batch.sentences for batch in batches)
        losses = smoothed / tokens, likelihood / tokens
        return StepReport(step, *losses, norm, rate, tokens, sources, sentences, skipped)

    def _gather(
        self, batches: Sequence[TrainingBatch], tokens: int, step: int, learning: Sequence[bool]
    ) -> tuple[float, float]:
        """Takes the gradients of all batches and gives the sums of the losses.

        `learning`: for each of the working weights whether this update moves it. Where memory is not enough, the
        batches are computed in twice as many parts, from then on. The sums are the same, but for rounding and for what
        dropout leaves out.
        """
        while True:
            parts = [part for batch in batches for part in batch.parts(self.workers.count * self.divisions)]
            try:
                return self._gather_parts(parts, tokens, step, learning)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                if self.whole_batches:
                    raise whole_batch_too_large("its statistics are those of all sentences of a batch") from error
                if len(parts) >= sum(batch.sentences for batch in batches):
                    raise OpenworkError(
                        "there is not enough memory for an update, even sentence by sentence",
                        why="the model with its gradients and the optimiser leaves too little for a single sentence",
                        hint="take a smaller model, or leave out the longest pairs: filters.maximum_characters",
                        code="E021",
                    ) from error
            # here, not above: an error that is being handled keeps all that was computed until then
            self.divisions *= 2
            if torch.cuda.is_available():
                torch.cuda.empty_cache()

    def _gather_parts(
        self, parts: Sequence[TrainingBatch], tokens: int, step: int, learning: Sequence[bool]
    ) -> tuple[float, float]:
        """As many at a time as there are workers: more gradients than these never stand in memory."""

        def gradients(place: int) -> tuple[list[Tensor | None], float, float]:
            seed = seed_of(self.settings.seed, step, place)
            return self._gradients(parts[place], tokens, seed, learning)

        smoothed = likelihood = 0.0
        for first in range(0, len(parts), self.workers.count):
            results = self.workers.map(gradients, range(len(parts))[first : first + self.workers.count])
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
        with drawing_from(torch.Generator().manual_seed(seed)):
            sums = self.objective(self.copy.model, part)
            wanted = [weight for weight, learns in zip(self.copy.working, learning, strict=True) if learns]
            found = iter(torch.autograd.grad(sums.smoothed / tokens, wanted, allow_unused=True))
            gradients = [next(found) if learns else None for learns in learning]
        return gradients, sums.smoothed.item(), sums.likelihood.item()

    def _take_step(self, rate: float) -> float:
        set_rate(self.optimiser, rate)
        self.optimiser.step()
        # The framework's fused optimisers do not count this as a change; who keeps something made of the weights asks.
        torch.autograd.graph.increment_version(list(self.model.parameters()))
        return rate


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
