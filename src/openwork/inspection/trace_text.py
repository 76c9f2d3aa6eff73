"""A trace for a terminal: as wide as it is, in the reader's language; wide characters count two columns."""

from collections.abc import Callable, Iterable, Iterator

from openwork.base.phrases import shown_width
from openwork.inspection.trace import Printed, Statement, Step, Trace, title_of
from openwork.inspection.trace_table import Limits, Table, printed_value, shape_text, tables

Translate = Callable[[str], str]

NARROWEST = 40  # columns; on less, lines are longer than the terminal
INDENT = "    "
ROWS, SLICES = 6, 2
LONGEST_LABEL = 14
ELLIPSIS = "…"


def trace_text(trace: Trace, width: int, translate: Translate) -> str:
    """The whole trace, in lines of at most `width` columns."""
    width = max(width, NARROWEST)
    lines = [*wrapped(translate(trace.title), width, "")]
    for assumption in trace.assumptions:
        lines += wrapped(f"- {translate(assumption)}", width, "  ")
    for number, step in enumerate(trace.steps, start=1):
        lines += ["", *_step_text(number, step, width, translate)]
    return "\n".join(line.rstrip() for line in lines)


def _step_text(number: int, step: Step, width: int, translate: Translate) -> Iterator[str]:
    yield from wrapped(f"{number}. {step.name}  ({shape_text(step, translate)})", width, INDENT)
    facts = [
        ("", translate(step.title)),
        (translate("equation"), step.equation),
        (translate("origin"), step.source),
        (translate("made from"), ", ".join(step.inputs)),
        (translate("weights"), ", ".join(step.parameters)),
        (translate("code"), step.code),
    ]
    for name, fact in facts:
        if fact:
            yield from wrapped(f"{INDENT}{name}: {fact}" if name else f"{INDENT}{fact}", width, INDENT * 2)
    for table in tables(step, Limits(ROWS, width // 5, SLICES)):
        yield from [f"{INDENT}{ELLIPSIS}"] if table is None else _table_text(table, width)
    for printed in step.printed:
        yield from wrapped(f"{INDENT}{_printed_text(printed, translate)}", width, INDENT * 2)
    for said in step.said:
        yield from wrapped(f"{INDENT}{_said_text(said, translate)}", width, INDENT * 2)


def _said_text(said: Statement, translate: Translate) -> str:
    verdict = translate("borne out") if said.holds else translate("not borne out")
    told = f"{translate('said in')} {title_of(said.document)}: {translate(said.sentence)}"
    return f"{told}: {verdict}; {translate(said.found)}"


def _printed_text(printed: Printed, translate: Translate) -> str:
    verdicts = {
        "equal": translate("equal"),
        "rounding": translate("equal but for rounding"),
        "wrong": translate("wrong"),
    }
    told = f"{translate('printed in')} {title_of(printed.document)}: {printed_value(printed)}"
    reason = f"; {translate(printed.reason)}" if printed.reason else ""
    return f"{told}: {verdicts[printed.verdict]}{reason}"


def _table_text(table: Table, width: int) -> Iterator[str]:
    """Heading, column names, rows. As many columns as fit, the last ones kept."""
    if table.heading:
        yield INDENT + ", ".join(f"{axis} {label}" for axis, label in table.heading)
    names = [None if row is None else _fitted(row, LONGEST_LABEL) for row in table.rows]
    beside = max((shown_width(name) for name in names if name is not None), default=0)
    columns = _columns(table)
    cell = max((shown_width(text) for column in columns if column is not None for text in column), default=1)
    room = max(2, (width - len(INDENT) - beside) // (cell + 2))
    kept = _thinned(columns, room)
    heads = [column[0] if column is not None else ELLIPSIS for column in kept]
    if any(head != "" for head in heads):
        yield _row(" " * beside, heads, cell)
    body = iter(range(1, len(table.cells) + 1))
    for name in names:
        if name is None:
            yield INDENT + ELLIPSIS
            continue
        place = next(body)
        yield _row(_padded(name, beside), [c[place] if c is not None else ELLIPSIS for c in kept], cell)


def _columns(table: Table) -> list[list[str] | None]:
    """Each column as its name and its cells; None for a gap."""
    filled = iter(zip(*table.cells, strict=True))
    return [None if name is None else [_fitted(name, LONGEST_LABEL), *next(filled, ())] for name in table.columns]


def _thinned(columns: list[list[str] | None], room: int) -> list[list[str] | None]:
    """At most `room` columns, gap included: of more the first, a gap, and the last.

    Where there is a gap already, it lies between those that are kept: both are cut at two thirds.
    """
    if len(columns) <= room:
        return columns
    last = max(1, (room - 1) // 3)
    first = max(1, room - 1 - last)
    return [*(c for c in columns[:first] if c is not None), None, *(c for c in columns[-last:] if c is not None)]


def _row(name: str, cells: Iterable[str], width: int) -> str:
    return INDENT + name + "".join("  " + _padded(cell, width, right=True) for cell in cells)


def _padded(text: str, width: int, *, right: bool = False) -> str:
    space = " " * max(0, width - shown_width(text))
    return space + text if right else text + space


def _fitted(text: str, most: int) -> str:
    """At most so many columns, the last an ellipsis where some characters were cut."""
    if shown_width(text) <= most:
        return text
    while shown_width(text) > most - 1:
        text = text[:-1]
    return text + ELLIPSIS


def wrapped(text: str, width: int, indent: str) -> Iterator[str]:
    """Lines of at most `width` columns, broken at spaces or between wide characters; later ones are indented."""
    line = ""
    for word in _words(text):
        if line.strip() and shown_width(line + word.rstrip()) > width:
            yield line.rstrip()
            line, word = indent, word.lstrip()
        while shown_width(line + word.rstrip()) > width:  # a word that is longer than a line
            fitting = 1
            while shown_width(line + word[: fitting + 1]) <= width:
                fitting += 1
            yield line + word[:fitting]
            line, word = indent, word[fitting:]
        line += word
    yield line.rstrip()


def _words(text: str) -> Iterator[str]:
    """The text cut where lines may break; spaces stay before their word."""
    word = ""
    for character in text:
        wide = shown_width(character) == 2
        if word.strip() and (character == " " or wide):
            yield word
            word = ""
        word += character
    if word:
        yield word
