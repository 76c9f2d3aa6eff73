"""One row of table 3: its model's settings beside the base's, and its weights, part by part, beside the paper's."""

from openwork.base.errors import UsageError
from openwork.base.phrases import AsIs
from openwork.cost.cost import cost_of
from openwork.cost.table3 import NEARER, VOCABULARY, CountedRow, count_table
from openwork.models.families import model_settings
from openwork.models.presets import PRESETS
from openwork.models.table3 import BASE
from openwork.study.paper.exhibit import Computed, Exhibit
from openwork.study.studies.study import Figures, FiguresRow


def find_row(name: str) -> CountedRow:
    """The row of that name (letters of either case), or of that preset. UsageError: there is none."""
    counted = count_table()
    wanted = name.lower()
    found = [one for one in counted if one.row.name.lower() == wanted]
    found = found or [one for one in counted if one.row.preset == wanted]
    if not found:
        raise UsageError(
            f"table 3 has no row {name}", hint=f"its rows are {', '.join(one.row.name for one in counted)}", code="U062"
        )
    return found[0]


def row_exhibit(counted: CountedRow) -> Exhibit:
    """The row as an object of its own."""
    return Exhibit(
        f"table 3 --row {counted.row.name}",
        "",
        (
            "One row of table 3 as our settings, with its weights counted by formula; the tests build its model and "
            "count them there. Where the paper leaves a cell blank, it has the base's value.",
            f"Perplexity and BLEU are the paper's. To train it: --set model.preset={counted.row.preset} over the run "
            "file of the base model, and the settings of the training that it changes.",
        ),
        (cost_of,),
        (
            "tests/cost/test_model_info.py::test_the_rows_are_counted_as_the_model_is_built",
            "tests/cost/test_model_info.py::test_at_41000_all_rows_but_big_meet_the_column",
        ),
        lambda: _compute(counted),
    )


def _compute(counted: CountedRow) -> Computed:
    return Computed(
        tables=(_settings(counted), _counts(counted), _scores(counted), _parts(counted)),
        values=counted.to_json() | {"model": model_settings(PRESETS[counted.row.preset]).model_dump(mode="json")},
    )


def _settings(counted: CountedRow) -> Figures:
    """Every setting of the model that has a value, and those of the training that the row changes."""
    base, own = (model_settings(PRESETS[preset]).model_dump(exclude_none=True) for preset in (BASE, counted.row.preset))
    rows = [
        FiguresRow(AsIs(f"model.{key}"), (_plain(value), "" if base.get(key) == value else _plain(base.get(key, ""))))
        for key, value in own.items()
    ]
    trained = [FiguresRow(AsIs(f"training.{key}"), (_plain(value), "")) for key, value in counted.row.training.items()]
    return Figures(
        "settings, and the base's where the row has another", ("key", "row", "the base's"), (*rows, *trained)
    )


def _plain(value: object) -> str:
    return AsIs(str(value))


def _counts(counted: CountedRow) -> Figures:
    row = counted.row
    stated = "" if row.millions is None else f"{row.millions:,}"
    shares = [
        FiguresRow(f"{size:,}", (f"{weights / 1e6:.3f}", stated, "" if less is None else f"{less:+.3f}"))
        for size, weights, less in (
            (VOCABULARY, counted.weights, counted.difference),
            (NEARER, counted.nearer, counted.nearer_difference),
        )
    ]
    return Figures("millions of weights", ("vocabulary of", "ours", "paper", "difference"), tuple(shares))


def _scores(counted: CountedRow) -> Figures:
    base = count_table()[0].row
    shown = {one.name: one for one in (base, counted.row)}
    rows = [FiguresRow(AsIs(name), (f"{one.perplexity:.2f}", f"{one.bleu:.1f}")) for name, one in shown.items()]
    return Figures("cited: on newstest2013, from English to German", ("row", "PPL", "BLEU"), tuple(rows))


def _parts(counted: CountedRow) -> Figures:
    """The parts of the sum; the last row is the whole."""
    parts = [
        FiguresRow(part.name, (f"{part.count}", f"{part.weights:,}", f"{part.count * part.weights:,}"))
        for part in counted.cost.parts
        if part.weights
    ]
    whole = FiguresRow("the whole", ("", "", f"{counted.weights:,}"))
    return Figures(
        f"weights part by part at a vocabulary of {VOCABULARY:,}",
        ("part of the model", "how many", "each one", "together"),
        (*parts, whole),
    )
