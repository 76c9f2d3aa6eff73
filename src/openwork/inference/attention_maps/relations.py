"""A list of sentences in which words belong together, such as a pronoun and what it stands for; read from a file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openwork.base.errors import DataError
from openwork.base.files import read_lines
from openwork.base.messages import msg
from openwork.inference.attention_maps.words import words_of

COLUMNS = 4
MOST = 2000  # pairs of words: each sentence is translated once
_NUMBERED = re.compile(r"(.+)#([1-9][0-9]?)")


@dataclass(frozen=True)
class WordRelation:
    """Two words of a sentence that belong together: characters (first, the one after the last) of each.

    Whether a head connects them is asked of the weights from `source` to `target`.
    """

    name: str
    sentence: str
    source: tuple[int, int]
    target: tuple[int, int]

    @property
    def other_words(self) -> list[tuple[int, int]]:
        """The words of the sentence that are no part of the two."""
        own = (self.source, self.target)
        return [
            word for word in words_of(self.sentence) if all(max(word[0], one[0]) >= min(word[1], one[1]) for one in own)
        ]


def read_relations(path: Path) -> list[WordRelation]:
    """The relations of a file: on each line a name, a sentence, and two of its words, with tabs between.

    A word that stands there several times has its number behind it: it#2. Empty lines, and those that begin with #, are
    left out. DataError names the line of what cannot be read.
    """
    found = list(_relations(path))
    if not found:
        raise DataError(
            f"{path} has no relation",
            hint="write a name, a sentence and two of its words on each line, with tabs between",
            code="D188",
        )
    if len(found) > MOST:
        raise DataError(
            f"{path} has {len(found):,} relations",
            why=f"each sentence is translated; {MOST:,} are the most",
            hint="take a part of them",
            code="D190",
        )
    return found


def _relations(path: Path) -> Iterator[WordRelation]:
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.split("\t")
        if len(parts) != COLUMNS or not all(part.strip() for part in parts):
            raise _unreadable(path, number, msg(f"it has not {COLUMNS} columns with something in each"))
        name, sentence, *words = parts
        places = [_place(sentence, word) for word in words]
        for word, place in zip(words, places, strict=True):
            if place is None:
                raise _unreadable(path, number, msg(f"its sentence has no {word}"))
        source, target = (place for place in places if place is not None)
        relation = WordRelation(name, sentence, source, target)
        if not relation.other_words:
            raise _unreadable(path, number, msg("its sentence has no other word, with which the two could be compared"))
        yield relation


def _place(sentence: str, word: str) -> tuple[int, int] | None:
    """Where the word stands, for the first or the given time; None: nowhere."""
    numbered = _NUMBERED.fullmatch(word)
    plain, wanted = (numbered[1], int(numbered[2])) if numbered else (word, 1)
    start = -1
    for _ in range(wanted):
        start = sentence.find(plain, start + 1)
        if start < 0:
            return None
    return start, start + len(plain)


def _unreadable(path: Path, number: int, why: str) -> DataError:
    return DataError(
        f"{path}, line {number}: this is no relation",
        why=why,
        hint="write a name, a sentence and two of its words, with tabs between; of a word that is there twice it#2",
        code="D189",
    )
