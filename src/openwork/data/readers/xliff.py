"""XLIFF, the exchange format of localisation: versions 1.2 and 2.0.

Tags within a sentence become text, so that they can be kept as placeholders: `<g id="1">...</g>` and `<pc>` as they
stand, `<x id="1"/>`, `<bx>`, `<ex>`, `<sc>`, `<ec>` and `<cp>` as one tag with the attribute that names it, and
`<bpt>`, `<ept>`, `<ph>` and `<it>` as the code that they quote, or as a tag where they quote none. `<mrk>` and `<sub>`
give their content.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from openwork.data.readers.markup import End, Inline, Start, read_events, read_sentence
from openwork.data.readers.sides import is_backwards
from openwork.data.records import UNSAID, Languages, Pair, Skipped

_INLINE = {
    **dict.fromkeys(("g", "pc"), Inline.SPAN),
    **dict.fromkeys(("x", "bx", "ex", "sc", "ec", "cp"), Inline.EMPTY),
    **dict.fromkeys(("bpt", "ept", "ph", "it"), Inline.NATIVE),
    **dict.fromkeys(("sm", "em"), Inline.NOTHING),
}
_UNITS = ("trans-unit", "segment")  # of version 1.2, and of 2.0
_SIDES = ("source", "target")
_NOT_TRANSLATED = ("new", "needs-translation", "initial")  # states of a target that is only the source again


@dataclass
class _XliffUnit:
    """What is known of one `<trans-unit>` or `<segment>`."""

    line: int
    state: str = ""
    source: str | None = None
    target: str = ""


def read_xliff(path: Path | str, languages: Languages = UNSAID) -> Iterator[Pair | Skipped]:
    """Yield the pair of each unit; a unit without a target gives a blank one.

    Targets whose state says that they are not translated are `Skipped`. If `languages` name the file's languages the
    other way round, it is read so; `DataError` if they are others. Alternatives (`<alt-trans>`, `<mtc:matches>`) and
    text between sentences (`<ignorable>`) are passed over.
    """
    path = Path(path)
    events = read_events(path, "xliff")
    parents: list[str] = []
    backwards = False
    unit: _XliffUnit | None = None
    for event in events:
        match event:
            case Start("xliff" | "file") if any(_languages_of(event)):
                backwards = is_backwards(_languages_of(event), languages, path, event.line)
            case Start(name) if name in _UNITS:
                unit = _XliffUnit(event.line, event.attributes.get("state", ""))
            case Start(name) if name in _SIDES and unit is not None and parents[-1] in _UNITS:
                text = read_sentence(events, _INLINE, path, event.line)
                setattr(unit, name, text)
                unit.state = event.attributes.get("state", unit.state)
                continue  # its end has been read
            case End(name) if name in _UNITS and unit is not None:
                yield from _told(unit, backwards)
                unit = None
        if isinstance(event, Start):
            parents.append(event.name)
        elif isinstance(event, End):
            parents.pop()


def _languages_of(element: Start) -> Languages:
    get = element.attributes.get
    return Languages(get("srcLang") or get("source-language"), get("trgLang") or get("target-language"))


def _told(unit: _XliffUnit, backwards: bool) -> Iterator[Pair | Skipped]:
    if unit.source is None:
        yield Skipped("no source", unit.line)
    elif unit.target and unit.state in _NOT_TRANSLATED:
        yield Skipped(f"not translated (state {unit.state})", unit.line)
    else:
        yield Pair(unit.target, unit.source) if backwards else Pair(unit.source, unit.target)
