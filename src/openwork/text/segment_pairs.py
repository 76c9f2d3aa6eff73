"""Texts of several parts, for tasks about two sentences: a tab parts them, and each but the last gets an end symbol.

So a model sees where the second sentence begins, as BERT does by its [SEP] (Devlin et al. 2019, section 3): the
source's own end symbol closes the last part.
"""

from collections.abc import Callable, Sequence

from openwork.text.symbols import Pieces
from openwork.text.work import WordWork
from openwork.text.wrapped import Wrapped

SEPARATOR = "\t"


class SegmentPairTokenizer(Wrapped):
    """Texts whose parts are parted by tabs; one without a tab has the ids that it always had."""

    form = "parted"

    def _cut(self, texts: Sequence[str], encode: Callable[[Sequence[str]], list[list[int]]]) -> list[list[int]]:
        cut = [text.split(SEPARATOR) for text in texts]
        rows = iter(encode([part for parts in cut for part in parts]))
        found = []
        for parts in cut:
            row = next(rows)
            for _ in parts[1:]:
                row = [*row, self.end_id, *next(rows)]
            found.append(row)
        return found

    def encode_pieces(self, text: str) -> Pieces:
        found = Pieces([], [], [])
        begin = 0
        for part in text.split(SEPARATOR):
            if begin:
                found.ids.append(self.end_id)
                found.pieces.append(self.piece(self.end_id))
                found.offsets.append((begin - 1, begin))
            pieces = self.inner.encode_pieces(part)
            found.ids.extend(pieces.ids)
            found.pieces.extend(pieces.pieces)
            found.offsets.extend((begin + first, begin + last) for first, last in pieces.offsets)
            begin += len(part) + 1
        return found

    def work(self, text: str) -> list[WordWork]:
        return [work for part in text.split(SEPARATOR) for work in self.inner.work(part)]
