"""WordPiece: from the left, always the longest piece that the vocabulary has.

Schuster and Nakajima, "Japanese and Korean Voice Search" (2012); the matching as in BERT (Devlin et al., 2019). A piece
that continues a word bears a prefix in the vocabulary, "##".
"""

from collections.abc import Mapping
from typing import Any

from openwork.text.work import Match, WordWork, byte_names


class Matching:
    """The longest matches of a vocabulary."""

    def __init__(self, model: Mapping[str, Any], *, byte_fallback: bool = False) -> None:
        """From a WordPiece model as the `tokenizers` library writes it.

        With `byte_fallback`, a character that has no piece becomes its bytes; without, its whole word is unknown.
        """
        self.vocabulary: Mapping[str, int] = model["vocab"]
        self.prefix: str = model["continuing_subword_prefix"]
        self.unknown: str = model["unk_token"]
        self.longest_word: int = model["max_input_chars_per_word"]
        self.byte_fallback = byte_fallback
        self._longest_piece = max(map(len, self.vocabulary), default=1)

    def work(self, word: str) -> WordWork:
        """Every piece that was looked for, in order. What is longer than all pieces need not be looked for."""
        if len(word) > self.longest_word and not self.byte_fallback:
            return WordWork(word, (), (), (self.unknown,))
        steps: list[Match] = []
        pieces: list[str] = []
        begin = 0
        while begin < len(word):
            prefix = self.prefix if begin else ""
            for end in range(min(len(word), begin + self._longest_piece), begin, -1):
                piece = prefix + word[begin:end]
                steps.append(Match(begin, piece, piece in self.vocabulary))
                if steps[-1].found:
                    pieces.append(piece)
                    begin = end
                    break
            else:
                if not self.byte_fallback:
                    return WordWork(word, (), tuple(steps), (self.unknown,))
                pieces += byte_names(word[begin])
                begin += 1
        return WordWork(word, (), tuple(steps), tuple(pieces))
