"""Which algorithm a model of the `tokenizers` library asks for."""

from collections.abc import Callable, Mapping
from typing import Any

from openwork.text.pieces.lattice import Lattice
from openwork.text.pieces.lookup import Lookup
from openwork.text.pieces.matching import Matching
from openwork.text.pieces.merging import Merging
from openwork.text.work import Algorithm

ALGORITHMS: dict[str, Callable[[Mapping[str, Any]], Algorithm]] = {
    "BPE": Merging,
    "WordPiece": Matching,
    "Unigram": Lattice,
    "WordLevel": Lookup,
}


def algorithm_of(model: Mapping[str, Any]) -> Algorithm:
    """The algorithm of the section "model" of a tokenizer.json."""
    return ALGORITHMS[model_type(model)](model)


def model_type(model: Mapping[str, Any]) -> str:
    """The type that the section names; where it does not, as in old files, the one whose parts it has."""
    if "type" in model:
        return model["type"]
    if "merges" in model:
        return "BPE"
    return "Unigram" if isinstance(model["vocab"], list) else "WordPiece"
