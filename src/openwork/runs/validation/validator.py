"""Validation while training: the loss of held-out pairs, and scores of their translations."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from numpy.typing import NDArray

from openwork.data.batching import Batch, BatchPlan, BatchSettings, assemble
from openwork.data.records import Pair
from openwork.data.store import TokenStore
from openwork.decoding.settings import DecodingSettings
from openwork.inference.translator import BatchTranslator
from openwork.machine.precision import PrecisionName
from openwork.metrics.accuracy import exact_match
from openwork.metrics.ratio import Ratio, perplexity
from openwork.metrics.translation import bleu, chrf
from openwork.models.interfaces import SequenceModel
from openwork.text.pair import TokenizerPair
from openwork.training.batches.batch import TensorBatch, to_tensors
from openwork.training.objective import batch_loss
from openwork.training.progress import Validation


class Validator:
    """Looks at the same held-out pairs each time; no random number is drawn."""

    def __init__(
        self,
        model: SequenceModel,
        tokenizers: TokenizerPair,
        store: TokenStore,
        pairs: list[Pair],
        precision: PrecisionName,
        language: str | None = None,
        arrange: Callable[[Batch, torch.device], TensorBatch] = to_tensors,
        *,
        shown: Sequence[Pair] = (),
    ) -> None:
        """`pairs` are those to translate: the first of the store, or none. `language` is that of the targets.

        `arrange` lays a batch out for the loss: always the same for the same rows. `shown`: those that samples are made
        of where none are translated, such as beginnings of texts.
        """
        greedy = DecodingSettings(beam=1)
        self.model = model
        self.store = store
        self.pairs = pairs
        self.shown = [] if pairs else [pair for pair in shown if pair.source.strip()]
        self.language = language
        self.arrange = arrange
        self.precision: PrecisionName = precision
        self.translator = BatchTranslator(model, tokenizers, greedy, precision=precision)
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
        """Loss, perplexity and, if there are pairs to translate, BLEU, chrF, exact matches and a sample."""
        before = time.perf_counter()
        loss = self.loss()
        scores: dict[str, Any] = {}
        sample, signature = None, ""
        if self.pairs:
            hypotheses = self.told([pair.source for pair in self.pairs])
            scores, signature = self.scores(self.pairs, hypotheses)
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

    def told(self, sources: Sequence[str]) -> list[str]:
        """What the model makes of each source."""
        return self.translator.best(sources)

    def scores(self, pairs: Sequence[Pair], hypotheses: Sequence[str]) -> tuple[dict[str, Any], str]:
        """BLEU, chrF and exact matches of translations of some pairs, and how BLEU was computed."""
        references = [pair.target for pair in pairs]
        score = bleu(hypotheses, references, language=self.language)
        found = {
            "bleu": score.value,
            "chrf": chrf(hypotheses, references).value,
            "exact": exact_match(hypotheses, references).value,
        }
        return found, score.signature
