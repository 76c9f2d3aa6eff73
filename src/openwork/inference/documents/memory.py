"""A translation memory: texts whose translations are known.

An exact match is a translation. So is a match that differs in numbers alone, with the numbers put in. Another near
match says something else; it is found (rapidfuzz, in the extra `documents`) for the report, and is not used.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from openwork.base.errors import DataError
from openwork.data.readers.formats import read_file
from openwork.data.records import Languages

NEAR = 80  # of 100: how alike two texts are, by rapidfuzz's ratio
MOST_ENTRIES = 1_000_000
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,1000}>")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class NearMatch:
    """An entry whose source is like a text; `similarity` from 0 to 100."""

    source: str
    target: str
    similarity: float


class TranslationMemory:
    """Pairs of texts, without their tags; of two translations of one text the later one counts."""

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._exact: dict[str, str] = {}
        self._numbered: dict[str, tuple[str, str]] = {}
        for source, target in pairs:
            key, translation = _without_tags(source), _without_tags(target)
            if key and translation and len(self._exact) < MOST_ENTRIES:
                self._exact[key] = translation
                self._numbered[_NUMBER.sub("0", key)] = (key, translation)

    def __len__(self) -> int:
        return len(self._exact)

    def find(self, text: str) -> str | None:
        """The translation of a text that is an entry, or differs from one in its numbers alone."""
        key = _without_tags(text)
        if key in self._exact:
            return self._exact[key]
        entry = self._numbered.get(_NUMBER.sub("0", key))
        return None if entry is None else _with_numbers(*entry, _NUMBER.findall(key))

    def near(self, text: str) -> NearMatch | None:
        """The entry that is most like a text, if one is like it at all. None without rapidfuzz."""
        try:
            from rapidfuzz import fuzz, process
        except ImportError:
            return None
        ratio: Any = fuzz.ratio  # its type has two forms, of which a checker takes the first
        found = process.extractOne(_without_tags(text), self._sources, scorer=ratio, score_cutoff=NEAR)
        return None if found is None else NearMatch(found[0], self._exact[found[0]], found[1])

    @cached_property
    def _sources(self) -> list[str]:
        return list(self._exact)


def read_memory(paths: Sequence[Path], languages: Languages) -> TranslationMemory:
    """The pairs of files (TMX, XLIFF, PO, TSV or JSON lines). DataError for a bad file, and for too many pairs."""
    memory = TranslationMemory(pair for path in paths for pair in read_file(path, languages))
    if len(memory) >= MOST_ENTRIES:
        raise DataError(
            "the translation memory is too large",
            why=f"it has {MOST_ENTRIES:,} texts or more",
            hint="name fewer files with --memory",
            code="D171",
        )
    return memory


def _without_tags(text: str) -> str:
    return _SPACE.sub(" ", _TAG.sub("", text)).strip()


def _with_numbers(source: str, target: str, wanted: Sequence[str]) -> str | None:
    """The target with the numbers of another source in place of its own; None where it is not clear which is which."""
    own = _NUMBER.findall(source)
    if len(own) != len(wanted) or len(set(own)) != len(own) or Counter(_NUMBER.findall(target)) != Counter(own):
        return None
    replaced = dict(zip(own, wanted, strict=True))
    return _NUMBER.sub(lambda found: replaced[found.group()], target)
