"""The text of a block of Markdown as texts and tags, each with its place, and a translation of it as Markdown.

CommonMark 0.31 with the tables and the strike-through of GitHub, as markdown-it-py parses them. The parser keeps no
places within a block, so its rules are wrapped to note them.
"""

import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from importlib.util import find_spec
from typing import Any

from openwork.base.errors import DataError
from openwork.documents.formats.html_tokens import Kind, tokens_of
from openwork.documents.lines import is_unspaced
from openwork.documents.runs import SPACES, Piece, single_spaced, spaced
from openwork.documents.segments import Role, Tag

Environment = MutableMapping[str, Any]  # of the parser: the link definitions of the document

# Tags that have a form in HTML, which stands where asterisks would not be read as emphasis.
HTML = {"em": "em", "strong": "strong", "s": "del"}
BREAK = "br"

_OPAQUE = re.compile(r"\[\^[^\]\[\s]{1,99}\]:?|^\[[ xX]\](?=[ \t])")  # a footnote; the box of a task
_MARKERS = {"em": 1, "strong": 2, "s": 2}  # characters


class NoPlaces(Exception):
    """The places of the tokens of a text are not known."""


def new_parser() -> Any:
    """A parser of blocks, whose `inline` notes places. DataError if markdown-it-py is not installed."""
    if find_spec("markdown_it") is None:
        raise DataError(
            "Markdown documents need markdown-it-py, which is not installed",
            hint="pip install markdown-it-py (the extra documents)",
            code="D187",
        )
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.core.ruler.enableOnly(["normalize", "block"])
    parser.inline.ruler2.disable("fragments_join")  # it would lose places
    names = parser.inline.ruler.get_active_rules()
    for name, rule in zip(names, parser.inline.ruler.getRules(""), strict=True):
        parser.inline.ruler.at(name, _placing(name, rule))
    return parser


def _placing(name: str, rule: Callable[[Any, bool], bool]) -> Callable[[Any, bool], bool]:
    """A rule that notes the place of each token that it makes; the tokens of plain text have none."""

    def placing(state: Any, silent: bool) -> bool:
        start, count = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        if silent or len(state.tokens) == count:
            return True
        last = state.tokens[-1]
        if name == "link":
            label_end = state.md.helpers.parseLinkLabel(state, start, True)
            opening = next(token for token in state.tokens[count:] if token.type == "link_open")
            opening.meta["place"], last.meta["place"] = (start, start + 1), (label_end, state.pos)
        elif name == "autolink":
            state.tokens[-3].meta["place"] = (start, state.pos)
        elif name in ("emphasis", "strikethrough"):
            place = state.pos
            for token in reversed(state.tokens[count:]):
                if place > start:
                    token.meta["place"] = (place - len(token.content), place)
                    place -= len(token.content)
        else:
            last.meta["place"] = (start, state.pos)
        return True

    return placing


def pieces_of(content: str, parser: Any, environment: Environment) -> list[Piece]:
    """The texts and tags of a block's text, in order and without gaps. NoPlaces if a place is not known."""
    # Definitions of a translation, which would be links, stay out of the document's.
    tokens: list[Any] = parser.inline.parse(content, parser, _own(environment), [])
    found: list[Piece] = []
    place = 0
    held = None  # the first half of a strong marker
    for number, token in enumerate(tokens):
        if token.type == "link_close" and token.markup == "autolink":
            continue
        if number and tokens[number - 1].markup == "autolink" and tokens[number - 1].type == "link_open":
            continue
        start, end = token.meta.get("place") or (place, _next_place(tokens, number, len(content)))
        if token.type in ("softbreak", "hardbreak") and not content[place:start].strip(" "):
            start = place
        if start != place or end < start:
            raise NoPlaces
        place = end
        name = token.type.removesuffix("_open").removesuffix("_close")
        if token.type == "text" and not token.content and end - start == 1:
            if _is_half(found):
                found[-1] = Piece(found[-1].item, found[-1].start, end)
            else:
                held = start
        elif name in _MARKERS:
            is_opening = token.type.endswith("_open")
            if name == "strong" and is_opening:
                if held is None:
                    raise NoPlaces
                start, held = held, None
            found.append(Piece(Tag(name, Role.OPEN if is_opening else Role.CLOSE), start, end))
        else:
            found += _pieces(token, tokens[number + 1 : number + 2], content, start, end)
    if place != len(content) or held is not None:
        raise NoPlaces
    return found


