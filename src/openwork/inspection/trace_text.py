"""A trace for a terminal: as wide as it is, in the reader's language; wide characters count two columns."""

from collections.abc import Callable, Iterator, Sequence

from openwork.base.phrases import Padded, fitted, shown_width
from openwork.inspection.patches_view import is_on_patches, shaded
from openwork.inspection.trace import Step, Trace, title_of
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
    if is_on_patches(step):
        yield from (f"{INDENT}{line}" for line in shaded(step, width - len(INDENT), translate))
        return
    for table in tables(step, Limits(ROWS, width // 5, SLICES)):
        yield from [f"{INDENT}{ELLIPSIS}"] if table is None else _table_text(table, width)
    verdicts = {
        "equal": translate("equal"),
        "rounding": translate("equal but for rounding"),
        "wrong": translate("wrong"),
    }
    for printed in step.printed:
        place = f"{translate('printed in')} {title_of(printed.document)}: {printed_value(printed)}"
        reason = f"; {translate(printed.reason)}" if printed.reason else ""
        yield from wrapped(f"{INDENT}{place}: {verdicts[printed.verdict]}{reason}", width, INDENT * 2)
    for said in step.said:
        verdict = translate("borne out") if said.holds else translate("not borne out")
        place = f"{translate('said in')} {title_of(said.document)}: {translate(said.sentence)}"
        yield from wrapped(f"{INDENT}{place}: {verdict}; {translate(said.found)}", width, INDENT * 2)


def _table_text(table: Table, width: int) -> Iterator[str]:
    """Heading, column names, rows. As many columns as fit, the last ones kept."""
    if table.heading:
        yield INDENT + ", ".join(f"{axis} {label}" for axis, label in table.heading)
    names = [None if row is None else fitted(row, LONGEST_LABEL) for row in table.rows]
    beside = max((shown_width(name) for name in names if name is not None), default=0)
    filled = iter(zip(*table.cells, strict=True))  # each column: its name and its cells; None for a gap
    columns = [None if name is None else [fitted(name, LONGEST_LABEL), *next(filled, ())] for name in table.columns]
    cell = max((shown_width(text) for column in columns if column is not None for text in column), default=1)
    most = max(2, (width - len(INDENT) - beside) // (cell + 2))
    if len(columns) > most:  # the first, a gap, and the last, as where there is a gap already: two thirds, one third
        last = max(1, (most - 1) // 3)
        first, final = columns[: max(1, most - 1 - last)], columns[-last:]
        columns = [*(c for c in first if c is not None), None, *(c for c in final if c is not None)]
    places = range(len(table.cells) + 1)
    lines = [[ELLIPSIS if column is None else column[place] for column in columns] for place in places]
    if any(lines[0]):
        yield _row(" " * beside, lines[0], cell)
    body = iter(lines[1:])
    for name in names:
        yield INDENT + ELLIPSIS if name is None else _row(Padded(name, beside), next(body), cell)


def _row(name: str, cells: Sequence[str], width: int) -> str:
    return INDENT + name + "".join("  " + Padded(cell, width, right=True) for cell in cells)


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
