"""Attention as files: a page with every map, and one map as a picture or a table."""

import csv
import io
from collections.abc import Callable

from openwork.base.messages import msg
from openwork.base.phrases import Beside
from openwork.inference.attention_maps.asking import AttentionFindings
from openwork.inference.attention_maps.chosen import ChosenMap
from openwork.inference.attention_maps.maps import Kind
from openwork.inspection.attention_view import COLUMN_TITLE, ROW_TITLE, AttentionMap
from openwork.inspection.page import app_page

AXES: dict[Kind, tuple[str, str]] = {
    "encoder": (msg("source, what attends"), msg("source, what is attended to")),
    "decoder": (ROW_TITLE, msg("decoder's input")),
    "cross": (ROW_TITLE, COLUMN_TITLE),
}
FORMULAS = tuple("=+-@\t\r")


def page(found: AttentionFindings, languages: tuple[str, str], language: str) -> str:
    """One HTML file that opens without a network. `languages`: of source and target; empty where nobody knows."""
    title = Beside(found.sentence.source, found.sentence.translation)
    return app_page(title, {"attention": {**found.to_json(), "languages": languages}}, language)


def picture(chosen: ChosenMap, translate: Callable[[str], str]) -> str:
    """SVG."""
    named = (chosen.title(translate), chosen.weights, chosen.rows, chosen.columns)
    return f"{AttentionMap(*named, '', *AXES[chosen.kind]).drawn(translate)}\n"


def table(chosen: ChosenMap) -> str:
    """CSV. A name that a spreadsheet would take for a formula begins with an apostrophe."""

    def safe(name: str) -> str:
        return f"'{name}" if name.startswith(FORMULAS) else name

    written = io.StringIO()
    rows = zip(chosen.rows, chosen.weights.tolist(), strict=True)
    csv.writer(written).writerows(
        [["", *map(safe, chosen.columns)], *([safe(" → ".join(row)), *values] for row, values in rows)]
    )
    return written.getvalue()
