"""How much of the texts the vocabulary has no piece for, and which characters or words these are."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from openwork.data.records import Pair
from openwork.data.store import TokenSide, TokenStore
from openwork.runs.assembly import TrainingSetup
from openwork.text.pieces.alphabet import room_for_alphabet
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.settings import TextSettings
from openwork.text.tokenizer import FIXED_NAMES, SYMBOL_NAMES, Tokenizer

LEVEL = 0.01  # share of pieces for a warning: most of a text's characters are then too rare in the training
SENTENCES = 20_000  # of a store, spread over all of it
READ = 2_000  # texts that are searched for examples
EXAMPLES = 5
COUNTED = 200_000  # pairs whose characters are counted for a remedy
LARGEST = 16  # times the present vocabulary
_WITH_ALPHABETS = ("byte-pair", "unigram")  # half of the vocabulary is for characters


@dataclass(frozen=True)
class Coverage:
    """Of one side of the training or the validation pairs: the share of pieces for text that has no piece.

    `lost`: such a piece is the unknown symbol; else it is one byte of a character, and nothing is lost.
    `remedy`: the settings that give more characters a piece; empty where none does.
    """

    split: str
    side: str
    share: float
    lost: bool
    examples: tuple[str, ...] = ()
    remedy: str = ""

    @property
    def is_high(self) -> bool:
        return self.share >= LEVEL


def coverages(setup: TrainingSetup) -> list[Coverage]:
    """Both sides of both, with examples where the share is high; sources that are no text have no pieces."""
    sides = ("source", "target") if setup.corpus.tokenizers.encoder.numbers is None else ("target",)
    return [_coverage(setup, split, side) for split in ("training", "validation") for side in sides]


def _coverage(setup: TrainingSetup, split: str, side: str) -> Coverage:
    tokenizer: Tokenizer = getattr(setup.corpus.tokenizers, side)
    store = setup.corpus.train if split == "training" else setup.corpus.valid
    share = _share(getattr(store, side), unknown_ids(tokenizer), store)
    lost = len(unknown_ids(tokenizer)) == 1
    if share < LEVEL:
        return Coverage(split, side, share, lost)
    pairs: Iterable[Pair] = setup.corpus.train_pairs.read() if split == "training" else setup.validator.pairs
    texts = (getattr(pair, side) for pair in islice(pairs, READ))
    remedy = remedy_of(setup.settings.text, setup.corpus.train_pairs.read()) if split == "training" else ""
    return Coverage(split, side, share, lost, examples(tokenizer, texts), remedy)


def remedy_of(text: TextSettings, pairs: Iterable[Pair]) -> str:
    """The options for a vocabulary with pieces for the characters of the pairs; empty where nothing is better."""
    if text.source_file or text.target_file or text.kind not in _WITH_ALPHABETS:
        return ""
    sides = Counter[str](), Counter[str]()
    for pair in islice(pairs, COUNTED):
        for counts, sentence in zip(sides, pair, strict=True):
            counts.update(sentence)
    fixed, most = len(FIXED_NAMES) + text.placeholders, LARGEST * text.vocabulary_size
    each = [sides] if text.shared else [(side,) for side in sides]
    found = [room_for_alphabet(some, text.vocabulary_size, fixed, most) for some in each]
    size, frequency = max(size for size, _ in found), min(frequency for _, frequency in found)
    changes = [f"--set text.vocabulary_size={size}"] if size > text.vocabulary_size else []
    if frequency < text.character_frequency:
        changes.append(f"--set text.character_frequency={frequency}")
    return " ".join(changes)


def unknown_ids(tokenizer: Tokenizer) -> range:
    """The id of the unknown symbol, and those of the bytes where rare characters are written in bytes."""
    has_bytes = isinstance(tokenizer, LearntTokenizer) and tokenizer.fixed_names == FIXED_NAMES
    return range(tokenizer.unknown_id, len(FIXED_NAMES) if has_bytes else tokenizer.unknown_id + 1)


def _share(side: TokenSide, unknown: range, store: TokenStore) -> float:
    """Of the pieces of all sentences, or of some thousand that are spread over the store."""
    rows = np.unique(np.linspace(0, len(store) - 1, min(SENTENCES, len(store))).astype(np.int64))
    if len(rows) == len(store):
        pieces = side.tokens
    else:
        pieces = np.concatenate([side.tokens[side.offsets[row] : side.offsets[row + 1]] for row in rows])
    # start and end are no part of a text
    bad = (pieces == unknown.start) | ((pieces >= len(SYMBOL_NAMES)) & (pieces < unknown.stop))
    return float(bad.mean()) if len(pieces) else 0.0


def examples(tokenizer: Tokenizer, texts: Iterable[str]) -> tuple[str, ...]:
    """The commonest characters (or words) of the texts without a piece, the commonest first."""
    counts = Counter(found for text in texts for found in _unknown(tokenizer, text))
    return tuple(text for text, _ in counts.most_common(EXAMPLES))


def _unknown(tokenizer: Tokenizer, text: str) -> Iterator[str]:
    ids = tokenizer.encode(text)
    unknown = set(unknown_ids(tokenizer)) - set(range(tokenizer.start_id, len(SYMBOL_NAMES)))
    if unknown.isdisjoint(ids):
        return
    cut = tokenizer.encode_pieces(text)
    spans = {span for number, span in zip(cut.ids, cut.offsets, strict=True) if number in unknown}
    yield from (text[begin:end].strip() for begin, end in sorted(spans) if text[begin:end].strip())
