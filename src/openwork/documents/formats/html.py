"""HTML: each run of text and inline tags is a segment, and so are attributes that are read; all else stays.

Not translated: elements with translate="no" or the class notranslate, with all that they contain; scripts, styles,
templates, pre and textarea; code, kbd, samp, var and math, which are marks within a text; comments.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from openwork.documents.document import Document, DocumentSettings, decoded
from openwork.documents.formats.html_elements import BLOCKS, HIDDEN, KEPT_BLOCKS, SHOWN, element_ends
from openwork.documents.formats.html_tokens import (
    Attribute,
    Kind,
    Token,
    escaped,
    escaped_value,
    tokens_of,
    unescaped,
)
from openwork.documents.lines import LineNumbers, encoded, without_byte_order_mark
from openwork.documents.runs import SPACES, Piece, TextRun, composed, run_of, single_spaced, spaced
from openwork.documents.segments import Mark, Parts, Role, Tag, TranslationUnit, plain

READ = frozenset({"alt", "title", "placeholder", "aria-label"})  # attributes that a reader sees or hears
LANGUAGE = frozenset({"lang", "xml:lang"})
_XML = re.compile(r"\s*<\?xml\b")


@dataclass(frozen=True)
class _Value:
    """The value of an attribute that is translated."""

    attribute: Attribute
    parts: Parts

    @property
    def start(self) -> int:
        return self.attribute.start


class _HtmlReader:
    """Collects the runs and values of a document."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.found: list[TextRun | _Value] = []
        self.languages: list[Attribute] = []  # of the whole document
        self._text = text
        self._tokens = tokens
        self._ends = element_ends(tokens)
        self._pieces: list[Piece] = []

    def read(self) -> None:
        place = 0
        while place < len(self._tokens):
            token = self._tokens[place]
            end = self._ends.get(place, place + 1)
            if token.kind is Kind.OPEN and self._is_kept(token):
                self._keep(place, end)
                place = end
                continue
            if token.kind is Kind.TEXT:
                text = unescaped(self._text[token.start : token.end])
                self._pieces.extend(self._spaced(text, token))
            elif token.kind is Kind.KEPT:
                self._add(Tag("", Role.ALONE), token.start, token.end)
            else:
                self._tag(token)
            place += 1
        self._flush()
        self.found.sort(key=lambda one: one.start)

    def _spaced(self, text: str, token: Token) -> list[Piece]:
        raw = self._text[token.start : token.end]
        has_plain_edges = raw[: len(raw) - len(raw.lstrip(SPACES))] == text[: len(text) - len(text.lstrip(SPACES))]
        has_plain_edges &= raw[len(raw.rstrip(SPACES)) :] == text[len(text.rstrip(SPACES)) :]
        return spaced(text, token.start, token.end) if has_plain_edges else [Piece(text, token.start, token.end)]

    def _add(self, tag: Tag, start: int, end: int) -> None:
        self._pieces.append(Piece(tag, start, end))

    def _flush(self) -> None:
        if self._pieces and (run := run_of(self._pieces)):
            self.found.append(run)
        self._pieces = []

    def _is_kept(self, token: Token) -> bool:
        is_named = token.name in SHOWN or token.name in HIDDEN or token.name in KEPT_BLOCKS
        return is_named or self._is_untranslated(token)

    def _is_untranslated(self, token: Token) -> bool:
        """Whether the attributes of an opening tag say that its element is not translated."""
        for attribute in token.attributes:
            value = self._text[attribute.start : attribute.end].strip(SPACES).lower()
            if (attribute.name == "translate" and value == "no") or (
                attribute.name == "class" and "notranslate" in value.split()
            ):
                return True
        return False

    def _keep(self, place: int, end: int) -> None:
        """An element that stays: a mark within the text, unless it or one within it is a block."""
        inside = self._tokens[place:end]
        if not self._is_untranslated(inside[0]):
            self._values(inside[0])
        name = inside[0].name
        if name not in HIDDEN and any(token.name in BLOCKS for token in inside):
            self._flush()
            return
        texts = (self._text[token.start : token.end] for token in inside if token.kind is Kind.TEXT)
        shown = "" if name in HIDDEN else single_spaced(unescaped("".join(texts)))
        self._add(Tag(name, Role.ALONE, shown), inside[0].start, inside[-1].end)

    def _tag(self, token: Token) -> None:
        if token.name in BLOCKS:
            self._flush()
        else:
            role = Role.CLOSE if token.kind is Kind.CLOSE else Role.ALONE if token.is_empty else Role.OPEN
            self._add(Tag(token.name, role), token.start, token.end)
        if token.name == "html":
            self.languages.extend(attribute for attribute in token.attributes if attribute.name in LANGUAGE)
        self._values(token)

    def _values(self, token: Token) -> None:
        """The attributes of a tag that are translated."""
        for attribute in token.attributes:
            if attribute.name in READ or (attribute.name == "content" and self._is_description(token)):
                value = single_spaced(unescaped(self._text[attribute.start : attribute.end])).strip(SPACES)
                if value:
                    self.found.append(_Value(attribute, (value,)))

    def _is_description(self, token: Token) -> bool:
        values = {one.name: self._text[one.start : one.end].strip(SPACES).lower() for one in token.attributes}
        return token.name == "meta" and values.get("name") == "description"


