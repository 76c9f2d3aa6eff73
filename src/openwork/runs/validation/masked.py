"""Validation while training a model that restores masked pieces: the loss, and how many of them it restores.

Both are over the same masks each time.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from openwork.base.symbols import SYMBOL_IDS
from openwork.data.batching import assemble
from openwork.data.records import Pair
from openwork.metrics.ratio import Ratio
from openwork.runs.validation.validator import Validator
from openwork.training.objective import hidden_states

SENTENCES = 64  # that are read together


class MaskedValidator(Validator):
    """Looks at the same held-out sentences each time, as `Validator` does, and restores them instead of translating."""

    restored = Ratio(0.0, 0)  # of the masked pieces, at the last look

    def told(self, sources: Sequence[str]) -> list[str]:
        """The first sentences of the store, with the likeliest pieces in the masked places."""
        self.model.eval()
        texts, self.restored = [], Ratio(0.0, 0)
        for first in range(0, len(sources), SENTENCES):
            rows = np.arange(first, min(first + SENTENCES, len(sources)))
            batch = self.arrange(assemble(self.store, rows), self.translator.device)
            with torch.inference_mode():
                best = self.model.project(hidden_states(self.model, batch, self.precision).float()).argmax(dim=-1)
            self.restored += Ratio(float((best == batch.real_targets).sum()), len(best))
            ids = batch.source.flatten().index_copy(0, batch.real, best).view(batch.source.shape).tolist()
            lengths = (batch.source_lengths - 1).tolist()
            rest = [
                [one for one in row[:length] if one > SYMBOL_IDS.end] for row, length in zip(ids, lengths, strict=True)
            ]
            texts += self.translator.tokenizers.source.decode_batch(rest)
        return texts

    def scores(self, pairs: Sequence[Pair], hypotheses: Sequence[str]) -> tuple[dict[str, Any], str]:
        return {"score": 100 * self.restored.value, "score_name": "restored"}, ""