def _own(environment: Environment) -> Environment:
    return {"references": ChainMap({}, environment.get("references", {}))}


def _next_place(tokens: Sequence[Any], number: int, end: int) -> int:
    """Where a token without a place ends: at the next one that has one, which is the next one."""
    if number + 1 == len(tokens):
        return end
    place = tokens[number + 1].meta.get("place")
    if place is None:
        raise NoPlaces
    return place[0]


def _is_half(found: Sequence[Piece]) -> bool:
    """Whether the last piece is the first half of what closes strong emphasis."""
    return bool(found) and found[-1].item == Tag("strong", Role.CLOSE) and found[-1].end - found[-1].start == 1


def _pieces(token: Any, following: Sequence[Any], content: str, start: int, end: int) -> Iterator[Piece]:
    """The pieces of one token that is no emphasis."""
    raw = content[start:end]
    match token.type:
        case "text" | "text_special":
            yield from _text_pieces(token.content, raw, start, end)
        case "softbreak":
            is_joined = is_unspaced(content[start - 1 : start], content[end : end + 1])
            yield Piece("" if is_joined else " ", start, end)
        case "hardbreak":
            yield Piece(Tag(BREAK, Role.ALONE), start, end)
        case "link_open" if token.markup == "autolink":
            yield Piece(Tag("autolink", Role.ALONE, following[0].content), start, end)
        case "link_open":
            yield Piece(Tag("link", Role.OPEN), start, end)
        case "link_close":
            yield Piece(Tag("link", Role.CLOSE), start, end)
        case "html_inline":
            yield Piece(_html_tag(raw), start, end)
        case _:
            yield Piece(Tag(token.type, Role.ALONE, token.content if token.type == "code_inline" else ""), start, end)


def _text_pieces(text: str, raw: str, start: int, end: int) -> Iterator[Piece]:
    if text != raw:
        yield Piece(text, start, end)
        return
    place = 0
    for match in _OPAQUE.finditer(text) if start == 0 or "[^" in text else ():
        if match.start() > place:
            yield from spaced(text[place : match.start()], start + place, start + match.start())
        yield Piece(Tag("opaque", Role.ALONE), start + match.start(), start + match.end())
        place = match.end()
    if place < len(text):
        yield from spaced(text[place:], start + place, end)


def _html_tag(raw: str) -> Tag:
    token = tokens_of(raw, is_xml=True)[0]
    if token.kind is Kind.CLOSE:
        return Tag(f"html {token.name}", Role.CLOSE)
    is_alone = token.kind is not Kind.OPEN or token.is_empty
    return Tag(f"html {token.name}", Role.ALONE if is_alone else Role.OPEN)


def signature(items: Iterable[tuple[str | Tag, str]]) -> list[str | tuple[str]]:
    """What a reader sees of texts and tags, each with its Markdown: two that are equal have the same meaning.

    Spaces that Markdown does not keep are left out: those at both ends and next to line breaks.
    """
    found: list[str | tuple[str]] = []
    for item, raw in items:
        if isinstance(item, Tag):
            found.append((_label(item, raw),))
        elif found and isinstance(found[-1], str):
            found[-1] += item
        else:
            found.append(item)
    edge = (f"<{BREAK}>",)
    shown: list[str | tuple[str]] = []
    for place, one in enumerate(found):
        if isinstance(one, str):
            one = single_spaced(one)
            one = one.lstrip(SPACES) if place == 0 or found[place - 1] == edge else one
            one = one.rstrip(SPACES) if place + 1 == len(found) or found[place + 1] == edge else one
        if one:
            shown.append(one)
    return shown


def _label(tag: Tag, raw: str) -> str:
    """What a tag is, whether it is written as Markdown or as HTML."""
    if tag.name == BREAK or (tag.name == f"html {BREAK}" and tag.role is Role.ALONE):
        return f"<{BREAK}>"
    if tag.name in HTML:
        return html_form(tag)
    return raw.lower() if tag.name in {f"html {name}" for name in HTML.values()} else raw


def html_form(tag: Tag) -> str:
    """The HTML of emphasis or of a line break."""
    return f"<{BREAK}>" if tag.name == BREAK else f"<{'/' if tag.role is Role.CLOSE else ''}{HTML[tag.name]}>"
