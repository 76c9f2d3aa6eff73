"""TMX 1.4, the exchange format of translation memories.

Each `<tu>` with a segment in the source language is a text. Its translation is the segment of the target language;
where there is none, a `<tuv>` is added behind the others. The source language is the one that the settings name, or
else the one that the unit or the header names (`srclang`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from openwork.base.errors import DataError
from openwork.base.messages import msg
from openwork.documents.document import Document, DocumentSettings
from openwork.documents.inline_elements import InlineKind, InlineRole, InlineText, has_words
from openwork.documents.segments import Parts, TranslationUnit, plain
from openwork.documents.xml_file import (
    Element,
    XmlFile,
    insert_after,
    local_name,
    not_of_kind,
    other_root,
    read_xml,
    sibling_name,
)

_KINDS = {
    "hi": InlineKind(InlineRole.AROUND),
    "bpt": InlineKind(InlineRole.BEGIN, "bpt", ("i",)),
    "ept": InlineKind(InlineRole.END, "bpt", ("i",)),
}
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_ANY = "*all*"


@dataclass(frozen=True)
class _MemoryUnit:
    """A `<tu>`. `last`: its last `<tuv>`; `target`: that of the target language."""

    holder: Element
    source: InlineText
    last: Element
    target: Element | None


class Tmx:
    """A TMX file. It is read again for each writing, so that writings know nothing of each other."""

    def __init__(self, content: bytes, path: Path, settings: DocumentSettings) -> None:
        self._content, self._path = content, path
        file = read_xml(content, path)
        if local_name(file.root) != "tmx":
            raise not_of_kind(path, "TMX", other_root(file.root))
        self._source = settings.source
        if settings.target is None:
            raise _unknown_language(path, msg("the target"))
        self._target = settings.target
        self._segments = [self._segment(unit, number) for number, unit in enumerate(self._units(file), start=1)]

    @property
    def segments(self) -> Sequence[TranslationUnit]:
        return self._segments

    def written(self, translations: Sequence[Parts | None]) -> bytes:
        if all(translation is None for translation in translations):
            return self._content
        file = read_xml(self._content, self._path)
        for unit, translation in zip(self._units(file), translations, strict=True):
            if translation is not None:
                self._translate(unit, translation)
        return file.written()

    def _units(self, file: XmlFile) -> list[_MemoryUnit]:
        """The units with words in the source language, in order."""
        header = file.root.find("{*}header")
        general = None if header is None else header.get("srclang")
        found = []
        for holder in file.root.iter("{*}tu"):
            variants = holder.findall("{*}tuv")
            source_language = self._source or holder.get("srclang", general)
            if source_language in (None, _ANY):
                raise _unknown_language(self._path, msg("the source"))
            source = _variant(variants, source_language)
            segment = None if source is None else source.find("{*}seg")
            if segment is None:
                continue
            text = InlineText(segment, _KINDS, self._path)
            if has_words(text.parts):
                target = _variant([variant for variant in variants if variant is not source], self._target)
                found.append(_MemoryUnit(holder, text, variants[-1], target))
        return found

    def _segment(self, unit: _MemoryUnit, number: int) -> TranslationUnit:
        place = f"line {unit.holder.sourceline}, unit {unit.holder.get('tuid', number)}"
        segment = None if unit.target is None else unit.target.find("{*}seg")
        current = () if segment is None else InlineText(segment, _KINDS, self._path).keyed_as(unit.source)
        return TranslationUnit(unit.source.parts, place, current, bool(plain(current).strip()))

    def _translate(self, unit: _MemoryUnit, translation: Parts) -> None:
        target = unit.target
        if target is None:
            target = unit.last.makeelement(unit.last.tag, {_LANGUAGE: self._target})
            target.text = unit.last.text if not (unit.last.text or "").strip() else None
            insert_after(unit.last, target)
        segment = target.find("{*}seg")
        if segment is None:
            segment = target.makeelement(sibling_name(target, "seg"))
            segment.tail = unit.last[-1].tail if len(unit.last) else None
            target.append(segment)
        unit.source.fill(segment, translation)


def _variant(variants: Sequence[Element], language: str | None) -> Element | None:
    """The first `<tuv>` in a language; that very one before a kind of it, such as en-GB for en."""
    wanted = _normal(language)
    codes = [(_normal(variant.get(_LANGUAGE, variant.get("lang"))), variant) for variant in variants]
    exact = (variant for code, variant in codes if code == wanted)
    return next(exact, next((variant for code, variant in codes if code.startswith(f"{wanted}-")), None))


def _normal(code: str | None) -> str:
    return (code or "").strip().lower().replace("_", "-")


def _unknown_language(path: Path, side: str) -> DataError:
    return DataError(
        f"{path}: which language of the memory is {side}?",
        why="a unit of TMX can have many languages",
        hint="name the language of the document and that of its translation",
        code="D177",
    )


def read_tmx(content: bytes, path: Path, settings: DocumentSettings) -> Document:
    """A TMX file. DataError for what is no TMX, and where a language is not known."""
    return Tmx(content, path, settings)
