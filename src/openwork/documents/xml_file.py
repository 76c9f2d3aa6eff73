"""XML documents, from untrusted files: read as a tree that can be changed, and written.

expat reads a document first, and refuses what could grow: declared entities, deep nesting, too many elements. Then
lxml makes the tree; it opens no other file. All before and after the outermost element is written byte for byte; within
it, names, namespaces, comments, processing instructions and CDATA stay.
"""

import codecs
import pyexpat
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from openwork.base.errors import DataError
from openwork.base.messages import msg
from openwork.documents.libraries import need

DEEPEST = 200  # nested elements
MOST_ELEMENTS = 2_000_000  # elements and attributes; a tree has some 100 bytes for each
MOST_MARKS = 2_000  # elements of a text
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_BEGINS = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}  # UTF-16 without a mark
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Element = Any  # lxml has no types


@dataclass(frozen=True)
class XmlFile:
    """A tree. `begin`, `end`: where its outermost element and that element's closing tag begin, in bytes."""

    content: bytes
    root: Element
    begin: int
    end: int
    has_windows_lines: bool
    codec: str

    def written(self) -> bytes:
        """The document with the tree as it is now; characters that its encoding lacks become references."""
        from lxml import etree  # type: ignore[import-not-found]

        text = etree.tostring(self.root, encoding="unicode", with_tail=False)
        before = self.content[: self.begin].decode(self.codec)
        _, _, after = self.content[self.end :].decode(self.codec).partition(">")
        if self.has_windows_lines:
            text = text.replace("\n", "\r\n")
        return (before + text + after).encode(self.codec, "xmlcharrefreplace")


def read_xml(content: bytes, path: Path) -> XmlFile:
    """The tree of an XML document.

    DataError for what is not well-formed, for an encoding that is not known, for a declared entity, and for what is
    nested too deeply or too large.
    """
    need("lxml", path)
    from lxml import etree  # type: ignore[import-not-found]

    outline = _Outline(path)
    outline.read(content)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, strip_cdata=False, remove_pis=False
    )
    try:
        tree = etree.fromstring(content, parser).getroottree()
        declared = next((mark for mark in (*_MARKS, *_BEGINS) if content.startswith(mark)), b"")
        codec = (_MARKS | _BEGINS).get(declared) or tree.docinfo.encoding or "utf-8"
        return XmlFile(content, tree.getroot(), outline.begin, outline.end, _has_windows_lines(content, codec), codec)
    except (etree.XMLSyntaxError, ValueError, LookupError) as error:
        raise _malformed(path, getattr(error, "lineno", None) or 1, str(error)) from error


def _has_windows_lines(content: bytes, codec: str) -> bool:
    """Whether all lines end as on Windows. ValueError for what is not in the encoding."""
    text = content.decode(codec)
    return "\r\n" in text and text.count("\r\n") == text.count("\n")


def local_name(element: Element) -> str:
    """The name of an element without its namespace; empty for comments and processing instructions."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def sibling_name(element: Element, name: str) -> str:
    """A name in the namespace of an element."""
    return element.tag[: -len(local_name(element))] + name


def xml_text(text: str) -> str:
    """A text without the characters that XML cannot hold, such as control characters."""
    return _NO_XML.sub("", text)


def text_of(element: Element) -> str:
    """The text of an element and of all within it, without comments."""
    return str(element.xpath("string()"))


def insert_after(element: Element, new: Element) -> None:
    """Puts a new element behind another of the same parent, with the same indentation."""
    parent = element.getparent()
    previous = element.getprevious()
    indent = parent.text if previous is None else previous.tail
    parent.insert(parent.index(element) + 1, new)
    new.tail = element.tail
    if not (indent or "").strip():
        element.tail = indent


class _Outline:
    """A first reading with expat: what is refused, and where the outermost element is."""

    def __init__(self, path: Path) -> None:
        self.begin = self.end = 0
        self._path = path
        self._depth = self._count = 0
        parser = self._parser = pyexpat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._stop
        parser.EntityDeclHandler = self._refuse_entity
        parser.SkippedEntityHandler = self._refuse_entity
        parser.ExternalEntityRefHandler = self._refuse_entity

    def read(self, content: bytes) -> None:
        try:
            self._parser.Parse(content, True)
        except pyexpat.ExpatError as error:
            reason = pyexpat.ErrorString(error.code) or "not well-formed"
            raise _malformed(self._path, error.lineno, f"{reason}, column {error.offset + 1}") from error
        except (ValueError, LookupError) as error:  # an encoding that is declared and unknown
            raise _malformed(self._path, 1, str(error)) from error

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._depth:
            self.begin = self._parser.CurrentByteIndex
        self._depth += 1
        self._count += 1 + len(attributes)
        if self._depth > DEEPEST or self._count > MOST_ELEMENTS:
            raise too_many(self._path, self._parser.CurrentLineNumber)

    def _stop(self, name: str) -> None:
        self._depth -= 1
        if not self._depth:
            self.end = self._parser.CurrentByteIndex

    def _refuse_entity(self, name: str | None, *_: object) -> NoReturn:
        raise DataError(
            f"{self._path}:{self._parser.CurrentLineNumber}: the document may not use the entity {name}",
            why="entities of a file's own can grow without limit, or open other files",
            hint="write the characters themselves; only &amp; &lt; &gt; &quot; &apos; and &#...; are read",
            code="D174",
        )


def _malformed(path: Path, line: int, why: str) -> DataError:
    return DataError(
        f"{path}:{line}: the document is not well-formed XML",
        why=why,
        hint="mend the file, or export it again; `xmllint --noout FILE` checks it",
        code="D173",
    )


def too_many(path: Path, line: int) -> DataError:
    """The error for what is nested too deeply or too large."""
    return DataError(
        f"{path}:{line}: the document has too many elements",
        why=f"more than {DEEPEST} within each other, {MOST_MARKS:,} in a text, or {MOST_ELEMENTS:,} with attributes",
        hint="check that the file is what its name says, or cut it into parts",
        code="D175",
    )


def other_root(root: Element) -> str:
    """The cause where the outermost element is not that of a format."""
    return msg(f"its outermost element is <{local_name(root)}>")


def not_of_kind(path: Path, kind: str, why: str) -> DataError:
    """The error for XML that is another document than the ending of its name says."""
    return DataError(
        f"{path}: the document is not {kind}",
        why=why,
        hint="give the file the ending of its true format, or export it again",
        code="D176",
    )
