"""Texts to be predicted: how a batch is laid out for a model that tells each token from those on one side of it.

The texts are the targets of the pairs, as for every language model, and the model reads them as its sources: no place
of the target sees what it is to tell, which is the model's own concern.
"""

from dataclasses import dataclass

import numpy as np
import torch

from openwork.base.symbols import SYMBOL_IDS
from openwork.data.batching import Batch
from openwork.training.batches.batch import TensorBatch
from openwork.training.batches.moving import moved


@dataclass(frozen=True)
class NextTokenBatches:
    """`backwards`: each token is told a second time, from those behind it."""

    backwards: bool

    def __call__(self, batch: Batch, device: torch.device) -> TensorBatch:
        """Texts as sources; the targets START x_1 ... END, at each place the token after it, and then itself.

        Told forwards that is x_1 to END, told backwards START to x_n.
        """
        texts, counts = batch.target_output, batch.target_lengths
        start = np.full((len(texts), 1), SYMBOL_IDS.start)
        before = np.concatenate([start, texts[:, :-1]], axis=1)
        told = np.stack([texts, before], axis=2).reshape(len(texts), -1) if self.backwards else texts
        lengths = counts * (2 if self.backwards else 1)
        is_real = np.arange(told.shape[1]) < lengths[:, None]
        return TensorBatch(
            source=moved(torch.from_numpy(texts), device),
            source_lengths=moved(torch.from_numpy(counts), device),
            target_input=moved(torch.from_numpy(np.concatenate([start, told[:, :-1]], axis=1)), device),
            real=moved(torch.from_numpy(is_real.reshape(-1).nonzero()[0]), device),
            real_targets=moved(torch.from_numpy(told[is_real]), device),
            sentences=len(texts),
            source_tokens=int(counts.sum()),
        )
