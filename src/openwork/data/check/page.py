"""The report of `openwork data check` as one HTML page: nothing to load, every text escaped."""

from collections.abc import Callable, Iterator
from html import escape as escape_markup

from openwork.base.outputs import PAGE_MARK
from openwork.base.printing import escaped
from openwork.data.check.faults import Gathered
from openwork.data.check.report import Report, note_lines

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: .3rem .6rem; vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; } tr { border-top: 1px solid #ddd; }
.shown { font-family: ui-monospace, monospace; font-size: 13px; color: #555; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd; } .shown { color: #aaa; }
tr { border-color: #444; } }
"""


def page_of(report: Report, translate: Callable[[str], str]) -> str:
    """The whole page, in the language of `translate`."""
    title = escape(translate("what is wrong with the corpus"))
    parts = [part for name, found in report.splits.items() for part in _split(name, found, translate)]
    notes = "".join(f"<p>{escape(translate(note))}</p>" for note in note_lines(report))
    return (
        f'<!doctype html><meta charset="utf-8">{PAGE_MARK}<meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{STYLE}</style><h1>{title}</h1>{''.join(parts)}{notes}\n"
    )


def _split(name: str, found: Gathered, translate: Callable[[str], str]) -> Iterator[str]:
    yield f"<h2>{escape(translate(f'{name}: {found.pairs:,} pairs'))}</h2>"
    if not found.lines:
        yield f"<p>{escape(translate('no faults were found'))}</p>"
        return
    yield "<table>"
    for kind in sorted(found.lines, key=lambda kind: -len(found.lines[kind])):
        count = len(found.lines[kind])
        examples = "".join(f"<div>{fault.place}: {escape(fault.shown)}</div>" for fault in found.examples[kind])
        yield (
            f'<tr><td class="number">{count:,}</td><td class="number">{count / max(found.pairs, 1):.2%}</td>'
            f'<td>{escape(translate(kind))}<div class="shown">{examples}</div></td></tr>'
        )
    yield "</table>"


def escape(text: str) -> str:
    """As text of the page: no markup, and nothing that turns the order of what stands beside it."""
    return escape_markup(escaped(text))
