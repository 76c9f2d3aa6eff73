"""The text of a continuation while it is found: whole characters, up to the first stop text. No torch here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from openwork.base.symbols import SYMBOL_IDS
from openwork.text.tokenizer import Tokenizer

Finish = Literal["stop", "length"]
"""Why a continuation ends: at the end symbol or a stop text, or at the length limit."""

REPLACEMENT = "\ufffd"  # what incomplete characters are decoded to
CONTEXT = 16  # pieces of the prompt that are decoded with the first piece after it


@dataclass(frozen=True)
class Prompt:
    """A prompt, and how its continuation is drawn and ends.

    Attributes:
        length: the most pieces of the continuation.
        stops: the continuation ends before the first of these texts.
        is_reply: white space at both ends of the continuation is left out.
        seed: of sampling.
        number: of the sample: that of the same number among several with this seed.
    """

    text: str
    length: int
    stops: tuple[str, ...] = ()
    is_reply: bool = False
    seed: int = 0
    number: int = 0


class ContinuedText:
    """Turns the pieces after a prompt into text, one by one; the parts together are the text of the continuation.

    The bytes of a character wait for the last one, and what may begin a stop text waits for what follows. Some
    tokenizers leave out a space at the start of a text, so a piece is decoded after those before it.
    """

    def __init__(self, tokenizer: Tokenizer, ids: Sequence[int], prompt: Prompt) -> None:
        self.prompt = prompt
        self.text = ""
        self.pieces = 0
        self.finish: Finish | None = None
        self._tokenizer = tokenizer
        self._recent = list(ids[-CONTEXT:])  # the last pieces, the text of the first of which is known
        self._known = tokenizer.decode(self._recent)
        self._count_known = len(self._recent)
        self._held = ""  # decoded, and not shown yet

    def add(self, piece: int) -> str:
        """The text that can be shown now; `finish` is set where the continuation ends with this piece."""
        if piece == SYMBOL_IDS.end:
            self.finish = "stop"
            return self.rest()
        self.pieces += 1
        self._recent.append(piece)
        new, shown = self._new(), ""
        if new and not new.endswith(REPLACEMENT):
            self._recent = self._recent[self._count_known :]
            self._known, self._count_known = self._tokenizer.decode(self._recent), len(self._recent)
            shown = self._take(new)
        if self.finish is None and self.pieces == self.prompt.length:
            shown += self.rest()
            self.finish = self.finish or "length"
        return shown

    def rest(self) -> str:
        """The text that is left when no piece follows."""
        return self._take(self._new()) + self._release(len(self._held), is_last=True)

    def _new(self) -> str:
        """The text of the pieces whose text is not known yet."""
        return self._tokenizer.decode(self._recent)[len(self._known) :]

    def _take(self, new: str) -> str:
        """What can be shown once this text has come."""
        self._held += new
        places = [place for stop in self.prompt.stops if (place := self._held.find(stop)) >= 0]
        if places:
            self.finish = "stop"
            return self._release(min(places), is_last=True)
        waiting = max((_overlap(stop, self._held) for stop in self.prompt.stops), default=0)
        return self._release(len(self._held) - waiting)

    def _release(self, count: int, *, is_last: bool = False) -> str:
        """Shows the first characters of what is held; of a reply no white space at its ends."""
        shown = self._held[:count].rstrip() if self.prompt.is_reply else self._held[:count]
        self._held = "" if is_last else self._held[len(shown) :]
        if self.prompt.is_reply and not self.text:
            shown = shown.lstrip()
        self.text += shown
        return shown


def _overlap(stop: str, text: str) -> int:
    """How many of the last characters of a text are the first ones of a stop text."""
    return next((count for count in range(min(len(stop) - 1, len(text)), 0, -1) if text.endswith(stop[:count])), 0)
