"""XML as a stream of events, from untrusted files.

The parser is expat, from the standard library. No entity can be declared, so none can expand into more than it is; no
other file is ever opened; memory is bounded by one piece of the file, whatever the file holds.
"""

import pyexpat
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from html import escape
from pathlib import Path
from typing import NamedTuple, NoReturn

from openwork.base.errors import DataError
from openwork.base.files import MAX_LINE_CHARACTERS, open_binary
from openwork.data.readers.sides import as_sentence, too_long

_CHUNK = 64 << 10
_MOST_PENDING = 4 << 20  # bytes of one tag that has not ended
_DEEPEST = 200  # nested elements


class Start(NamedTuple):
    """The start of an element. Names are without their prefix; `xml:lang` is `lang`."""

    name: str
    line: int
    attributes: Mapping[str, str]


class Text(NamedTuple):
    """A run of characters; an element may have several."""

    text: str


class End(NamedTuple):
    """The end of an element."""

    name: str
    line: int


Event = Start | Text | End


def read_events(path: Path, root: str) -> Iterator[Event]:
    """The events of an XML file (plain, gzip or xz) whose outermost element is `root`.

    Elements of another namespace than the root's keep it in their names. `DataError` names the line that is not
    well-formed, of a declared entity, and of elements that are nested too deeply.
    """
    reader = _MarkupReader(path, root)
    with open_binary(path) as file:
        while data := file.read(_CHUNK):
            yield from reader.feed(data)
        yield from reader.feed(b"", last=True)


class _MarkupReader:
    """Expat's handlers; the list of events is emptied after each chunk of the file."""

    def __init__(self, path: Path, root: str) -> None:
        self._path = path
        self._root = root
        self._namespace: str | None = None
        self._depth = 0
        self._fed = 0
        self._events: list[Event] = []
        parser = self._parser = pyexpat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = lambda text: self._events.append(Text(text))
        parser.EntityDeclHandler = self._refuse_entity
        parser.SkippedEntityHandler = self._refuse_entity
        parser.ExternalEntityRefHandler = self._refuse_entity

    def feed(self, data: bytes, *, last: bool = False) -> list[Event]:
        self._events = []
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
        return self._events

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        line = self._parser.CurrentLineNumber
        namespace, _, local = name.rpartition(" ")
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
        plain = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
        self._events.append(Start(self._name(namespace, local), line, plain))

    def _end(self, name: str) -> None:
        namespace, _, local = name.rpartition(" ")
        self._depth -= 1
        self._events.append(End(self._name(namespace, local), self._parser.CurrentLineNumber))

    def _name(self, namespace: str, local: str) -> str:
        return local if namespace == self._namespace else f"{namespace} {local}"

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


def read_sentence(events: Iterator[Event], inline: Mapping[str, Inline], path: Path, line: int) -> str:
    """The text of the element that has just started, up to its end; elements in it become text as `inline` says.

    An element that `inline` does not know gives its content.
    """
    parts: list[str] = []
    open_elements: list[tuple[Inline, Start, int]] = []
    size = 0
    for event in events:
        match event:
            case Text(text):
                parts.append(text)
                size += len(text)
                if size > MAX_LINE_CHARACTERS:
                    raise too_long(path, line)
            case Start(name):
                how = inline.get(name, Inline.THROUGH)
                if how is Inline.SPAN:
                    parts.append(f"<{_tag(event)}>")
                open_elements.append((how, event, len(parts)))
            case End() if open_elements:
                _close(parts, *open_elements.pop())
            case End():
                break
    return as_sentence("".join(parts), path, line)


def _close(parts: list[str], how: Inline, element: Start, begin: int) -> None:
    if how is Inline.SPAN:
        parts.append(f"</{element.name}>")
    elif how is Inline.NOTHING:
        del parts[begin:]
    elif how is Inline.EMPTY or (how is Inline.NATIVE and not any(parts[begin:])):
        parts[begin:] = [f"<{_tag(element)}/>"]


def _tag(element: Start) -> str:
    """The inside of a tag: its name, and the first attribute that identifies it."""
    key = next((key for key in _NAMING if key in element.attributes), None)
    return element.name if key is None else f'{element.name} {key}="{escape(element.attributes[key])}"'
