"""Labels: each name, parted from the next by a space, is one piece. The targets of models that classify and tag.

A target is not cut: "B-toloc.city_name O" is two pieces. Every label of the training data is known, however rare it is.
What is lost: a label that training had not becomes the symbol <unk>, and several spaces become one.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import decoders, models, pre_tokenizers

from openwork.base.errors import ConfigError
from openwork.text.pieces.alphabet import COMMON
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.symbols import SYMBOL_NAMES, SYMBOLS
from openwork.text.tokenizer import refuse_surrogates


class Labels(LearntTokenizer):
    """Names between spaces, or <unk>."""

    kind = "labels"
    fixed_names = SYMBOL_NAMES

    @classmethod
    def skeleton(cls) -> LibraryTokenizer:
        return cls._library_of([])

    @classmethod
    def of(cls, names: Iterable[str]) -> "Labels":
        """The tokenizer with these labels after the symbols."""
        return cls(cls._library_of(names))

    @staticmethod
    def _library_of(names: Iterable[str]) -> LibraryTokenizer:
        vocabulary = {name: number for number, name in enumerate([*SYMBOL_NAMES, *names])}
        library = LibraryTokenizer(models.WordLevel(vocabulary, unk_token=SYMBOLS.unknown))
        library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        library.decoder = decoders.Fuse()
        return library

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        refuse_surrogates(texts)
        return [[self._id(name) for name in text.split()] for text in texts]

    def _id(self, name: str) -> int:
        # the name of a symbol is no label: no text forges an end
        return self.unknown_id if name in SYMBOL_NAMES else self.ids_of_names.get(name, self.unknown_id)

    @property
    def names(self) -> list[str]:
        """All labels, in the order of their ids; the first has the id 4."""
        return [self.piece(number) for number in range(len(SYMBOL_NAMES), self.vocabulary_size)]

    def _extended(self, lines: Iterable[str], size: int) -> "Labels":
        known = self.names
        new = [name for name in _by_frequency(lines) if name not in self.ids_of_names]
        return Labels.of([*known, *new[: size - self.vocabulary_size]])

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

    def _offsets(self, text: str, ids: Sequence[int]) -> list[tuple[int, int]]:
        return [(begin, begin + len(name)) for name, begin in self.words(text)]


def train_labels(
    lines: Iterable[str],
    vocabulary_size: int,
    *,
    minimum_frequency: int = 1,
    placeholders: int = 0,
    character_frequency: int = COMMON,
) -> Labels:
    """All labels of the lines, the commonest first. `ConfigError` where they are more than a vocabulary may have.

    A label is never too rare to be known, and no label is a placeholder: both settings have no say.
    """
    names = _by_frequency(lines)
    if len(SYMBOL_NAMES) + len(names) > vocabulary_size:
        raise ConfigError(
            f"the targets hold {len(names):,} different labels, more than text.vocabulary_size = {vocabulary_size:,} "
            "allows",
            why='with text.target_kind = "labels" every word of a target is the name of a label',
            hint="name the column or the file of the labels, or raise text.vocabulary_size",
            code="C078",
        )
    return Labels.of(names)


LONGEST = 512  # words of a source that have numbers, if the vocabulary has room for them


def train_positions(
    lines: Iterable[str],
    vocabulary_size: int,
    *,
    minimum_frequency: int = 1,
    placeholders: int = 0,
    character_frequency: int = COMMON,
) -> Labels:
    """The numbers of words as labels, 0 and up, whatever the lines hold: the word with number j is label 4 + j."""
    return Labels.of(str(number) for number in range(min(LONGEST, vocabulary_size - len(SYMBOL_NAMES))))


def _by_frequency(lines: Iterable[str]) -> list[str]:
    """The labels, the commonest first, of equally common ones the lesser by code points."""
    counts = Counter(name for line in lines for name in line.split())
    for symbol in SYMBOL_NAMES:
        del counts[symbol]
    return sorted(counts, key=lambda name: (-counts[name], name))
