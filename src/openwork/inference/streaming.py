"""The text of a translation that is shown while the search runs."""

from openwork.text.pair import TokenizerPair
from openwork.text.placeholders import Spans

REPLACEMENT = "\ufffd"  # what incomplete characters are decoded to


class StreamedText:
    """Turns pieces into new text, one by one; the bytes of a character wait for the last one."""

    def __init__(self, tokenizers: TokenizerPair, spans: Spans) -> None:
        self.tokenizers = tokenizers
        self.spans = spans
        self.pieces: list[int] = []
        self.shown = ""

    def add(self, piece: int) -> str:
        """The text that can be shown now; empty while a character is incomplete."""
        self.pieces.append(piece)
        return self._new(self._text().rstrip(REPLACEMENT))

    def rest(self) -> str:
        """The text that is left when no piece follows."""
        return self._new(self._text())

    def _text(self) -> str:
        return self.tokenizers.decode_target(self.pieces, self.spans).text

    def _new(self, text: str) -> str:
        new = text[len(self.shown) :]
        self.shown += new
        return new
