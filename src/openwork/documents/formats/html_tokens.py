"""HTML as tokens that are byte for byte the document: a scanner in linear time, after the standard's tokenizer.

HTML Living Standard, 13.2.5. Every character belongs to one token. Nothing is refused: what is cut short at the end of
the document is a token that is kept.
"""

import html
import re
from dataclasses import dataclass
from enum import Enum, auto

from openwork.documents.runs import SPACES


def names(listed: str) -> frozenset[str]:
    """Names of elements, listed with spaces between them."""
    return frozenset(listed.split())


# Elements without content, and without an end tag.
VOID = names("area base br col embed hr img input link meta param source track wbr")
# Elements whose content has no tags. That of `title` is a text.
_RAW = names("script style textarea title xmp iframe noembed noframes")
_FOREIGN = frozenset({"svg", "math"})  # where "/>" ends an element, in every document

_MARKUP = re.compile(r"<(?:[A-Za-z]|/[A-Za-z]|[!?]|/)")
_NAME = re.compile(rf"[^{SPACES}/>]*")
_BETWEEN = re.compile(rf"[{SPACES}/]*")
_ATTRIBUTE = re.compile(
    rf"""([^{SPACES}/>][^{SPACES}/>=]*+)(?:[{SPACES}]*+=[{SPACES}]*+(?:"([^"]*)"|'([^']*)'|([^{SPACES}"'>][^{SPACES}>]*)))?"""
)
_UNENDED = re.compile(rf"""[{SPACES}]*+=[{SPACES}]*+["']""")  # a value whose quote never ends
_COMMENT_END = re.compile(r"--!?>")
_LONG_REFERENCE = re.compile(r"&#[0-9]{8,};?")


class Kind(Enum):
    """What a token is."""

    TEXT = auto()
    OPEN = auto()
    CLOSE = auto()
    KEPT = auto()  # a comment, a declaration, the content of a script, or markup that is cut short


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute with a value: `document[start:end]`, which is within `quote`, a quotation mark or nothing."""

    name: str
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class Token:
    """A token: `document[start:end]`.

    `name`, of tags: in lower case. `is_empty`: whether an opening tag has no content and no closing tag.
    """

    kind: Kind
    start: int
    end: int
    name: str = ""
    attributes: tuple[Attribute, ...] = ()
    is_empty: bool = False


def tokens_of(document: str, *, is_xml: bool) -> list[Token]:
    """The tokens of a document or of a fragment, in order and without gaps.

    `is_xml`: whether "/>" ends an element, as in XHTML.
    """
    found: list[Token] = []
    place = text_start = 0
    while match := _MARKUP.search(document, place):
        start = match.start()
        token = _markup(document, start, is_xml=is_xml)
        if start > text_start:
            found.append(Token(Kind.TEXT, text_start, start))
        found.append(token)
        place = text_start = token.end
        if token.kind is Kind.OPEN and token.name in _RAW and not token.is_empty:
            place = text_start = _raw_end(document, token)
            if place > token.end:
                kind = Kind.TEXT if token.name == "title" else Kind.KEPT
                found.append(Token(kind, token.end, place))
    if len(document) > text_start:
        found.append(Token(Kind.TEXT, text_start, len(document)))
    return found


def unescaped(text: str) -> str:
    """The text with its character references replaced."""
    return html.unescape(_LONG_REFERENCE.sub("\N{REPLACEMENT CHARACTER}", text))


def escaped(text: str) -> str:
    """The text as HTML writes it between tags."""
    return html.escape(text, quote=False)


def escaped_value(text: str, quote: str) -> str:
    """The value of an attribute within the quotes that it had; one that had none gets some."""
    if not quote:
        return f'"{escaped_value(text, chr(34))}"'
    return escaped(text).replace(quote, "&quot;" if quote == '"' else "&#39;")


def _markup(document: str, start: int, *, is_xml: bool) -> Token:
    """The token of markup at `start`."""
    if document[start + 1] in "!?":
        return Token(Kind.KEPT, start, _declaration_end(document, start))
    is_closing = document[start + 1] == "/"
    name_start = start + 1 + is_closing
    if not document[name_start : name_start + 1].isalpha() or not document[name_start].isascii():
        return Token(Kind.KEPT, start, _after(document, ">", start))
    match = _NAME.match(document, name_start)
    assert match
    name, place = match.group().lower(), match.end()
    attributes: list[Attribute] = []
    while True:
        between = _BETWEEN.match(document, place)
        assert between
        place = between.end()
        if document.startswith(">", place):
            break
        attribute = _ATTRIBUTE.match(document, place)
        if attribute is None or (attribute.lastindex == 1 and _UNENDED.match(document, attribute.end())):
            return Token(Kind.KEPT, start, len(document))
        place = attribute.end()
        if (group := attribute.lastindex or 1) > 1:
            attributes.append(Attribute(attribute[1].lower(), *attribute.span(group), {2: '"', 3: "'", 4: ""}[group]))
    if is_closing:
        return Token(Kind.CLOSE, start, place + 1, name)
    is_ended = between.group().endswith("/") and (is_xml or name in _FOREIGN)
    return Token(Kind.OPEN, start, place + 1, name, tuple(attributes), name in VOID or is_ended)


def _declaration_end(document: str, start: int) -> int:
    """The end of a comment, a document type, a processing instruction or a CDATA section."""
    if document.startswith("<!--", start):
        if document.startswith((">", "->"), start + 4):
            return _after(document, ">", start)
        match = _COMMENT_END.search(document, start + 4)
        return match.end() if match else len(document)
    if document.startswith("<![CDATA[", start):
        return _after(document, "]]>", start)
    return _after(document, ">", start)


def _after(document: str, end: str, start: int) -> int:
    """The place after the next `end`, or the end of the document."""
    place = document.find(end, start)
    return len(document) if place < 0 else place + len(end)


def _raw_end(document: str, token: Token) -> int:
    """Where the closing tag of an element begins whose content has no tags."""
    match = re.compile(rf"</{token.name}(?=[{SPACES}/>])", re.IGNORECASE).search(document, token.end)
    return match.start() if match else len(document)
