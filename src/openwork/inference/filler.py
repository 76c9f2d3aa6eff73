"""Mask filling: a masked language model restores missing pieces of a text."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from openwork.inference.batches import OnProgress, ignore_progress
from openwork.inference.labeller import SYMBOLS, Choice, Place, TargetLogits
from openwork.models.interfaces import SequenceModel
from openwork.text.tokenizer import Tokenizer

GAP = "[MASK]"


@dataclass(frozen=True)
class Filled:
    """A text with its gaps filled by the best pieces, and for each gap the most probable ones. `cut`: was too long."""

    text: str
    gaps: tuple[Place, ...] = ()
    cut: bool = False


class GapFiller:
    """Fills the gaps of texts. Each gap is one piece, predicted independently of the others."""

    def __init__(self, model: SequenceModel, tokenizer: Tokenizer, mask_piece: int) -> None:
        self.logits = TargetLogits(model)
        self.tokenizer = tokenizer
        self.mask_piece = mask_piece

    def fill(self, texts: Sequence[str], best: int = 1, *, advanced: OnProgress = ignore_progress) -> list[Filled]:
        """Each text with its gaps filled; a text without a gap gives itself."""
        found = [Filled(text) for text in texts]
        rows = {place: self._row(text) for place, text in enumerate(texts) if GAP in text}
        for batch, kept in self.logits.batches(rows):
            logits = self.logits.of(kept, max(map(len, kept))).clone()
            logits[..., SYMBOLS] = -torch.inf
            for place, row, shares in zip(batch, kept, logits.softmax(dim=-1), strict=True):
                found[place] = self._filled(row, shares, best, cut=len(rows[place]) > len(row))
            advanced(len(batch))
        return found

    def _row(self, text: str) -> list[int]:
        """The ids of a text; a space before a gap belongs to the piece that is missing."""
        *before, after = text.split(GAP)
        rows = self.tokenizer.encode_batch([*(part.removesuffix(" ") for part in before), after])
        row = rows[0]
        for part in rows[1:]:
            row = [*row, self.mask_piece, *part]
        return row

    def _filled(self, row: list[int], shares: torch.Tensor, best: int, *, cut: bool) -> Filled:
        gaps: list[Place] = []
        whole = list(row)
        for place, piece in enumerate(row):
            if piece != self.mask_piece:
                continue
            values, numbers = shares[place].topk(min(best, shares.shape[-1] - len(SYMBOLS)))
            whole[place] = int(numbers[0])
            names = map(self.tokenizer.piece, numbers.tolist())
            gaps.append(tuple(Choice(name, value) for name, value in zip(names, values.tolist(), strict=True)))
        return Filled(" ".join(self.tokenizer.decode(whole).splitlines()), tuple(gaps), cut)
