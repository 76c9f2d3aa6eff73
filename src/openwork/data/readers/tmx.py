"""TMX, the exchange format of translation memories (version 1.4 and before).

A unit `<tu>` holds a variant `<tuv>` for each language, with a segment `<seg>` each. Tags within a segment become text:
the code that `<bpt>`, `<ept>`, `<ph>`, `<it>` and `<ut>` quote from the original document, or the tag itself
(`<ph x="1"/>`) where they quote none; `<hi>` and `<sub>` give their content.
"""

from collections.abc import Iterator
from pathlib import Path

from openwork.base.errors import DataError
from openwork.base.files import MAX_LINE_CHARACTERS
from openwork.data.readers.markup import End, Event, Inline, Start, read_events, read_sentence
from openwork.data.readers.sides import is_kind_of, normal, too_long
from openwork.data.records import UNSAID, Languages, Pair, Skipped

_INLINE: dict[str, Inline] = dict.fromkeys(("bpt", "ept", "ph", "it", "ut"), Inline.NATIVE)
_ANY = "*all*"  # a header's srclang where every language may be the source


class _TmxUnit:
    """The segments of one `<tu>`, the first of each language."""

    def __init__(self, start: Start, source: str | None) -> None:
        self.line = start.line
        self.source = start.attributes.get("srclang", source)
        self.segments: dict[str, str] = {}

    def find(self, language: str) -> str | None:
        """The code under which a language stands: that very one before a kind of it."""
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
    for unit in _units(path):
        chosen = _complete(chosen, unit, path)
        codes = [unit.find(language) if language else None for language in chosen]
        if None not in codes:
            yield Pair(*(unit.segments[code] for code in codes if code is not None))
        elif None in languages and len(unit.segments) > 1:
            raise _unclear(unit, path)  # the units before had other languages than this one
        else:
            missing = next(language for language, code in zip(chosen, codes, strict=True) if code is None)
            yield Skipped(f"no segment in {missing or 'a second language'}", unit.line)


def _units(path: Path) -> Iterator[_TmxUnit]:
    events = read_events(path, "tmx")
    header_source: str | None = None
    unit: _TmxUnit | None = None
    for event in events:
        match event:
            case Start("header"):
                header_source = event.attributes.get("srclang")
            case Start("tu"):
                unit = _TmxUnit(event, header_source)
            case Start("tuv") if unit is not None:
                _read_variant(unit, event, events, path)
            case End("tu") if unit is not None:
                yield unit
                unit = None


def _read_variant(unit: _TmxUnit, start: Start, events: Iterator[Event], path: Path) -> None:
    language = normal(start.attributes.get("lang", ""))
    if not language:
        raise DataError(
            f"{path}:{start.line}: the variant has no language",
            hint='write the language into it: <tuv xml:lang="en">',
            code="D054",
        )
    for event in events:
        if isinstance(event, Start) and event.name == "seg":
            text = read_sentence(events, _INLINE, path, event.line)
            unit.segments.setdefault(language, text)
        elif isinstance(event, End) and event.name == "tuv":
            break
    if sum(map(len, unit.segments.values())) > 4 * MAX_LINE_CHARACTERS:
        raise too_long(path, unit.line)


def _complete(languages: Languages, unit: _TmxUnit, path: Path) -> Languages:
    """Both languages as far as they can be told by now: those asked for, the header's source, the only other one."""
    source, target = languages
    if source is None and unit.source not in (None, _ANY) and not (target and _alike(unit.source or "", target)):
        source = unit.source
    known = source or target
    if known is None:
        raise _unclear(unit, path)
    if source is None or target is None:
        others = [code for code in unit.segments if not _alike(code, known)]
        if len(others) > 1:
            raise _unclear(unit, path)
        other = others[0] if others else None
        source, target = source or other, target or other
    return Languages(source, target)


def _alike(one: str, other: str) -> bool:
    return is_kind_of(one, other) or is_kind_of(other, one)


def _unclear(unit: _TmxUnit, path: Path) -> DataError:
    return DataError(
        f"{path}:{unit.line}: which language is the source, which the target?",
        why=f"the unit has {', '.join(unit.segments) or 'no segment'}",
        hint="say source_language and target_language in the run file's [data]",
        code="D055",
    )
