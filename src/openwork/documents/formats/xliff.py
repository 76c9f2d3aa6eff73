"""XLIFF 1.2 and 2.0/2.1, the exchange formats of localisation.

Each `<trans-unit>` (1.2) and each `<segment>` (2.x) whose source has words is a text, unless `translate="no"` holds for
it. `<g>`, `<pc>` and `<mrk>` are pairs of marks. `<bpt>` and `<ept>`, `<bx>` and `<ex>`, `<sc>` and `<ec>`, `<sm>` and
`<em>` are pairs where both are in the text, within the same element. All others, and a protected `<mrk>`, are one mark.
Where a unit of 1.2 has `<seg-source>`, the translation has its `<mrk mtype="seg">` as well.

A translation that is written has the state `translated`; what else was said of an older one (`approved`,
`state-qualifier`, `subState`) goes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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
    **dict.fromkeys(("g", "pc", "mrk"), InlineKind(InlineRole.AROUND)),
    "bpt": InlineKind(InlineRole.BEGIN, "bpt", ("rid", "id")),
    "ept": InlineKind(InlineRole.END, "bpt", ("rid", "id")),
    "bx": InlineKind(InlineRole.BEGIN, "bx", ("rid", "id")),
    "ex": InlineKind(InlineRole.END, "bx", ("rid", "id")),
    "sc": InlineKind(InlineRole.BEGIN, "sc", ("id",)),
    "ec": InlineKind(InlineRole.END, "sc", ("startRef",)),
    "sm": InlineKind(InlineRole.BEGIN, "sm", ("id",)),
    "em": InlineKind(InlineRole.END, "sm", ("startRef",)),
}
_FINAL = {"1": ("translated", "signed-off", "final"), "2": ("translated", "reviewed", "final")}
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


@dataclass(frozen=True)
class _TransUnit:
    """A `<trans-unit>` or `<segment>`. `last`: the element that its target follows."""

    holder: Element
    source: InlineText
    last: Element
    target: Element | None


class Xliff:
    """An XLIFF file. It is read again for each writing, so that writings know nothing of each other."""

    def __init__(self, content: bytes, path: Path, settings: DocumentSettings) -> None:
        self._content, self._path, self._settings = content, path, settings
        file = read_xml(content, path)
        self._version = _version(file, path)
        self._segments = [self._segment(unit) for unit in self._units(file)]

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

    def _units(self, file: XmlFile) -> list[_TransUnit]:
        """The units with words to translate, in order."""
        root, found = file.root, []
        for holder in root.iter(sibling_name(root, "trans-unit" if self._version == "1" else "segment")):
            source, cut, target = (holder.find(sibling_name(root, name)) for name in ("source", "seg-source", "target"))
            source = source if cut is None else cut
            if source is None or not _is_to_translate(holder):
                continue
            text = InlineText(source, _KINDS, self._path)
            if has_words(text.parts):
                found.append(_TransUnit(holder, text, source, target))
        return found

    def _segment(self, unit: _TransUnit) -> TranslationUnit:
        named = unit.holder if self._version == "1" else unit.holder.getparent()
        place = f"line {unit.holder.sourceline}, unit {named.get('id', '-')}"
        if unit.target is None:
            return TranslationUnit(unit.source.parts, place)
        current = InlineText(unit.target, _KINDS, self._path).keyed_as(unit.source)
        return TranslationUnit(unit.source.parts, place, current, self._is_final(unit, current))

    def _is_final(self, unit: _TransUnit, current: Parts) -> bool:
        """By its state; without one, a text of 1.2 must differ from its source."""
        assert unit.target is not None
        if not plain(current).strip():
            return False
        state = unit.target.get("state") if self._version == "1" else unit.holder.get("state")
        if unit.holder.get("approved") == "yes":
            return True
        if state is not None:
            return state in _FINAL[self._version]
        return self._version == "2" or plain(current) != plain(unit.source.parts)

    def _translate(self, unit: _TransUnit, translation: Parts) -> None:
        target = unit.target
        if target is None:
            target = unit.last.makeelement(sibling_name(unit.last, "target"))
            if space := unit.last.get(_SPACE):
                target.set(_SPACE, space)
            insert_after(unit.last, target)
        unit.source.fill(target, translation)
        stated = target if self._version == "1" else unit.holder
        stated.set("state", "translated")
        for element, stale in ((unit.holder, "approved"), (target, "state-qualifier"), (unit.holder, "subState")):
            element.attrib.pop(stale, None)
        self._set_language(unit.holder)

    def _set_language(self, holder: Element) -> None:
        name, key = ("file", "target-language") if self._version == "1" else ("xliff", "trgLang")
        owner = next((parent for parent in holder.iterancestors() if local_name(parent) == name), None)
        if owner is not None and key not in owner.attrib and self._settings.target:
            owner.set(key, self._settings.target)


def _version(file: XmlFile, path: Path) -> str:
    """1 or 2."""
    if local_name(file.root) != "xliff":
        raise not_of_kind(path, "XLIFF", other_root(file.root))
    version = file.root.get("version", "")
    if version.partition(".")[0] not in _FINAL:
        raise not_of_kind(path, "XLIFF", msg(f"its version is {version!r}, not 1.2, 2.0 or 2.1"))
    return version.partition(".")[0]


def _is_to_translate(holder: Element) -> bool:
    """The nearest `translate` of a unit and of what it is in decides."""
    said = (element.get("translate") for element in (holder, *holder.iterancestors()))
    return next(filter(None, said), "yes") != "no"


def read_xliff(content: bytes, path: Path, settings: DocumentSettings) -> Document:
    """An XLIFF file. DataError for what is no XLIFF."""
    return Xliff(content, path, settings)
