"""A search among the few pieces that can translate a batch, instead of the whole vocabulary.

The output matrix and the softmax over all pieces are a quarter of the work of a small model, and nearly all of it is
for pieces that this sentence cannot need. A lexicon says beforehand which ones it can need (Jean et al. 2015, "On
Using Very Large Target Vocabulary for Neural Machine Translation"): for each source piece its most probable
translations, besides the pieces that are common everywhere, and the source's own, for what is copied.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Int
from torch import Tensor

from openwork.decoding.hypothesis import Hypothesis
from openwork.nn.shapes import Source


@dataclass(frozen=True)
class Shortlist:
    """`always`: ids that may always come, the symbols first. `table`: those of each source piece, -1 for none."""

    always: Int[Tensor, "common"]
    table: Int[Tensor, "source count"]
    shared: bool  # one vocabulary for both sides, so that a source piece may be copied

    def pieces(self, source: Source) -> Int[Tensor, "pieces"]:
        """The ids that may come in the translations of these sentences, ascending."""
        present = source.unique()
        found = [self.always, self.table.index_select(0, present).flatten()]
        if self.shared:
            found.append(present)
        together = torch.cat(found).unique()
        return together[1:] if int(together[0]) < 0 else together


def in_whole_vocabulary(found: Sequence[Sequence[Hypothesis]], pieces: Int[Tensor, "pieces"]) -> list[list[Hypothesis]]:
    """The same hypotheses with ids of the whole vocabulary."""
    ids = pieces.tolist()
    return [[replace(one, tokens=tuple(ids[place] for place in one.tokens)) for one in each] for each in found]
