"""TMX and XLIFF, the exchange formats of translation memories (to version 1.4) and of localisation (1.2 and 2.0).

Tags within a sentence become text, so that they can be kept as placeholders: `<g id="1">...</g>` and `<pc>` as they
are, `<x id="1"/>`, `<bx>`, `<ex>`, `<sc>`, `<ec>` and `<cp>` as one tag with the attribute that names it, and `<bpt>`,
`<ept>`, `<ph>`, `<it>` and TMX's `<ut>` as the code that they quote from the original document, or as a tag where they
quote none. `<hi>`, `<mrk>` and `<sub>` give their content.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from openwork.base.errors import DataError
from openwork.data.readers.markup import Inline, line_of, read_elements, sentence_of
from openwork.data.readers.sides import is_backwards, is_kind_of, normal
from openwork.data.records import UNSAID, Languages, Pair, Skipped

_TMX_INLINE: dict[str, Inline] = dict.fromkeys(("bpt", "ept", "ph", "it", "ut"), Inline.NATIVE)
_XLIFF_INLINE = {
    **dict.fromkeys(("g", "pc"), Inline.SPAN),
    **dict.fromkeys(("x", "bx", "ex", "sc", "ec", "cp"), Inline.EMPTY),
    **dict.fromkeys(("bpt", "ept", "ph", "it"), Inline.NATIVE),
    **dict.fromkeys(("sm", "em"), Inline.NOTHING),
}
_UNITS = ("trans-unit", "segment")  # of XLIFF 1.2, and of 2.0
_NOT_TRANSLATED = ("new", "needs-translation", "initial")  # states of a target that only repeats the source


class _TmxUnit(NamedTuple):
    """A `<tu>`: the segment of the first `<tuv>` of each language. `source`: the language that the file says."""

    line: int
    source: str | None
    segments: dict[str, str]

    def find(self, language: str) -> str | None:
        """The unit's code for a language: that very one before a kind of it."""
        if normal(language) in self.segments:
            return normal(language)
        return next((code for code in self.segments if is_kind_of(code, language)), None)


def read_tmx(path: Path | str, languages: Languages = UNSAID) -> Iterator[Pair | Skipped]:
    """Yield the pair of each unit; a unit that lacks one of the two languages is `Skipped`.

    `languages` choose the variants. Where one is not given, the source is what the header says (`srclang`), and the
    target is the only other language; `DataError` if there are several.
    """
    path = Path(path)
    chosen = languages
    for unit in _tmx_units(path):
        chosen = _complete(chosen, unit, path)
        codes = [unit.find(language) if language else None for language in chosen]
        if None not in codes:
            yield Pair(*(unit.segments[code] for code in codes if code is not None))
        elif None in languages and len(unit.segments) > 1:
            raise _unclear(unit, path)  # the units before had other languages than this one
        else:
            missing = next(language for language, code in zip(chosen, codes, strict=True) if code is None)
            yield Skipped(f"no segment in {missing or 'a second language'}", unit.line)


def _tmx_units(path: Path) -> Iterator[_TmxUnit]:
    header_source: str | None = None
    for element in read_elements(path, "tmx", ("header",), ("tu",)):
        if element.tag == "header":
            header_source = element.get("srclang")
            continue
        segments: dict[str, str] = {}
        for variant in element.iterfind("tuv"):
            if not (language := normal(variant.get("lang", ""))):
                raise DataError(
                    f"{path}:{line_of(variant)}: the variant has no language",
                    hint='write the language into it: <tuv xml:lang="en">',
                    code="D054",
                )
            if (segment := variant.find("seg")) is not None:
                segments.setdefault(language, sentence_of(segment, _TMX_INLINE, path))
        yield _TmxUnit(line_of(element), element.get("srclang", header_source), segments)


def _complete(languages: Languages, unit: _TmxUnit, path: Path) -> Languages:
    """Both languages as far as they are known by now: those wanted, the header's source, the only other one."""
    source, target = languages
    if source is None and unit.source and unit.source != "*all*" and not (target and _alike(unit.source, target)):
        source = unit.source
    known = source or target
    if known is None:
        raise _unclear(unit, path)
    if source is None or target is None:
        other, *more = [code for code in unit.segments if not _alike(code, known)] or [None]
        if more:
            raise _unclear(unit, path)
        source, target = source or other, target or other
    return Languages(source, target)


def _alike(one: str, other: str) -> bool:
    return is_kind_of(one, other) or is_kind_of(other, one)


def _unclear(unit: _TmxUnit, path: Path) -> DataError:
    return DataError(
        f"{path}:{unit.line}: which language is the source, which the target?",
        why=f"the unit has {', '.join(unit.segments) or 'no segment'}",
        hint="set source_language and target_language in the run file's [data]",
        code="D055",
    )


def read_xliff(path: Path | str, languages: Languages = UNSAID) -> Iterator[Pair | Skipped]:
    """Yield the pair of each unit; a unit without a target gives a blank one.

    Targets whose state says that they are not translated are `Skipped`. If `languages` name the file's languages the
    other way round, it is read so; `DataError` if they are others. Alternatives (`<alt-trans>`, `<mtc:matches>`) and
    text between sentences (`<ignorable>`) are passed over.
    """
    path = Path(path)
    backwards = False
    for element in read_elements(path, "xliff", ("xliff", "file"), _UNITS):
        line = line_of(element)
        if element.tag not in _UNITS:
            get = element.get
            found = Languages(get("srcLang") or get("source-language"), get("trgLang") or get("target-language"))
            backwards = is_backwards(found, languages, path, line) if any(found) else backwards
            continue
        sides = element.find("source"), element.find("target")
        states = (side.get("state") for side in reversed(sides) if side is not None)
        state = next(filter(None, states), element.get("state"))
        source, target = ("" if side is None else sentence_of(side, _XLIFF_INLINE, path) for side in sides)
        if sides[0] is None:
            yield Skipped("no source", line)
        elif target and state in _NOT_TRANSLATED:
            yield Skipped(f"not translated (state {state})", line)
        else:
            yield Pair(target, source) if backwards else Pair(source, target)
