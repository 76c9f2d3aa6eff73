"""Texts cut into sentences, each with the space after it (the package sentencex, in the extra `documents`)."""

import re
from dataclasses import dataclass

from openwork.base.errors import UsageError
from openwork.documents.alignment import Span

_LINE_BREAK = re.compile(r"[^\S\n]*\n\s*")
UNKNOWN_LANGUAGE = "en"


@dataclass(frozen=True)
class CutText:
    """A text as sentences; between two of them, and around all, there is only space."""

    text: str
    sentences: tuple[Span, ...]

    def sentence(self, place: int) -> str:
        begin, end = self.sentences[place]
        return self.text[begin:end]

    def gaps(self) -> list[str]:
        """The space before each sentence, and after the last one."""
        ends = [0, *(end for _, end in self.sentences)]
        begins = [*(begin for begin, _ in self.sentences), len(self.text)]
        return [self.text[end:begin] for end, begin in zip(ends, begins, strict=True)]


def cut_sentences(text: str, language: str | None, *, is_line: bool = False) -> CutText:
    """The sentences of a text. A line break always ends one; `is_line`: nothing else does.

    UsageError where sentencex is missing.
    """
    spans: list[Span] = []
    begin = 0
    for found in [*_LINE_BREAK.finditer(text), None]:
        end = found.start() if found else len(text)
        spans += _within(text, (begin, end), None if is_line else language or UNKNOWN_LANGUAGE)
        begin = found.end() if found else end
    return CutText(text, tuple(spans))


def _within(text: str, span: Span, language: str | None) -> list[Span]:
    begin, end = span
    pieces = [text[begin:end]] if language is None else _segment(language, text[begin:end])
    found = []
    for piece in pieces:
        stripped = piece.strip()
        if stripped:
            first = begin + piece.index(stripped)
            found.append((first, first + len(stripped)))
        begin += len(piece)
    return found


def _segment(language: str, text: str) -> list[str]:
    if not text.strip():
        return [text]
    try:
        from sentencex import segment  # type: ignore[attr-defined]
    except ImportError as error:
        raise UsageError(
            "documents are cut into sentences by the package sentencex, which is not installed",
            hint="pip install sentencex lxml polib rapidfuzz (the extra documents)",
            code="U147",
        ) from error
    pieces = list(segment(language.partition("-")[0], text))
    return pieces if "".join(pieces) == text else [text]
