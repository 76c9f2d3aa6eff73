"""Validation of a run in training, by the task of its model: loss of held-out pairs, scores, samples."""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from openwork.base.symbols import SYMBOL_IDS
from openwork.base.tasks import Task
from openwork.data.batching import Batch, BatchPlan, BatchSettings, assemble
from openwork.data.records import Pair
from openwork.data.store import TokenStore
from openwork.evaluation.label_scores import label_scores
from openwork.inference.labeller import Labeller
from openwork.inference.translator import BatchTranslator
from openwork.machine.precision import PrecisionName
from openwork.machine.processes import ALONE, Processes
from openwork.metrics.ratio import Ratio, exact_match, perplexity
from openwork.metrics.translation import bleu, chrf
from openwork.models.interfaces import SequenceModel
from openwork.text.tokenizer import Tokenizer
from openwork.training.batches.batch import TensorBatch, to_tensors
from openwork.training.computing.rounding import Rounding, rounded_weights
from openwork.training.loss import batch_loss, hidden_states
from openwork.training.progress import Validation

SENTENCES = 64  # whose masked pieces are restored together
Arrange = Callable[[Batch, torch.device], TensorBatch]


class Scoring(ABC):
    """Hypotheses of a model for some sources, of which `best` gives one each, and their scores."""

    def __init__(self, best: Callable[[Sequence[str]], list[str]], processes: Processes = ALONE) -> None:
        self.best, self.processes = best, processes

    def hypotheses(self, sources: Sequence[str]) -> list[str]:
        """The output of the model for each source; each process computes its share of them."""
        results = [""] * len(sources)
        for rank, share in enumerate(self.processes.gather(self.best(self.processes.part(sources)))):
            results[rank :: self.processes.count] = share
        return results

    @abstractmethod
    def scores(self, pairs: Sequence[Pair], hypotheses: Sequence[str]) -> tuple[dict[str, Any], str]:
        """Fields of `Validation` with the scores, and the signature of BLEU; empty without BLEU."""


class TranslationScoring(Scoring):
    """Translations by greedy search: BLEU, chrF and exact matches. `language` is that of the targets."""

    def __init__(self, translator: BatchTranslator, language: str | None = None, processes: Processes = ALONE) -> None:
        super().__init__(translator.best, processes)
        self.language = language

    def scores(self, pairs: Sequence[Pair], hypotheses: Sequence[str]) -> tuple[dict[str, Any], str]:
        references = [pair.target for pair in pairs]
        score = bleu(hypotheses, references, language=self.language)
        exact = exact_match(hypotheses, references).value
        return {"bleu": score.value, "chrf": chrf(hypotheses, references).value, "exact": exact}, score.signature


class LabelScoring(Scoring):
    """Labels: the score of the task, and the share of targets that are right as a whole."""

    def __init__(self, labeller: Labeller, processes: Processes = ALONE) -> None:
        super().__init__(labeller.best, processes)
        self.task: Task = labeller.task

    def scores(self, pairs: Sequence[Pair], hypotheses: Sequence[str]) -> tuple[dict[str, Any], str]:
        references = [" ".join(pair.target.split()) for pair in pairs]
        own, *_ = label_scores(self.task, references, hypotheses)
        exact = exact_match(hypotheses, references).value
        return {"score": own.value, "score_name": own.name.replace(" ", "_"), "exact": exact}, ""


class MaskedScoring(Scoring):
    """Masked pieces: how many of them the model restores. The masks are the same each time, on every process.

    `store` holds the sources; `arrange` masks them.
    """

    def __init__(
        self, model: SequenceModel, tokenizer: Tokenizer, store: TokenStore, arrange: Arrange, precision: PrecisionName
    ) -> None:
        super().__init__(self._restored_texts)
        self.model, self.tokenizer, self.store, self.arrange = model, tokenizer, store, arrange
        self.precision: PrecisionName = precision
        self.restored = Ratio(0.0, 0)  # of the masked pieces, by the last hypotheses

    def _restored_texts(self, sources: Sequence[str]) -> list[str]:
        """The first sources of the store, with the most probable pieces in the masked places."""
        self.model.eval()
        texts, self.restored = [], Ratio(0.0, 0)
        for first in range(0, len(sources), SENTENCES):
            rows = np.arange(first, min(first + SENTENCES, len(sources)))
            batch = self.arrange(assemble(self.store, rows), self.model.output_weight.device)
            with torch.inference_mode():
                best = self.model.project(hidden_states(self.model, batch, self.precision).float()).argmax(dim=-1)
            self.restored += Ratio(float((best == batch.real_targets).sum()), len(best))
            ids = batch.source.flatten().index_copy(0, batch.real, best).view(batch.source.shape).tolist()
            lengths = (batch.source_lengths - 1).tolist()
            texts += self.tokenizer.decode_batch(
                [one for one in row[:length] if one > SYMBOL_IDS.end] for row, length in zip(ids, lengths, strict=True)
            )
        return texts

    def scores(self, pairs: Sequence[Pair], hypotheses: Sequence[str]) -> tuple[dict[str, Any], str]:
        return {"score": 100 * self.restored.value, "score_name": "restored"}, ""


@dataclass
class Validator:
    """Computes loss and scores of the same held-out pairs each time. It draws no random number.

    `translator` is of the model. `pairs` are those that `scoring` scores: the first of the store, or none. `arrange`
    lays a batch out for the loss: always the same for the same rows. `shown`: examples for samples where no pairs are
    scored, such as the first words of texts. Without `scoring` there are neither scores nor samples. Several
    `processes` share the pairs out. `rounding`: of the weights, while they are judged.
    """

    model: SequenceModel
    translator: BatchTranslator
    store: TokenStore
    pairs: list[Pair]
    precision: PrecisionName
    scoring: Scoring | None
    arrange: Arrange = to_tensors
    shown: Sequence[Pair] = ()
    processes: Processes = ALONE
    rounding: Rounding | None = None

    def __post_init__(self) -> None:
        scored = self.scoring is not None
        self.shown = [pair for pair in self.shown if pair.source.strip()] if scored and not self.pairs else []
        self.pairs = self.pairs if scored else []
        self.plan = BatchPlan.of(self.store, BatchSettings(), seed=0).epoch(0)

    def loss(self, batches: Iterable[NDArray]) -> Ratio:
        """Nats of the real target tokens of some batches' rows, without smoothing, and their number."""
        self.model.eval()
        total = Ratio(0.0, 0)
        with torch.inference_mode():
            for rows in batches:
                batch = self.arrange(assemble(self.store, rows), self.translator.device)
                sums = batch_loss(self.model, batch, 0.0, self.precision)
                total += Ratio(sums.likelihood.item(), batch.target_tokens)
        return total

    def validate(self, step: int) -> Validation:
        """Loss, perplexity and, if there are pairs, the scores of the model's hypotheses, with one as a sample."""
        with rounded_weights(self.model, self.rounding):
            return self._validate(step)

    def _validate(self, step: int) -> Validation:
        before = time.perf_counter()
        own = self.loss(self.plan[number] for number in self.processes.part(range(len(self.plan))))
        total, count = self.processes.total(own.total, own.count)
        loss = Ratio(total, int(count))
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
        value = loss.value if math.isfinite(loss.value) else math.inf
        seconds = round(time.perf_counter() - before, 3)
        return Validation(step, value, perplexity(loss), **scores, seconds=seconds, sample=sample, signature=signature)
