"""Word documents (.docx): the main text, headers, footers, footnotes, endnotes and comments.

Each paragraph with words is a text, those of tables and text boxes as well. What formats mean to a text is said in
`word_paragraph.py`. Fields that Word computes, and what was deleted while changes were tracked, stay as they are.
Entries of the archive without a translation keep their content.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from openwork.base.messages import msg
from openwork.documents.archive import not_office_document, read_archive
from openwork.documents.document import Document, DocumentSettings
from openwork.documents.inline_elements import has_words
from openwork.documents.libraries import need
from openwork.documents.segments import Parts, TranslationUnit
from openwork.documents.word_paragraph import WordParagraph
from openwork.documents.xml_file import XmlFile, local_name, read_xml

_TYPES = "[Content_Types].xml"
_MAIN = re.compile(r"\.(document|template)(\.macroEnabled\w*)?\.main\+xml$|\.macroEnabled\w*\.main\+xml$")
_OTHERS = re.compile(r"wordprocessingml\.(header|footer|footnotes|endnotes|comments)\+xml$")


class WordDocument:
    """A Word document. Its parts are read again for each writing."""

    def __init__(self, content: bytes, path: Path) -> None:
        need("lxml", path)
        self._content, self._path = content, path
        self._archive = read_archive(content, path)
        self._names = self._names_of_parts()
        self._segments: list[TranslationUnit] = []
        self._counts: list[int] = []  # segments of each part
        for name in self._names:
            segments = self._segments_of(name)
            self._segments += segments
            self._counts.append(len(segments))

    @property
    def segments(self) -> Sequence[TranslationUnit]:
        return self._segments

    def written(self, translations: Sequence[Parts | None]) -> bytes:
        if len(translations) != len(self._segments):
            raise ValueError(f"{len(translations)} translations of {len(self._segments)} segments")
        changed: dict[str, bytes] = {}
        begin = 0
        for name, count in zip(self._names, self._counts, strict=True):
            part = translations[begin : begin + count]
            begin += count
            if any(translation is not None for translation in part):
                changed[name] = self._translated(name, part)
        return self._archive.written(changed) if changed else self._content

    def _names_of_parts(self) -> list[str]:
        """The entries with text, the main one first."""
        types = self._archive.named(_TYPES)
        if types is None:
            raise not_office_document(self._path, msg(f"it has no {_TYPES}"))
        said = [
            (element.get("PartName", "").lstrip("/"), element.get("ContentType", ""))
            for element in read_xml(types, self._path).root
            if local_name(element) == "Override"
        ]
        main = [name for name, kind in said if _MAIN.search(kind)]
        if len(main) != 1:
            raise not_office_document(self._path, msg("no entry is the main part of a Word document"))
        return main + [name for name, kind in said if _OTHERS.search(kind)]

    def _read(self, name: str) -> tuple[XmlFile, list[tuple[int, WordParagraph]]]:
        """A part, and its paragraphs with words, each with its number in the part."""
        content = self._archive.named(name)
        if content is None:
            raise not_office_document(self._path, msg(f"it has no {name}"))
        file = read_xml(content, Path(f"{self._path}:{name}"))
        elements = [element for element in file.root.iter("{*}p") if _is_word(element)]
        found = [(number, WordParagraph(element)) for number, element in enumerate(elements, start=1)]
        return file, [(number, paragraph) for number, paragraph in found if has_words(paragraph.parts)]

    def _segments_of(self, name: str) -> list[TranslationUnit]:
        _, paragraphs = self._read(name)
        where = "" if name == self._names[0] else f"{Path(name).stem}, "
        return [TranslationUnit(paragraph.parts, f"{where}paragraph {number}") for number, paragraph in paragraphs]

    def _translated(self, name: str, translations: Sequence[Parts | None]) -> bytes:
        file, paragraphs = self._read(name)
        for (_, paragraph), translation in zip(paragraphs, translations, strict=True):
            if translation is not None:
                paragraph.fill(translation)
        return file.written()


def _is_word(element: object) -> bool:
    """Whether an element is of WordprocessingML, and not of a drawing, which has paragraphs of the same name."""
    return "wordprocessingml" in str(getattr(element, "tag", ""))


def read_docx(content: bytes, path: Path, settings: DocumentSettings) -> Document:
    """A Word document. DataError for what is none, is damaged or encrypted."""
    return WordDocument(content, path)
