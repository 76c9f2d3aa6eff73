"""Words: each common word, number or run of punctuation is one piece, and every other is unknown.

How texts were cut before sub-words; kept to compare with. What is lost: a word that is not in the vocabulary becomes
the symbol <unk>, and decoding writes "<unk>" in its place. A text of known words comes back whole, for a piece keeps
the space before it. Chinese, which has no spaces, gets whole clauses as words: use another kind there.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from tokenizers import Regex, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as LibraryTokenizer

from openwork.text.pieces.alphabet import COMMON, refuse_small
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.symbols import SPLIT, SYMBOL_NAMES, SYMBOLS, placeholder_names
from openwork.text.tokenizer import refuse_surrogates


class Words(LearntTokenizer):
    """Whole words with the space before them, or <unk>."""

    kind = "words"
    fixed_names = SYMBOL_NAMES

    @classmethod
    def skeleton(cls) -> LibraryTokenizer:
        return cls._library_of([])

    @classmethod
    def of(cls, names: Iterable[str]) -> "Words":
        """The tokenizer with these placeholders and words after the symbols."""
        return cls(cls._library_of(names))

    @staticmethod
    def _library_of(names: Iterable[str]) -> LibraryTokenizer:
        vocabulary = {name: number for number, name in enumerate([*SYMBOL_NAMES, *names])}
        library = LibraryTokenizer(models.WordLevel(vocabulary, unk_token=SYMBOLS.unknown))
        library.pre_tokenizer = pre_tokenizers.Split(Regex(SPLIT), behavior="isolated")
        library.decoder = decoders.Fuse()
        return library

    def _extended(self, lines: Iterable[str], size: int) -> "Words":
        known = [self.piece(number) for number in range(len(SYMBOL_NAMES), self.vocabulary_size)]
        new = [word for word in _common_words(lines, 2) if word not in self.ids_of_names]
        return Words.of([*known, *new[: size - self.vocabulary_size]])

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids. An unknown word is written as "<unk>", with a space before it unless it is the first."""
        row = list(ids)
        parts = []
        for number in row:
            if number == self.unknown_id:
                parts.append(f" {self.symbols.unknown}" if parts else self.symbols.unknown)
            elif piece := super().decode([number]):
                parts.append(piece)
        return "".join(parts)

    def _offsets(self, text: str, ids: Sequence[int]) -> list[tuple[int, int]]:
        refuse_surrogates([text])
        return [(begin, begin + len(word)) for word, begin in self.words(text)]


def train_words(
    lines: Iterable[str],
    vocabulary_size: int,
    *,
    minimum_frequency: int = 2,
    placeholders: int = 0,
    character_frequency: int = COMMON,
) -> Words:
    """The words that occur `minimum_frequency` times, the commonest first, as far as the room goes."""
    names = placeholder_names(placeholders)
    refuse_small(vocabulary_size, len(SYMBOL_NAMES) + len(names))
    room = vocabulary_size - len(SYMBOL_NAMES) - len(names)
    return Words.of([*names, *_common_words(lines, minimum_frequency)[:room]])


def _common_words(lines: Iterable[str], frequency: int) -> list[str]:
    """The words that occur so often, the commonest first, of equally common ones the lesser by code points."""
    cut = pre_tokenizers.Split(Regex(SPLIT), behavior="isolated")
    counts = Counter(word for line in lines for word, _ in cut.pre_tokenize_str(line))
    common = [word for word, count in counts.items() if count >= frequency]
    return sorted(common, key=lambda word: (-counts[word], word))
