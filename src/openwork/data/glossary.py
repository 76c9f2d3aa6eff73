"""Terminology: which source terms occur in a sentence, and how each must be translated.

A glossary is a TSV file: source term, a tab, target term, one a line. A term in lower case stands for itself in any
case; one with a capital only for what is written so ("US" is not "us"). Where a term begins or ends with a letter of a
script that has spaces, it must begin or end a word there; Chinese, Japanese and the like have none, so their terms are
found anywhere. Of terms that overlap, the one that begins first counts, and of those that begin at the same place the
longest. Within placeholders and tags nothing is a term.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openwork.base.errors import DataError
from openwork.base.files import read_lines
from openwork.text.languages import written_without_spaces
from openwork.text.placeholders import placeholder_places

_LONGEST_TERM = 500  # characters


@dataclass(frozen=True)
class Term:
    """A source term and its translation; `line` is where the glossary says so."""

    source: str
    target: str
    line: int


@dataclass(frozen=True)
class TermMatch:
    """A term in a sentence: where it stands, in characters."""

    term: Term
    begin: int
    end: int


class Glossary:
    """Terms by their sources, to be looked up in sentences."""

    def __init__(self, terms: list[Term]) -> None:
        self.terms = terms
        self._by_source: defaultdict[str, dict[str, Term]] = defaultdict(dict)  # by lower case, then as written
        lengths: defaultdict[str, set[int]] = defaultdict(set)
        for term in terms:
            self._by_source[_folded(term.source)][term.source] = term
            lengths[_folded(term.source)[0]].add(len(term.source))
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}

    def __len__(self) -> int:
        return len(self.terms)

    def matches(self, text: str) -> list[TermMatch]:
        """The terms of a sentence from left to right, none over another."""
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
        """What the translation of a sentence must hold: the target of each of its terms, each once."""
        return list(dict.fromkeys(match.term.target for match in self.matches(text)))

    def _match_at(self, text: str, folded: str, begin: int, limit: int) -> TermMatch | None:
        """The longest term that begins there and ends before the limit."""
        for length in self._lengths.get(folded[begin], ()):
            end = begin + length
            if end <= limit and _is_word(text, begin, end):
                terms = self._by_source.get(folded[begin:end], {})
                # The very writing before the one in lower case, which stands for every other.
                term = terms.get(text[begin:end]) or terms.get(folded[begin:end])
                if term is not None:
                    return TermMatch(term, begin, end)
        return None


def read_glossary(path: Path | str) -> Glossary:
    """The terms of a TSV file (plain, gzip or xz); blank lines are passed over.

    `DataError` names the line of what is no pair of terms, and both lines of a term with two translations.
    """
    path = Path(path)
    known: dict[str, Term] = {}
    for term in _terms(path):
        other = known.setdefault(term.source, term)
        if other.target != term.target:
            raise DataError(
                f"{path}:{term.line}: {term.source!r} has two translations",
                why=f"line {other.line} says {other.target!r}, this one {term.target!r}",
                hint="keep one of the two lines",
                code="D023",
            )
    return Glossary(list(known.values()))


def _terms(path: Path) -> Iterator[Term]:
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) != 2:
            found = "one column" if len(columns) == 1 else f"{len(columns)} columns"
            raise DataError(
                f"{path}:{number}: {found} where two are needed",
                why="a line is a source term, one tab, its translation",
                hint="keep two columns (`cut -f1,2 FILE > NEW`)",
                code="D024",
            )
        source, target = columns
        if not source or not target:
            raise DataError(
                f"{path}:{number}: a term without a source" if target else f"{path}:{number}: a term without a target",
                hint="fill both columns, or remove the line",
                code="D025" if target else "D026",
            )
        if max(len(source), len(target)) > _LONGEST_TERM:
            raise DataError(
                f"{path}:{number}: the term is longer than {_LONGEST_TERM} characters",
                hint="a glossary holds terms, not sentences: check that this is the right file",
                code="D027",
            )
        yield Term(source, target, number)


def _folded(text: str) -> str:
    """The text in lower case, character by character, so that places stay the same."""
    return "".join(lower if len(lower := character.lower()) == 1 else character for character in text)


def _is_word(text: str, begin: int, end: int) -> bool:
    """Whether no word of a script with spaces is cut at either end."""
    return not (begin and _joined(text[begin - 1], text[begin])) and not (
        end < len(text) and _joined(text[end - 1], text[end])
    )


def _joined(left: str, right: str) -> bool:
    return _is_letter(left) and _is_letter(right)


def _is_letter(character: str) -> bool:
    """Whether the character makes words with its neighbours: letters, marks and digits of scripts with spaces."""
    if character.isascii():
        return character.isalnum() or character == "_"
    if unicodedata.category(character)[0] not in "LMN":
        return False
    return not written_without_spaces(character)
