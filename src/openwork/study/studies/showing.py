"""A study's result for a person: lines for a terminal, or one offline HTML page."""

from collections.abc import Iterable, Iterator

from openwork.base.messages import msg
from openwork.base.pages import render
from openwork.base.phrases import AsIs, Joined, Padded, shown_width
from openwork.inspection.plots import Figures
from openwork.study.studies.study import Result
from openwork.study.studies.table import Study

_NUMBER = "+-0123456789"  # how a number begins


def list_lines(studies: Iterable[Study]) -> Iterator[str]:
    """Each study's name and title, and the sizes that can be set."""
    for study in studies:
        yield AsIs(study.name)
        yield Joined("  ", study.title)
        sizes = study.settings().model_dump(mode="json")
        yield AsIs("  " + "  ".join(f"{key}={value}" for key, value in sizes.items()))
        yield ""
    yield msg("openwork study NAME runs one; --set KEY=VALUE changes a size.")


def result_lines(study: Study, result: Result) -> Iterator[str]:
    """What to see, whether it is there, and the tables."""
    yield study.title
    yield study.see
    yield Joined("after: ", AsIs(study.source))
    yield ""
    for claim in result.claims:
        yield Joined("holds: " if claim.holds else "does not hold: ", claim.sentence)
    for table in result.tables:
        yield ""
        yield from table_lines(table)


def table_lines(table: Figures) -> Iterator[str]:
    """Its title, and its rows in columns: numbers to the right, words to the left."""
    rows = [table.columns, *table.rows]
    columns = list(zip(*rows, strict=True))
    widths = [max(map(shown_width, column)) for column in columns]
    numbers = [all(not cell or cell[0] in _NUMBER for cell in column[1:]) for column in columns]
    yield table.title
    for row in rows:
        cells = [Padded(cell, width, right=right) for cell, width, right in zip(row, widths, numbers, strict=True)]
        yield Joined(*[part for cell in cells for part in ("  ", cell)])


def page(study: Study, result: Result, language: str) -> str:
    """One HTML file that loads nothing: what to see, the claims, the charts, the tables."""
    return render("study.html", language, title=study.title, study=study, result=result)
