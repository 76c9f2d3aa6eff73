"""WordPiece: a word is cut from the left, always the longest piece that the vocabulary has.

Schuster and Nakajima (2012), in the form of BERT: a piece that continues a word is written "##s". Unlike in BERT, the
space before a word is part of its first piece, and a character that has no piece becomes its bytes instead of making
the whole word unknown: nothing is lost. The vocabulary is learnt by merges, as the library does it.
"""

import json
from collections.abc import Iterable, Sequence

from tokenizers import Regex, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as LibraryTokenizer

from openwork.text.pieces.alphabet import (
    COMMON,
    LONGEST_PIECE,
    common_characters,
    read_twice,
    refuse_small,
    without_rare,
    words_of_common,
)
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.pieces.matching import Matching
from openwork.text.symbols import FIXED_NAMES, SPLIT, SYMBOLS, placeholder_names

PREFIX = "##"
LONGEST_WORD = 100
# A "#" is a word of its own: else "###" would be both the text "###" and a "#" that continues a word.
_SPLIT = SPLIT.replace("| ?<|", "| ?[<#]|").replace(r"\p{N}<]+", r"\p{N}<#]+")
_CHUNKS = rf"[\s\S]{{1,{LONGEST_WORD}}}"  # the time for a word grows with the square of its length, or worse


class WordPiece(LearntTokenizer):
    """The longest match first, and bytes for a character that has no piece."""

    kind = "wordpiece"

    @classmethod
    def skeleton(cls) -> LibraryTokenizer:
        return cls._library_of([])

    @classmethod
    def of(cls, names: Iterable[str]) -> "WordPiece":
        """The tokenizer with these placeholders and pieces after the fixed ones."""
        return cls(cls._library_of(names))

    @staticmethod
    def _library_of(names: Iterable[str]) -> LibraryTokenizer:
        vocabulary = {name: number for number, name in enumerate([*FIXED_NAMES, *names])}
        model = models.WordPiece(
            vocabulary,
            unk_token=SYMBOLS.unknown,
            continuing_subword_prefix=PREFIX,
            max_input_chars_per_word=LONGEST_WORD,
        )
        library = LibraryTokenizer(model)
        library.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Split(Regex(pattern), behavior="isolated") for pattern in (_SPLIT, _CHUNKS)]
        )
        library.decoder = decoders.Sequence([decoders.Replace(Regex(f"^{PREFIX}"), ""), decoders.ByteFallback()])
        return library

    def _make_algorithm(self) -> Matching:
        return Matching(self._model, byte_fallback=True)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts; those with a character that has no piece are done again, with bytes."""
        rows = super().encode_batch(texts)
        for place, row in enumerate(rows):
            if self.unknown_id in row:
                works = (self.algorithm.work(word) for word, _ in self.words(texts[place]))
                rows[place] = [self.ids_of_names[name] for work in works for name in work.pieces]
        return rows

    def _extended(self, lines: Iterable[str], size: int) -> "WordPiece":
        known = [self.piece(number) for number in range(len(FIXED_NAMES), self.vocabulary_size)]
        learnt = train_wordpiece(lines, size, placeholders=self.placeholders)
        names = (learnt.piece(number) for number in range(len(FIXED_NAMES), learnt.vocabulary_size))
        new = [name for name in names if name not in self.ids_of_names]
        return WordPiece.of([*known, *new[: size - self.vocabulary_size]])

    def _bytes_of(self, name: str) -> bytes:
        return name.removeprefix(PREFIX).encode() if name != PREFIX else name.encode()


def train_wordpiece(
    lines: Iterable[str],
    vocabulary_size: int,
    *,
    minimum_frequency: int = 2,
    placeholders: int = 0,
    character_frequency: int = COMMON,
) -> WordPiece:
    """Learn at most `vocabulary_size` pieces; a pair must occur `minimum_frequency` times to become one.

    A character that occurs `character_frequency` times gets two pieces, at the begin of a word and inside, as far as
    half of the room goes, the commonest first.
    """
    fixed = [*FIXED_NAMES, *placeholder_names(placeholders)]
    refuse_small(vocabulary_size, len(fixed))
    lines = read_twice(lines)
    alphabet = sorted(common_characters(lines, character_frequency, (vocabulary_size - len(fixed)) // 4))
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary_size,
        min_frequency=minimum_frequency,
        # the characters are named in order: else the library finds them in an order that changes from run to run
        special_tokens=[*fixed, *alphabet, *(PREFIX + c for c in alphabet if c not in "#<")],
        continuing_subword_prefix=PREFIX,
        show_progress=False,
    )
    library = LibraryTokenizer(models.WordPiece(unk_token=SYMBOLS.unknown))
    library.pre_tokenizer = words_of_common(_SPLIT)
    library.train_from_iterator(without_rare(lines, alphabet), trainer)
    vocabulary = json.loads(library.to_str())["model"]["vocab"]
    names = sorted(vocabulary, key=lambda name: vocabulary[name])
    return WordPiece.of([name for name in names[len(FIXED_NAMES) :] if len(name) <= LONGEST_PIECE])
