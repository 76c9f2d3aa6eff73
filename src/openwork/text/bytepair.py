"""Byte-pair encoding: starting from characters, the commonest pair of neighbours becomes a piece, again and again.

Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units" (2016), over characters; what
is too rare to learn is written as bytes. The same lines always give the same vocabulary.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator

from tokenizers import Regex, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as LibraryTokenizer

from openwork.base.errors import ConfigError
from openwork.text.settings import SMALLEST_VOCABULARY
from openwork.text.tokenizer import FIXED_NAMES, SPLIT, SYMBOLS, Tokenizer

# Stands for a rare character while the merges are learnt; whole text files never hold it.
_RARE = "\x00"
_LONGEST_PIECE = 32


def train_byte_pair(
    lines: Iterable[str],
    vocabulary_size: int,
    *,
    minimum_frequency: int = 2,
    character_frequency: int = 5,
) -> Tokenizer:
    """Learn at most `vocabulary_size` pieces (symbols and bytes included) from the lines.

    A pair must occur `minimum_frequency` times to become a piece. A character that occurs `character_frequency` times
    gets a piece, the commonest first, as far as half of the room goes; the others are left to bytes.
    The lines are read twice; from an iterator they are therefore kept in memory.
    """
    if vocabulary_size < SMALLEST_VOCABULARY:
        raise ConfigError(
            f"a vocabulary of {vocabulary_size} pieces is too small",
            why=f"the symbols and the 256 bytes alone take {len(FIXED_NAMES)}",
            hint=f"choose at least {SMALLEST_VOCABULARY}",
        )
    if iter(lines) is lines:
        lines = list(lines)
    alphabet = _alphabet(lines, character_frequency, (vocabulary_size - len(FIXED_NAMES)) // 2)
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        min_frequency=minimum_frequency,
        special_tokens=list(FIXED_NAMES),
        max_token_length=_LONGEST_PIECE,
        show_progress=False,
    )
    library = LibraryTokenizer(models.BPE(unk_token=SYMBOLS.unknown, byte_fallback=True))
    library.pre_tokenizer = pre_tokenizers.Sequence(
        # Nothing is learnt across a rare character: it is taken out, and its neighbours stay apart.
        [pre_tokenizers.Split(Regex(SPLIT), behavior="isolated"), pre_tokenizers.Split(_RARE, behavior="removed")]
    )
    library.train_from_iterator(_without_rare(lines, alphabet), trainer)
    # The trainer registers the symbols as pieces to be cut out of text, so only its pieces and merges are kept.
    learnt = json.loads(library.to_str())["model"]
    return Tokenizer.from_merges(learnt["vocab"], [(left, right) for left, right in learnt["merges"]])


def _alphabet(lines: Iterable[str], frequency: int, room: int) -> list[str]:
    """The commonest characters, of equally common ones the lower code point first, so that ties are settled."""
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(line)
    del counts[_RARE]
    common = [character for character, count in counts.items() if count >= frequency]
    return sorted(common, key=lambda character: (-counts[character], character))[:room]


class _RareToMark(dict[int, int]):
    """A table for `str.translate`: characters of the alphabet stay, all others become the mark."""

    def __missing__(self, code: int) -> int:
        return ord(_RARE)


def _without_rare(lines: Iterable[str], alphabet: list[str]) -> Iterator[str]:
    table = _RareToMark({ord(character): ord(character) for character in alphabet})
    for line in lines:
        yield line.translate(table)
