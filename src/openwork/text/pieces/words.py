"""Pieces that are looked up as they are: words, characters and labels.

Words: each common word, number or run of punctuation is one piece, and every other is unknown. How texts were cut
before sub-words; kept to compare with. What is lost: a word that is not in the vocabulary becomes the symbol <unk>, and
decoding writes "<unk>" in its place. A text of known words comes back whole, for a piece keeps the space before it.
Chinese, which has no spaces, gets whole clauses as words: use another kind there.

Characters: each common character is a piece, and a rare one its bytes. For languages written without spaces, for
copying tasks, and to compare with. Nothing is lost, and texts get long.

Labels: each name between spaces is one piece. The targets of models that classify and tag, and sequences of names, such
as the films that somebody watched. A target is not cut: "B-toloc.city_name O" is two pieces. Every label of the
training data is known, however rare it is. What is lost: a label that training had not becomes the symbol <unk>, and
several spaces become one.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Self

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import decoders, models, pre_tokenizers

from openwork.base.errors import ConfigError
from openwork.text.pieces.alphabet import by_frequency, common_characters, isolated
from openwork.text.pieces.bytepair import Merging
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.tokenizer import SPLIT, SYMBOL_NAMES, SYMBOLS, refuse_surrogates
from openwork.text.work import Algorithm, Match, WordWork


class Lookup(Algorithm):
    """Whole words: a word is in the vocabulary, or it is unknown."""

    def __init__(self, model: Mapping[str, Any]) -> None:
        """From a WordLevel model as the `tokenizers` library writes it."""
        self.vocabulary: Mapping[str, int] = model["vocab"]
        self.unknown: str = model["unk_token"]

    def work(self, word: str) -> WordWork:
        """One look into the vocabulary."""
        found = word in self.vocabulary
        return WordWork(word, (), (Match(0, word, found),), (word if found else self.unknown,))


class Words(LearntTokenizer):
    """Whole words with the space before them, or <unk>."""

    kind = "words"
    fixed_names = SYMBOL_NAMES
    algorithm_type = Lookup
    cut: ClassVar[Callable[..., pre_tokenizers.PreTokenizer]] = partial(isolated, SPLIT)

    @classmethod
    def library(cls, names: Iterable[str] = ()) -> LibraryTokenizer:
        library = LibraryTokenizer(models.WordLevel(cls.vocabulary(names), unk_token=SYMBOLS.unknown))
        library.pre_tokenizer = cls.cut()
        library.decoder = decoders.Fuse()
        return library

    @classmethod
    def _learn(cls, lines: Iterable[str], names: list[str], room: int, frequency: int, of_character: int) -> Self:
        return cls.of([*names, *_common_words(lines, frequency)[:room]])

    def _further_names(self, lines: Iterable[str], size: int) -> list[str]:
        return _common_words(lines, 2)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids. An unknown word is written as "<unk>", with a space before it unless it is the first."""
        parts = []
        for number in ids:
            if number == self.unknown_id:
                parts.append(f" {self.symbols.unknown}" if parts else self.symbols.unknown)
            elif piece := super().decode([number]):
                parts.append(piece)
        return "".join(parts)

    def _offsets(self, text: str, ids: Sequence[int]) -> list[tuple[int, int]]:
        return [(begin, begin + len(word)) for word, begin in self.words(text)]


def _common_words(lines: Iterable[str], frequency: int) -> list[str]:
    cut = isolated(SPLIT)
    return by_frequency(Counter(word for line in lines for word, _ in cut.pre_tokenize_str(line)), frequency)


class Characters(LearntTokenizer):
    """Byte-pair encoding without a single merge, and so without words."""

    kind = "characters"
    algorithm_type = Merging

    @classmethod
    def library(cls, names: Iterable[str] = ()) -> LibraryTokenizer:
        model = models.BPE(cls.vocabulary(names), [], unk_token=SYMBOLS.unknown, byte_fallback=True)
        library = LibraryTokenizer(model)
        library.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
        return library

    @classmethod
    def flaw(cls, model: dict[str, Any]) -> str:
        return "it merges characters" if model.get("merges") else ""

    @classmethod
    def _learn(cls, lines: Iterable[str], names: list[str], room: int, frequency: int, of_character: int) -> Self:
        return cls.of([*names, *common_characters(lines, frequency, room)])

    def _further_names(self, lines: Iterable[str], size: int) -> list[str]:
        return common_characters(lines, 1, size + self.vocabulary_size)


class Labels(Words):
    """Names between spaces, or <unk>."""

    kind = "labels"
    cut = pre_tokenizers.WhitespaceSplit

    @classmethod
    def learn(cls, lines: Iterable[str], vocabulary_size: int, **unused: int) -> Self:
        """All labels of the lines, the commonest first. `ConfigError` where they are more than a vocabulary may have.

        A label is never too rare to be known, and no label is a placeholder: these settings have no effect.
        """
        names = _label_names(lines)
        if len(SYMBOL_NAMES) + len(names) > vocabulary_size:
            raise ConfigError(
                f"the texts hold {len(names):,} different names, more than text.vocabulary_size = "
                f"{vocabulary_size:,} allows",
                why='with "labels" in text.kind or text.target_kind every word is a name of its own',
                hint="name the column or the file of the labels, or raise text.vocabulary_size",
                code="C078",
            )
        return cls.of(names)

    def _further_names(self, lines: Iterable[str], size: int) -> list[str]:
        return _label_names(lines)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        refuse_surrogates(texts)
        return [[self._id(name) for name in text.split()] for text in texts]

    def _id(self, name: str) -> int:
        # the name of a symbol is no label: no text forges an end
        return self.unknown_id if name in SYMBOL_NAMES else self.ids_of_names.get(name, self.unknown_id)

    @property
    def names(self) -> list[str]:
        """All labels, in the order of their ids; the first has the id 4."""
        return self.learnt_names

    def decode(self, ids: Iterable[int]) -> str:
        """The labels with a space between them; an unknown one is written as "<unk>"."""
        shown = (number for number in ids if number == self.unknown_id or number >= len(SYMBOL_NAMES))
        return " ".join(self.piece(number) for number in shown)

    def words(self, text: str) -> list[tuple[str, int]]:
        found, begin = [], 0
        for name in text.split():
            begin = text.index(name, begin)
            found.append((name, begin))
            begin += len(name)
        return found


def _label_names(lines: Iterable[str]) -> list[str]:
    counts = Counter(name for line in lines for name in line.split())
    for symbol in SYMBOL_NAMES:
        del counts[symbol]
    return by_frequency(counts)


class WordNumbers(Labels):
    """The numbers of a source's words as labels, 0 and up: the word with number j is label 4 + j."""

    LONGEST = 512  # words of a source that have numbers, if the vocabulary has room for them

    @classmethod
    def learn(cls, lines: Iterable[str], vocabulary_size: int, **unused: int) -> Self:
        return cls.of(str(number) for number in range(min(cls.LONGEST, vocabulary_size - len(SYMBOL_NAMES))))
