"""A translation while it is being written: what can be shown already."""

from openwork.text.pair import TokenizerPair
from openwork.text.placeholders import Spans

REPLACEMENT = "\ufffd"  # what incomplete characters are decoded to


class GrowingText:
    """Takes pieces and gives the new text; the bytes of a character wait for its last one."""

    def __init__(self, tokenizers: TokenizerPair, spans: Spans) -> None:
        self.tokenizers = tokenizers
        self.spans = spans
        self.pieces: list[int] = []
        self.shown = ""

    def add(self, piece: int) -> str:
        """What can be shown now and could not before; often nothing, where a character is incomplete."""
        self.pieces.append(piece)
        return self._new(self._text().rstrip(REPLACEMENT))

    def rest(self) -> str:
        """What is left to be shown when no piece follows."""
        return self._new(self._text())

    def _text(self) -> str:
        # a translation is one line, whatever the model says
        return " ".join(self.tokenizers.decode_target(self.pieces, self.spans).text.splitlines())

    def _new(self, text: str) -> str:
        new = text[len(self.shown) :]
        self.shown += new
        return new
