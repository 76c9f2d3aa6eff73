"""Terminology: which source terms occur in a sentence, and how each must be translated.

A glossary is a TSV file: source term, a tab, target term, one a line. A term in lower case matches any case; a term
with a capital matches only itself ("US" is not "us"). A term that begins or ends with a letter of a script with spaces
must begin or end a word there; Chinese, Japanese and similar scripts have none, so their terms match anywhere. Of
overlapping terms the first counts, and of those with the same beginning the longest. Placeholders and tags contain no
terms.
"""

import unicodedata
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from openwork.base.errors import DataError
from openwork.base.files import read_lines
from openwork.text.languages import written_without_spaces
from openwork.text.placeholders import placeholder_places

_LONGEST_TERM = 500  # characters


class Term(NamedTuple):
    """A source term and its translation; `line` is that of the glossary."""

    source: str
    target: str
    line: int


class TermMatch(NamedTuple):
    """A term in a sentence, and its first character and the one after its last."""

    term: Term
    begin: int
    end: int


class Glossary:
    """Terms by their sources, for look-up in sentences."""

    def __init__(self, terms: list[Term]) -> None:
        self.terms = terms
        self._by_source = {term.source: term for term in terms}
        lengths: defaultdict[str, set[int]] = defaultdict(set)
        for term in terms:
            lengths[_folded(term.source)[0]].add(len(term.source))
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}

    def __len__(self) -> int:
        return len(self.terms)

    @property
    def most_lengths(self) -> int:
        """How many ends are tried, at most, for a term that begins at a place of a text."""
        return max(map(len, self._lengths.values()), default=0)

    def matches(self, text: str) -> list[TermMatch]:
        """The terms of a sentence from left to right, without overlaps."""
        found: list[TermMatch] = []
        folded = _folded(text)
        position = 0
        for begin, end in [*placeholder_places(text), (len(text), len(text))]:
            while position < begin:
                match = self._match_at(text, folded, position, begin)
                if match is not None:
                    found.append(match)
                position = match.end if match is not None else position + 1
            position = end
        return found

    def required(self, text: str) -> list[str]:
        """The targets of a sentence's terms, each once: its translation must have them."""
        return list(dict.fromkeys(match.term.target for match in self.matches(text)))

    def _match_at(self, text: str, folded: str, begin: int, limit: int) -> TermMatch | None:
        """The longest term that begins there and ends before the limit."""
        for length in self._lengths.get(folded[begin], ()):
            end = begin + length
            if end <= limit and _is_word(text, begin, end):
                # The exact case first; a term in lower case matches every other.
                term = self._by_source.get(text[begin:end]) or self._by_source.get(folded[begin:end])
                if term is not None:
                    return TermMatch(term, begin, end)
        return None


def read_glossary(path: Path | str) -> Glossary:
    """The terms of a TSV file (plain, gzip or xz); blank lines are passed over.

    `DataError` names the line of what is no pair of terms, and both lines of a term with two translations.
    """
    known: dict[str, Term] = {}
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) != 2 or not all(columns) or max(map(len, columns)) > _LONGEST_TERM:
            raise DataError(
                f"{path}:{number}: this is no pair of terms",
                why=f"a line is a term, one tab, its translation, each of at most {_LONGEST_TERM} characters",
                hint="mend or remove the line; `cut -f1,2 FILE > NEW` keeps two columns",
                code="D025",
            )
        source, target = columns
        other = known.setdefault(source, Term(source, target, number))
        if other.target != target:
            raise DataError(
                f"{path}:{number}: {source!r} has two translations",
                why=f"line {other.line} says {other.target!r}, this one {target!r}",
                hint="keep one of the two lines",
                code="D023",
            )
    return Glossary(list(known.values()))


def _folded(text: str) -> str:
    """The text in lower case, character by character, so that places stay the same."""
    return "".join(lower if len(lower := character.lower()) == 1 else character for character in text)


def _is_word(text: str, begin: int, end: int) -> bool:
    """Whether neither end splits a word of a script with spaces."""
    inside = (place for place in (begin, end) if 0 < place < len(text))
    return not any(_is_letter(text[place - 1]) and _is_letter(text[place]) for place in inside)


def _is_letter(character: str) -> bool:
    """Whether the character is a letter, a mark or a digit of a script with spaces between words."""
    if character.isascii():
        return character.isalnum() or character == "_"
    return unicodedata.category(character)[0] in "LMN" and not written_without_spaces(character)