class HtmlDocument:
    """A document or a fragment of HTML or XHTML."""

    def __init__(self, content: bytes, path: Path, settings: DocumentSettings) -> None:
        self._mark, self._text = without_byte_order_mark(decoded(content, path))
        is_xml = path.suffix.lower() == ".xhtml" or bool(_XML.match(self._text))
        reader = _HtmlReader(self._text, tokens_of(self._text, is_xml=is_xml))
        reader.read()
        self._found = reader.found
        self._languages = reader.languages
        self._target = settings.target.replace("_", "-") if settings.target else None

    @property
    def segments(self) -> Sequence[TranslationUnit]:
        lines = LineNumbers(self._text)
        return [TranslationUnit(one.parts, f"line {lines.at(one.start)}") for one in self._found]

    def written(self, translations: Sequence[Parts | None]) -> bytes:
        """The document; where a text has a translation, the document's own language is the target."""
        changes = _Changes(self._text)
        runs: list[tuple[TextRun, Parts]] = []
        for one, translation in zip(self._found, translations, strict=True):
            if translation is None or translation == one.parts:
                continue
            if isinstance(one, TextRun):
                runs.append((one, translation))
            else:
                changes.add(one.attribute, plain(translation))
        if self._target and any(translation is not None for translation in translations):
            for attribute in self._languages:
                changes.add(attribute, self._target)
        changes.sort()
        pieces, place = [self._mark], 0
        for run, translation in runs:
            tags = run.tags()

            def tag(mark: Mark, tags: dict[tuple[int, Role], Piece] = tags) -> str:
                piece = tags[mark.key, mark.role]
                return changes.applied(piece.start, piece.end)

            pieces += [changes.applied(place, run.start), composed(translation, escaped, tag)]
            place = run.end
        pieces.append(changes.applied(place, len(self._text)))
        return encoded("".join(pieces))


class _Changes:
    """New values of attributes of a document."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._changes: list[tuple[int, int, str]] = []

    def add(self, attribute: Attribute, value: str) -> None:
        self._changes.append((attribute.start, attribute.end, escaped_value(value, attribute.quote)))

    def sort(self) -> None:
        self._changes.sort()

    def applied(self, start: int, end: int) -> str:
        """A part of the document with its new values."""
        pieces = []
        for place in range(bisect_left(self._changes, (start,)), len(self._changes)):
            first, last, value = self._changes[place]
            if first >= end:
                break
            pieces += [self._text[start:first], value]
            start = last
        return "".join([*pieces, self._text[start:end]])


def read_html(content: bytes, path: Path, settings: DocumentSettings) -> Document:
    """A document of HTML or XHTML, or a fragment of one, such as a text with a few tags."""
    return HtmlDocument(content, path, settings)
