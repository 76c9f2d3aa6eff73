"""The kinds of pieces there are, and the algorithms of the `tokenizers` library, in tables."""

from collections.abc import Callable, Mapping
from typing import Any

from openwork.text.pieces.bytelevel import ByteLevel
from openwork.text.pieces.bytepair import BytePair, Merging
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.pieces.unigram import Lattice, Unigram
from openwork.text.pieces.wordpiece import Matching, WordPiece
from openwork.text.pieces.words import Characters, Labels, Lookup, WordNumbers, Words
from openwork.text.work import Algorithm

KINDS: dict[str, type[LearntTokenizer]] = {
    kind.kind: kind for kind in (BytePair, ByteLevel, WordPiece, Unigram, Characters, Words)
}
TARGET_KINDS: dict[str, type[LearntTokenizer]] = {**KINDS, "labels": Labels, "positions": WordNumbers}
"""What the pieces of a target with a vocabulary of its own may be."""
WHOLE_KINDS = (*KINDS, "labels")
"""What the pieces of a source may be, or of both sides."""

ALGORITHMS: dict[str, Callable[[Mapping[str, Any]], Algorithm]] = {
    "BPE": Merging,
    "WordPiece": Matching,
    "Unigram": Lattice,
    "WordLevel": Lookup,
}


def model_type(model: Mapping[str, Any]) -> str:
    """The type that the section names; where it does not, as in old files, the one whose parts it has."""
    if "type" in model:
        return model["type"]
    if "merges" in model:
        return "BPE"
    return "Unigram" if isinstance(model["vocab"], list) else "WordPiece"
