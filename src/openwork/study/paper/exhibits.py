"""Every object of the paper in one table, and the page of one."""

from dataclasses import dataclass
from typing import Any

from openwork.base.phrases import AsIs, Joined
from openwork.inspection.trace import Trace
from openwork.study.paper import equations, figures, formulas, methods, tables, training
from openwork.study.paper.code_lines import CodeLines, code_lines
from openwork.study.paper.contents import CONTENTS
from openwork.study.paper.exhibit import Computed, Exhibit
from openwork.study.paper.rows import find_row, row_exhibit
from openwork.study.studies.study import Figures

SCHEMA = 1  # of `to_json`; a change that readers must know of raises it

EXHIBITS: dict[str, Exhibit] = {
    exhibit.name: exhibit
    for module in (equations, formulas, methods, figures, tables, training)
    for exhibit in module.EXHIBITS
}


@dataclass(frozen=True)
class Page:
    """All that is shown of one object, its numbers and lines of code made just now."""

    name: str
    title: str
    section: str
    formula: str
    text: tuple[str, ...]
    code: tuple[CodeLines, ...]
    tests: tuple[str, ...]
    trace: Trace | None
    tables: tuple[Figures, ...]
    values: dict[str, Any]
    drawing: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "title": self.title,
            "section": self.section,
            "formula": self.formula,
            "text": list(self.text),
            "code": [one.to_json() for one in self.code],
            "tests": list(self.tests),
            "trace": None if self.trace is None else self.trace.to_json(),
            "tables": [_table_values(table) for table in self.tables],
            "values": self.values,
            "drawing": list(self.drawing),
        }


def page_of(name: str) -> Page:
    """The page of an object of the list of contents."""
    listed = next(one for one in CONTENTS if one.name == name)
    exhibit = EXHIBITS[name]
    return _page(exhibit, name, listed.title, listed.section, exhibit.compute())


def row_page(row: str) -> Page:
    """The page of one row of table 3. UsageError: there is no such row."""
    counted = find_row(row)
    listed = next(one for one in CONTENTS if one.name == "table 3")
    title = Joined(listed.title, *([": ", AsIs(counted.note)] if counted.note else []))
    exhibit = row_exhibit(counted)
    return _page(exhibit, exhibit.name, title, listed.section, exhibit.compute())


def _page(exhibit: Exhibit, name: str, title: str, section: str, computed: Computed) -> Page:
    return Page(
        name,
        title,
        section,
        exhibit.formula,
        exhibit.text,
        tuple(map(code_lines, exhibit.code)),
        exhibit.tests,
        computed.trace,
        computed.tables,
        computed.values,
        computed.drawing,
    )


def _table_values(table: Figures) -> dict[str, Any]:
    rows = [[row.name, *row.cells] for row in table.rows]
    return {"title": table.title, "columns": list(table.columns), "rows": rows}
