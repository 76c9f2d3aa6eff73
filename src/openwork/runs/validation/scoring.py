"""What a model in training makes of held-out sources, and its scores, by the task of the model."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from openwork.base.symbols import SYMBOL_IDS
from openwork.base.tasks import LABELLING, Task
from openwork.data.batching import Batch, assemble
from openwork.data.records import Pair
from openwork.data.store import TokenStore
from openwork.evaluation.label_scores import label_scores
from openwork.inference.labeller import Labeller
from openwork.inference.translator import BatchTranslator
from openwork.machine.precision import PrecisionName
from openwork.metrics.ratio import Ratio, exact_match
from openwork.metrics.translation import bleu, chrf
from openwork.models.interfaces import SequenceModel
from openwork.text.pair import TokenizerPair
from openwork.training.batches.batch import TensorBatch
from openwork.training.objective import hidden_states

SENTENCES = 64  # whose masked pieces are restored together


class Scoring(ABC):
    """Hypotheses of a model for some sources, and their scores."""

    @abstractmethod
    def hypotheses(self, sources: Sequence[str]) -> list[str]:
        """What the model gives for each source."""

    @abstractmethod
    def scores(self, pairs: Sequence[Pair], hypotheses: Sequence[str]) -> tuple[dict[str, Any], str]:
        """Fields of `Validation` with the scores, and the signature of BLEU; empty without BLEU."""


class TranslationScoring(Scoring):
    """Translations by greedy search: BLEU, chrF and exact matches. `language` is that of the targets."""

    def __init__(self, translator: BatchTranslator, language: str | None = None) -> None:
        self.translator = translator
        self.language = language

    def hypotheses(self, sources: Sequence[str]) -> list[str]:
        return self.translator.best(sources)

    def scores(self, pairs: Sequence[Pair], hypotheses: Sequence[str]) -> tuple[dict[str, Any], str]:
        references = [pair.target for pair in pairs]
        score = bleu(hypotheses, references, language=self.language)
        found = {
            "bleu": score.value,
            "chrf": chrf(hypotheses, references).value,
            "exact": exact_match(hypotheses, references).value,
        }
        return found, score.signature


class LabelScoring(Scoring):
    """Labels: the score of the task, and the share of targets that are right as a whole."""

    def __init__(self, task: Task, model: SequenceModel, tokenizers: TokenizerPair, precision: PrecisionName) -> None:
        self.labeller = Labeller(model, tokenizers, task, precision=precision)

    def hypotheses(self, sources: Sequence[str]) -> list[str]:
        return self.labeller.best(sources)

    def scores(self, pairs: Sequence[Pair], hypotheses: Sequence[str]) -> tuple[dict[str, Any], str]:
        references = [" ".join(pair.target.split()) for pair in pairs]
        own, *_ = label_scores(self.labeller.task, references, hypotheses)
        exact = exact_match(hypotheses, references).value
        return {"score": own.value, "score_name": own.name.replace(" ", "_"), "exact": exact}, ""


class MaskedScoring(Scoring):
    """Masked pieces: how many of them the model restores. The masks are the same each time."""

    def __init__(
        self,
        model: SequenceModel,
        tokenizers: TokenizerPair,
        store: TokenStore,
        arrange: Callable[[Batch, torch.device], TensorBatch],
        precision: PrecisionName,
    ) -> None:
        """`store` holds the sources; `arrange` masks them."""
        self.model = model
        self.tokenizer = tokenizers.source
        self.store = store
        self.arrange = arrange
        self.precision: PrecisionName = precision
        self.restored = Ratio(0.0, 0)  # of the masked pieces, by the last hypotheses

    def hypotheses(self, sources: Sequence[str]) -> list[str]:
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
            rest = [
                [one for one in row[:length] if one > SYMBOL_IDS.end] for row, length in zip(ids, lengths, strict=True)
            ]
            texts += self.tokenizer.decode_batch(rest)
        return texts

    def scores(self, pairs: Sequence[Pair], hypotheses: Sequence[str]) -> tuple[dict[str, Any], str]:
        return {"score": 100 * self.restored.value, "score_name": "restored"}, ""


def scoring_of(
    task: Task,
    model: SequenceModel,
    translator: BatchTranslator,
    store: TokenStore,
    arrange: Callable[[Batch, torch.device], TensorBatch],
    precision: PrecisionName,
    language: str | None,
) -> Scoring | None:
    """How a model of this task is scored while it trains; None for a language model, whose loss says all."""
    if task == "language-model":
        return None
    if task == "fill":
        return MaskedScoring(model, translator.tokenizers, store, arrange, precision)
    if task in LABELLING:
        return LabelScoring(task, model, translator.tokenizers, precision)
    return TranslationScoring(translator, language)
