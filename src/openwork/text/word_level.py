"""Texts cut word by word, for tagging: each word between spaces begins with one piece that begins a word.

A tagger gives one tag for each piece that begins a word; which pieces do is a fact of the vocabulary (`word_starts`).
Our own kinds keep the space before a word inside its first piece, so a text is given a space before its first word too.
External tokenizers split a word at punctuation ("o'hare" becomes o, ', hare), which would be three word starts: there
the pieces of a word end before a second start. The tagger does not read the rest of such a word; its tag stays in its
place.
"""

from collections.abc import Callable, Sequence
from functools import cached_property

from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.pieces.wordpiece import PREFIX
from openwork.text.symbols import SYMBOL_NAMES, Pieces
from openwork.text.tokenizer import Tokenizer
from openwork.text.work import WordWork
from openwork.text.wrapped import Wrapped, unwrapped

_SPACES = (" ", "▁")  # as pieces' names show the space before a word


def word_starts(tokenizer: Tokenizer) -> list[bool]:
    """For each piece whether it begins a word: those with the space before it, and the unknown symbol.

    BERT's pieces have no spaces: there all begin a word but those that continue one ("##s").
    """
    names = [tokenizer.piece(number) for number in range(len(SYMBOL_NAMES), tokenizer.vocabulary_size)]
    ours = isinstance(unwrapped(tokenizer), LearntTokenizer)
    if not ours and any(name.startswith(PREFIX) for name in names):
        begins = [not name.startswith(PREFIX) for name in names]
    else:
        begins = [name.startswith(_SPACES) for name in names]
    return [number == tokenizer.unknown_id for number in range(len(SYMBOL_NAMES))] + begins


class WordLevelTokenizer(Wrapped):
    """Texts are lists of words; a word is what stands between spaces.

    There are as many word_starts in the ids of a text as it has words: a word of which the tokenizer makes nothing, or
    whose first piece is no beginning, begins with the unknown symbol.
    """

    form = "word by word"

    @cached_property
    def begins(self) -> list[bool]:
        """For each piece whether it begins a word."""
        return word_starts(self)

    def _cut(self, texts: Sequence[str], encode: Callable[[Sequence[str]], list[list[int]]]) -> list[list[int]]:
        cut = [text.split() for text in texts]
        rows = iter(encode([f" {word}" for words in cut for word in words]))
        return [[number for _ in words for number in self._one_beginning(next(rows))] for words in cut]

    def _one_beginning(self, row: Sequence[int]) -> list[int]:
        """The pieces of a word up to a second beginning."""
        if not row or not self.begins[row[0]]:
            row = [self.unknown_id, *row]
        end = next((place for place in range(1, len(row)) if self.begins[row[place]]), len(row))
        return list(row[:end])

    def encode_pieces(self, text: str) -> Pieces:
        found = Pieces([], [], [])
        begin = 0
        for word in text.split():
            begin = text.index(word, begin)
            ids = self.encode(word)
            found.ids.extend(ids)
            found.pieces.extend(map(self.piece, ids))
            found.offsets.extend([(begin, begin + len(word))] * len(ids))
            begin += len(word)
        return found

    def work(self, text: str) -> list[WordWork]:
        return [work for word in text.split() for work in self.inner.work(f" {word}")]
