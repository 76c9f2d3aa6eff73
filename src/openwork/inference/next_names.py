"""Ranking of what comes next in a sequence of names, such as the films that somebody watched."""

from collections.abc import Sequence

import torch

from openwork.base.errors import UsageError
from openwork.base.lines import OnProgress, ignore_progress
from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import Bundle
from openwork.inference.batches import LONGEST, batches, padded
from openwork.inference.completer import check_continues
from openwork.text.pieces.words import Labels
from openwork.text.tokenizer import SYMBOL_NAMES

BATCH_TOKENS = 4096


class NextNameRanker:
    """Ranks the names of a language model's vocabulary as continuations of sequences of names."""

    def __init__(self, bundle: Bundle) -> None:
        """UsageError for a model that does not continue its source, or whose pieces are no names."""
        check_continues(bundle)
        self.model, self.tokenizer = bundle.model.eval(), bundle.tokenizers.target
        if not isinstance(self.tokenizer, Labels):
            raise UsageError(
                "this model predicts pieces of words, and names are ranked whole",
                hint='train a language model with text.kind = "labels"',
                code="U116",
            )
        self.longest = min(LONGEST, bundle.model.maximum_length or LONGEST) - 2  # the start and one name

    def rank(self, sources: Sequence[str], count: int, advanced: OnProgress = ignore_progress) -> list[list[str]]:
        """The `count` most probable next names of each source, best first, without those that it has already.

        Of a source that is too long for the model, the end is read.
        """
        rows = self.tokenizer.encode_batch(sources)
        ranked: list[list[str]] = [[] for _ in rows]
        lengths = {place: min(len(row), self.longest) + 1 for place, row in enumerate(rows)}
        for batch in batches(lengths, BATCH_TOKENS):
            for place, names in zip(batch, self._best([rows[place] for place in batch], count), strict=True):
                ranked[place] = [self.tokenizer.piece(name) for name in names]
            advanced(len(batch))
        return ranked

    @torch.inference_mode()
    def _best(self, rows: Sequence[Sequence[int]], count: int) -> list[list[int]]:
        source, lengths = padded([row[-self.longest :] for row in rows], next(self.model.parameters()).device)
        starts = source.new_full((len(rows), 1), SYMBOL_IDS.start)
        logits = self.model.step(starts, self.model.start(source, lengths))[0][:, 0]
        for row, scores in zip(rows, logits, strict=True):
            scores[[*range(len(SYMBOL_NAMES)), *row]] = -torch.inf
        found = logits.topk(min(count, logits.shape[1]), dim=1)
        return [
            [name for name, score in zip(*lists, strict=True) if score > -torch.inf]
            for lists in zip(found.indices.tolist(), found.values.tolist(), strict=True)
        ]
