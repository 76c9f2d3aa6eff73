"""Batches of language models.

Masked language models restore masked pieces (Devlin et al. 2019, section 3.1). Of each sentence a share of the pieces
is chosen. Of these, 80 % are replaced by the mask, 10 % by any piece and 10 % stay, so that the model cannot rely on
seeing the mask; the pieces themselves are to be predicted. The choice follows from the seed, the epoch and the pair's
row in the store alone, so that a resumed run chooses as if it had never stopped.

Next-token models predict each token from those on one side of it. The texts are the targets of the pairs, and the model
reads them as its sources: no place of the target sees what it is to predict, which is the model's own concern.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from openwork.base.symbols import SYMBOL_IDS
from openwork.data.batching import Batch
from openwork.training.batches.batch import TensorBatch

MASKED, CHANGED = 0.8, 0.1  # shares of the chosen pieces that the mask, or any piece, takes the place of


@dataclass(frozen=True)
class Masking:
    """How pieces are masked.

    Args:
        mask_piece: the id of the mask.
        begins: for each piece of the vocabulary whether it begins a word.
        share: of a sentence's pieces that are chosen, one at least.
        whole_words: choose words, all pieces of each (in Devlin et al.'s published code).
        seed: from which the choice follows, with the batch's epoch and the rows.
    """

    mask_piece: int
    begins: NDArray[np.bool_]
    share: float
    whole_words: bool
    seed: int

    def __call__(self, batch: Batch, device: torch.device) -> TensorBatch:
        """The sources of a batch, masked, and the pieces to be predicted there; its targets are not used."""
        source, real, masked = batch.source.copy(), [], []
        for number, row in enumerate(batch.rows.tolist()):
            ids = batch.source[number, : batch.source_lengths[number] - 1]
            generator = np.random.default_rng((self.seed, batch.epoch, row))
            places = self.choose(ids, generator)
            source[number, places] = self.replace(ids[places], generator)
            if not len(places):  # nothing to mask: the end, which is predicted anyway
                places = np.array([len(ids)])
            real.append(number * source.shape[1] + places)
            masked.append(batch.source[number, places])
        start = np.full((len(source), 1), SYMBOL_IDS.start)
        target_input = np.concatenate([start, batch.source[:, :-1]], axis=1)
        found = np.concatenate(real), np.concatenate(masked)
        return TensorBatch.of(device, source, batch.source_lengths, target_input, *found)

    def choose(self, ids: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
        """The places that are chosen in a sentence (without its end), ascending; symbols never are."""
        places = (ids > SYMBOL_IDS.end).nonzero()[0]
        wanted = max(1, round(self.share * len(places)))
        if not self.whole_words:
            return np.sort(generator.permutation(places)[:wanted])
        words = np.split(places, self.begins[ids[places]].nonzero()[0])
        words = [word for word in words if len(word)]
        chosen: list[int] = []
        for word in (words[number].tolist() for number in generator.permutation(len(words))):
            if not chosen or len(chosen) + len(word) <= wanted:
                chosen += word
        return np.array(sorted(chosen), dtype=np.int64)

    def replace(self, ids: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
        """What is read in place of these pieces."""
        lot = generator.random(len(ids))
        others = generator.integers(SYMBOL_IDS.end + 1, len(self.begins), len(ids))
        return np.where(lot < MASKED, self.mask_piece, np.where(lot < MASKED + CHANGED, others, ids))


def next_token_batch(batch: Batch, device: torch.device, *, backwards: bool) -> TensorBatch:
    """Texts as sources; the targets START x_1 ... END, at each place the token after it, and then itself.

    Predicted forwards that is x_1 to END. `backwards`: each token is predicted a second time, from those behind it,
    START to x_n.
    """
    texts, counts = batch.target_output, batch.target_lengths
    start = np.full((len(texts), 1), SYMBOL_IDS.start)
    before = np.concatenate([start, texts[:, :-1]], axis=1)
    predicted = np.stack([texts, before], axis=2).reshape(len(texts), -1) if backwards else texts
    is_real = np.arange(predicted.shape[1]) < (counts * (1 + backwards))[:, None]
    target_input = np.concatenate([start, predicted[:, :-1]], axis=1)
    return TensorBatch.of(device, texts, counts, target_input, is_real.ravel().nonzero()[0], predicted[is_real])
