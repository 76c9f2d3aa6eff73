"""XML read element by element, from untrusted files.

The parser is expat, from the standard library. No entity can be declared, so none can expand into more than it is; no
other file is ever opened; memory is bounded by one element that is asked for, whatever the file holds.
"""

import pyexpat
from collections.abc import Collection, Iterator, Mapping
from enum import Enum, auto
from html import escape
from pathlib import Path
from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder

from openwork.base.errors import DataError
from openwork.base.files import MAX_LINE_CHARACTERS, open_binary
from openwork.data.readers.sides import as_sentence, too_long

_CHUNK = 64 << 10
_MOST_PENDING = 4 << 20  # bytes of one tag that has not ended
_LARGEST = 4 * MAX_LINE_CHARACTERS  # characters of an element that is asked for, each tag within it counted as ten
_DEEPEST = 200  # nested elements
_LINE = " line"  # no attribute has a space in its name


def read_elements(path: Path, root: str, heads: Collection[str], wholes: Collection[str]) -> Iterator[Element]:
    """The elements of some names in an XML file (plain, gzip or xz) whose outermost element is `root`, in order.

    Those of `wholes` have all that is in them, and nothing within them is given by itself; of `heads` only the
    attributes are read. Names are without their prefix (`xml:lang` is `lang`); elements of another namespace than the
    root's keep it in their names. `DataError` names the line that is not well-formed, of a declared entity, and of what
    is nested too deeply or too large.
    """
    reader = _Reader(path, root, heads, wholes)
    with open_binary(path) as file:
        while data := file.read(_CHUNK):
            yield from reader.feed(data)
        yield from reader.feed(b"", last=True)


def line_of(element: Element) -> int:
    """The line where the element starts."""
    return int(element.attrib[_LINE])


class _Reader:
    """Expat's handlers; `_builder` makes the tree of an element that is asked for, None outside of them."""

    def __init__(self, path: Path, root: str, heads: Collection[str], wholes: Collection[str]) -> None:
        self._path, self._root, self._heads, self._wholes = path, root, heads, wholes
        self._namespace: str | None = None
        self._depth = self._fed = 0
        self._found: list[Element] = []
        self._builder: TreeBuilder | None = None
        self._begin = self._depth_outside = self._size = 0  # of the element that is being built
        parser = self._parser = pyexpat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = self._refuse_entity
        parser.SkippedEntityHandler = self._refuse_entity
        parser.ExternalEntityRefHandler = self._refuse_entity

    def feed(self, data: bytes, *, last: bool = False) -> list[Element]:
        self._found = []
        self._fed += len(data)
        try:
            self._parser.Parse(data, last)
        except pyexpat.ExpatError as error:
            reason = pyexpat.ErrorString(error.code) or "not well-formed"
            raise DataError(
                f"{self._path}:{error.lineno}: the file is not well-formed XML",
                why=f"{reason}, column {error.offset + 1}",
                hint="mend the file, or export it again; `xmllint --noout FILE` checks it",
                code="D037",
            ) from error
        except (ValueError, LookupError) as error:  # an encoding that is declared and unknown
            raise DataError(
                f"{self._path}:1: the file's encoding is not understood",
                why=str(error),
                hint='save the file as UTF-8, with encoding="UTF-8" in its first line',
                code="D038",
            ) from error
        if self._fed - self._parser.CurrentByteIndex > _MOST_PENDING:
            raise DataError(
                f"{self._path}:{self._parser.CurrentLineNumber}: a tag without end",
                why=f"more than {_MOST_PENDING:,} bytes belong to it",
                hint="check that the file is what its name says",
                code="D039",
            )
        return self._found

    def _start(self, full: str, attributes: dict[str, str]) -> None:
        line = self._parser.CurrentLineNumber
        namespace, _, local = full.rpartition(" ")
        self._depth += 1
        if self._depth == 1:
            self._namespace = namespace
            if local != self._root:
                raise DataError(
                    f"{self._path}:{line}: the outermost element is <{local}>, not <{self._root}>",
                    hint="name the file's true format with format in the run file's [data]",
                    code="D040",
                )
        if self._depth > _DEEPEST:
            raise DataError(
                f"{self._path}:{line}: more than {_DEEPEST} nested elements",
                hint="check that the file is what its name says, or export it again",
                code="D041",
            )
        name = local if namespace == self._namespace else full
        plain = {key.rpartition(" ")[2]: value for key, value in attributes.items()} | {_LINE: str(line)}
        if self._builder is None and name in self._heads:
            self._found.append(Element(name, plain))
        if self._builder is None and name in self._wholes:
            self._builder, self._begin, self._depth_outside, self._size = TreeBuilder(), line, self._depth - 1, 0
        if self._builder is not None:
            self._builder.start(name, plain)
            self._grow(10)

    def _text(self, text: str) -> None:
        if self._builder is not None:
            self._builder.data(text)
            self._grow(len(text))

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > _LARGEST:
            raise too_long(self._path, self._begin)

    def _end(self, full: str) -> None:
        self._depth -= 1
        if self._builder is not None:
            element = self._builder.end(full)  # the name is expat's to check
            if self._depth == self._depth_outside:
                self._found.append(element)
                self._builder = None

    def _refuse_entity(self, name: str | None, *_: object) -> NoReturn:
        raise DataError(
            f"{self._path}:{self._parser.CurrentLineNumber}: the entity {name} is not allowed",
            why="entities of a file's own can grow without limit, or open other files",
            hint="write the characters themselves; only &amp; &lt; &gt; &quot; &apos; and &#...; are read",
            code="D042",
        )


class Inline(Enum):
    """The text that an element within a sentence becomes."""

    THROUGH = auto()  # its content, the element itself leaves no trace
    SPAN = auto()  # its content between an opening and a closing tag
    EMPTY = auto()  # a tag of its own, whatever is in it
    NATIVE = auto()  # the code that it quotes from the original document, and a tag where it quotes none
    NOTHING = auto()


_NAMING = ("id", "x", "i", "startRef", "hex")  # attributes that identify a tag and agree on both sides


def sentence_of(element: Element, inline: Mapping[str, Inline], path: Path) -> str:
    """The text of an element; elements in it become text as `inline` says, and others give their content."""
    return as_sentence(_content(element, inline), path, line_of(element))


def _content(element: Element, inline: Mapping[str, Inline]) -> str:
    parts = [element.text or ""]
    for child in element:
        parts += [_written(child, _content(child, inline), inline.get(child.tag, Inline.THROUGH)), child.tail or ""]
    return "".join(parts)


def _written(element: Element, content: str, how: Inline) -> str:
    key = next((key for key in _NAMING if key in element.attrib), None)
    tag = element.tag if key is None else f'{element.tag} {key}="{escape(element.attrib[key])}"'
    match how:
        case Inline.SPAN:
            return f"<{tag}>{content}</{element.tag}>"
        case Inline.NOTHING:
            return ""
        case Inline.EMPTY:
            return f"<{tag}/>"
        case Inline.NATIVE:
            return content or f"<{tag}/>"
    return content
