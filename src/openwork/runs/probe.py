"""Figures of a model in training on some held-out sentences: where it attends, and its quality by teacher forcing."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from openwork.data.batching import assemble
from openwork.data.records import Pair
from openwork.data.store import TokenStore
from openwork.metrics.ratio import exact_match
from openwork.metrics.translation import bleu, chrf
from openwork.models.interfaces import SequenceModel, can_attend
from openwork.nn.recording import recording
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.words import Labels
from openwork.training.batches.batch import to_tensors
from openwork.training.symptoms import Inspection

SENTENCES, LONGEST = 16, 100  # sentences, and the most pieces on a side of them
COUNTED = 1_000_000  # target tokens


def frequency_entropy(store: TokenStore) -> float:
    """Nats a token of a model that knows how frequent each target token is, end symbols included, and nothing else."""
    sentences = int(np.searchsorted(store.target.offsets, COUNTED, side="right")) - 1
    counts = np.bincount(store.target.tokens[: int(store.target.offsets[max(sentences, 1)])]).astype(np.float64)
    shares = np.append(counts[counts > 0], max(sentences, 1))
    shares /= shares.sum()
    return float(-(shares * np.log(shares)).sum())


class LearningProbe:
    """Inspects the model on the first held-out pairs, which are those of the store in its order; draws no number."""

    def __init__(
        self,
        model: SequenceModel,
        tokenizers: TokenizerPair,
        store: TokenStore,
        pairs: Sequence[Pair],
        language: str | None = None,
    ) -> None:
        """`language` is that of the targets."""
        self.model, self.tokenizer, self.store, self.language = model, tokenizers.target, store, language
        few = min(len(pairs) or len(store), len(store), COUNTED)
        longer = np.maximum(store.source.lengths[:few], store.target.lengths[:few])
        short = np.nonzero(longer <= LONGEST)[0][:SENTENCES]  # attention's weights grow with the square of the length
        self.rows = short if len(short) else longer.argsort()[:1]
        self.pairs = pairs

    def look(self) -> Inspection:
        """Leaves the model as validation leaves it."""
        batch = to_tensors(assemble(self.store, self.rows), self.model.output_weight.device)
        self.model.eval()
        with torch.inference_mode(), recording(self.model) as record:
            best = self.model.project(batch.hidden(self.model)).argmax(dim=-1)
        lengths = batch.source_lengths
        weights = [calls[0] for name, calls in record.items() if name.endswith(".cross_attention") and calls]
        if not weights and can_attend(self.model):  # no attention kernels: additive attention
            with torch.inference_mode():
                state = self.model.start(batch.source, lengths)
                weights = [self.model.attend(batch.target_input, state)[1][:, None]]
        figures = [attention_figures(one, lengths, batch.real) for one in weights] or [(0.0, 0.0)]
        entropy, on_padding = np.mean(figures, axis=0).tolist()
        sizes = (self.store.target.lengths[self.rows] + 1).tolist()
        likeliest = self.tokenizer.decode_batch(part.tolist()[:-1] for part in best.split(sizes))
        return Inspection(entropy, on_padding, chrf(likeliest, self._references).value, self._kept)

    @cached_property
    def _stored(self) -> list[str]:
        """The targets, decoded from their pieces."""
        return self.tokenizer.decode_batch(self.store.pair(int(row))[1].tolist() for row in self.rows)

    @cached_property
    def _references(self) -> list[str]:
        """The texts of the targets; without pairs, those that the store has."""
        return [self.pairs[row].target for row in self.rows.tolist()] if self.pairs else self._stored

    @cached_property
    def _kept(self) -> float:
        expected = [" ".join(text.split()) for text in self._references]
        if isinstance(self.tokenizer, Labels) or self._stored == expected:  # BLEU is for texts of four words and more
            return 100 * exact_match(self._stored, expected).value
        return bleu(self._stored, self._references, language=self.language).value


def attention_figures(weights: Tensor, lengths: Tensor, real: Tensor) -> tuple[float, float]:
    """The mean entropy of weights (batch, head, target, source), 1 for uniform ones, and the share on padding.

    `lengths` (batch) of the sources; `real`: places of real target tokens in a flattened (batch, target). Sources of
    one token tell nothing.
    """
    weights = weights.float()
    is_padding = torch.arange(weights.shape[-1], device=weights.device) >= lengths[:, None]
    on_padding = (weights * is_padding[:, None, None]).sum(-1).mean(1).flatten()[real]
    greatest = lengths.float().log()[:, None, None]
    entropies = (torch.special.entr(weights).sum(-1) / greatest).mean(1).flatten()[real]
    finite = entropies[entropies.isfinite()]
    return (float(finite.mean()) if finite.numel() else 0.0), float(on_padding.mean())
