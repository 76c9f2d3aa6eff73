"""WordPiece: from the left, always the longest piece that the vocabulary has.

Schuster and Nakajima, "Japanese and Korean Voice Search" (2012), in the form of BERT (Devlin et al. 2019): a piece that
continues a word is written "##s". Unlike in BERT, the space before a word is part of its first piece, and a character
that has no piece becomes its bytes instead of making the whole word unknown: nothing is lost. The vocabulary is learnt
by merges, as the library does it.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Self

from tokenizers import Regex, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as LibraryTokenizer

from openwork.text.pieces.alphabet import LONGEST_PIECE, common_characters, isolated, without_rare, words_of_common
from openwork.text.pieces.learnt import LearntTokenizer, trained_model
from openwork.text.tokenizer import SPLIT, SYMBOLS
from openwork.text.work import Algorithm, Match, WordWork, byte_names

PREFIX = "##"
LONGEST_WORD = 100
# A "#" is a word of its own: else "###" would be both the text "###" and a "#" that continues a word.
_SPLIT = SPLIT.replace("| ?<|", "| ?[<#]|").replace(r"\p{N}<]+", r"\p{N}<#]+")
_CHUNKS = rf"[\s\S]{{1,{LONGEST_WORD}}}"  # the time for a word grows with the square of its length, or worse


class Matching(Algorithm):
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


class WordPiece(LearntTokenizer):
    """The longest match first, and bytes for a character that has no piece."""

    kind = "wordpiece"
    algorithm_type = partial(Matching, byte_fallback=True)

    @classmethod
    def library(cls, names: Iterable[str] = ()) -> LibraryTokenizer:
        model = models.WordPiece(
            cls.vocabulary(names),
            unk_token=SYMBOLS.unknown,
            continuing_subword_prefix=PREFIX,
            max_input_chars_per_word=LONGEST_WORD,
        )
        library = LibraryTokenizer(model)
        library.pre_tokenizer = pre_tokenizers.Sequence([isolated(_SPLIT), isolated(_CHUNKS)])
        library.decoder = decoders.Sequence([decoders.Replace(Regex(f"^{PREFIX}"), ""), decoders.ByteFallback()])
        return library

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts; those with a character that has no piece are done again, with bytes."""
        rows = super().encode_batch(texts)
        for place, row in enumerate(rows):
            if self.unknown_id in row:
                works = (self.algorithm.work(word) for word, _ in self.words(texts[place]))
                rows[place] = [self.ids_of_names[name] for work in works for name in work.pieces]
        return rows

    @classmethod
    def _learn(cls, lines: Iterable[str], names: list[str], room: int, frequency: int, of_character: int) -> Self:
        """A common character gets two pieces, at the begin of a word and inside."""
        fixed = [*cls.fixed_names, *names]
        alphabet = sorted(common_characters(lines, of_character, room // 4))
        trainer = trainers.WordPieceTrainer(
            vocab_size=len(fixed) + room,
            min_frequency=frequency,
            # the characters are named in order: else the library finds them in an order that changes from run to run
            special_tokens=[*fixed, *alphabet, *(PREFIX + c for c in alphabet if c not in "#<")],
            continuing_subword_prefix=PREFIX,
            show_progress=False,
        )
        empty = models.WordPiece(unk_token=SYMBOLS.unknown)
        model = trained_model(empty, words_of_common(_SPLIT), without_rare(lines, alphabet), trainer)
        return cls.of([name for name in cls.names_after_fixed(model["vocab"]) if len(name) <= LONGEST_PIECE])

    def _stays(self, name: str) -> bool:
        return len(name.removeprefix(PREFIX)) == 1 or super()._stays(name)

    def _bytes_of(self, name: str) -> bytes:
        return name.removeprefix(PREFIX).encode() if name != PREFIX else name.encode()
