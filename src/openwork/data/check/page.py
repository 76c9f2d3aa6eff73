"""The report of `openwork data check` as one HTML page."""

from openwork.base.pages import render
from openwork.data.check.faults import FaultKind, Gathered
from openwork.data.check.report import Report, note_lines


def page_of(report: Report, language: str) -> str:
    """The whole page."""
    parts = {"title": "what is wrong with the corpus", "splits": report.splits, "notes": list(note_lines(report))}
    return render("data_check.html", language, kinds=_kinds, **parts)


def _kinds(found: Gathered) -> list[FaultKind]:
    """The kinds of faults, the most frequent first."""
    return sorted(found.lines, key=lambda kind: -len(found.lines[kind]))
