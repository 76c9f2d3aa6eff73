"""Validation while training: the loss of held-out pairs, and scores of what the model makes of their sources."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from numpy.typing import NDArray

from openwork.data.batching import Batch, BatchPlan, BatchSettings, assemble
from openwork.data.records import Pair
from openwork.data.store import TokenStore
from openwork.inference.translator import BatchTranslator
from openwork.machine.precision import PrecisionName
from openwork.metrics.ratio import Ratio, perplexity
from openwork.models.interfaces import SequenceModel
from openwork.runs.validation.scoring import Scoring
from openwork.training.batches.batch import TensorBatch, to_tensors
from openwork.training.objective import batch_loss
from openwork.training.progress import Validation


class Validator:
    """Computes loss and scores of the same held-out pairs each time. It draws no random number."""

    def __init__(
        self,
        model: SequenceModel,
        translator: BatchTranslator,
        store: TokenStore,
        pairs: list[Pair],
        precision: PrecisionName,
        scoring: Scoring | None,
        arrange: Callable[[Batch, torch.device], TensorBatch] = to_tensors,
        *,
        shown: Sequence[Pair] = (),
    ) -> None:
        """`translator` is of the model. `pairs` are those that `scoring` scores: the first of the store, or none.

        `arrange` lays a batch out for the loss: always the same for the same rows. `shown`: examples for samples where
        no pairs are scored, such as the first words of texts. Without `scoring` there are neither scores nor samples.
        """
        self.model = model
        self.translator = translator
        self.store = store
        self.scoring = scoring
        self.pairs = pairs if scoring is not None else []
        self.shown = [pair for pair in shown if pair.source.strip()] if scoring is not None and not pairs else []
        self.arrange = arrange
        self.precision: PrecisionName = precision
        self.plan = BatchPlan.of(store, BatchSettings(), seed=0).epoch(0)

    def loss(self, batches: Iterable[NDArray] | None = None) -> Ratio:
        """Nats of all real target tokens, or of those of some batches' rows, without smoothing, and their number."""
        self.model.eval()
        total = Ratio(0.0, 0)
        with torch.inference_mode():
            for rows in self.plan if batches is None else batches:
                batch = self.arrange(assemble(self.store, rows), self.translator.device)
                sums = batch_loss(self.model, batch, 0.0, self.precision)
                total += Ratio(sums.likelihood.item(), batch.target_tokens)
        return total

    def validate(self, step: int) -> Validation:
        """Loss, perplexity and, if there are pairs, the scores of the model's hypotheses, with one as a sample."""
        before = time.perf_counter()
        loss = self.loss()
        scores: dict[str, Any] = {}
        sample, signature = None, ""
        if self.scoring is not None and self.pairs:
            hypotheses = self.scoring.hypotheses([pair.source for pair in self.pairs])
            scores, signature = self.scoring.scores(self.pairs, hypotheses)
            shown = (step * 7919) % len(self.pairs)  # another one each time
            sample = (self.pairs[shown].source, self.pairs[shown].target, hypotheses[shown])
        elif self.shown:
            source, target = self.shown[step * 7919 % len(self.shown)]
            sample = (source, target, self.translator.best([source])[0])
        seconds = time.perf_counter() - before
        value = loss.value if math.isfinite(loss.value) else math.inf
        return Validation(
            step, value, perplexity(loss), **scores, seconds=round(seconds, 3), sample=sample, signature=signature
        )
