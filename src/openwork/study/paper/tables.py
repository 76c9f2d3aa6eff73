"""The paper's tables, and rows of table 3 by themselves: what it states, cited, next to what is counted or run here."""

from openwork.base.config import read_run_file
from openwork.base.errors import UsageError
from openwork.base.messages import msg
from openwork.base.phrases import AsIs
from openwork.cost.cost import Machine, cost_of
from openwork.cost.table3 import NEARER, VOCABULARY, CountedRow, count_table
from openwork.decoding.settings import DecodingSettings
from openwork.models.families import model_settings
from openwork.models.presets import BASE, PRESETS, TRAININGS
from openwork.runs.file.recipes import recipes
from openwork.runs.file.resolve import resolve_run
from openwork.runs.plan import P100, capacity, make_plan
from openwork.study.paper.cited import OTHERS, PARSER_MODEL, PARSER_SEARCH, PARSER_VOCABULARIES, PARSERS, TRANSFORMERS
from openwork.study.paper.exhibit import Computed, Exhibit, exhibit
from openwork.study.studies.layers import KINDS, TABLE_1, measure
from openwork.study.studies.study import Figures, Variant, figures
from openwork.study.studies.table import LayerStudySettings

LENGTHS = (16, 32, 64)  # at which layers are counted


@exhibit(
    "table 1",
    (measure,),
    "tests/inspection/test_studies.py::test_the_claims_about_layers_hold",
    "tests/inspection/test_studies.py::test_layers_that_join_the_ends",
)
def _table_1() -> Computed:
    """What a layer costs on n positions of d numbers. Self-attention joins any two positions directly and computes all
    of them at once; a recurrent layer needs a step for each; a convolution of k positions needs many layers to join
    distant ones.

    Attention pays with n^2 d operations: it is the cheaper layer as long as n is smaller than d. The counts are of
    layers that run; `openwork study layer-costs` has more lengths, other sizes and the time.

    The row of attention to r neighbours is cited alone: there is no such layer here.
    """
    data = measure(LayerStudySettings(lengths=LENGTHS, repeats=1))
    rows = []
    for kind in KINDS:
        stated, measured = TABLE_1[kind.key], data.layers[kind.key]
        ratios = dict.fromkeys(f"{ratio:g}" for ratio in data.ratios(kind))
        serial, path = (", ".join(str(getattr(one, field)) for one in measured) for field in ("serial", "path"))
        rows.append((kind.words, stated.complexity, ", ".join(ratios), stated.serial, serial, stated.path, path))
    restricted = Variant("restricted", "self-attention to r neighbours")
    rows.append((restricted.words, "O(r n d)", "", "O(1)", "", "O(n/r)", ""))
    table = figures(
        f"what the paper states, and what layers of ours count at n = {', '.join(map(str, LENGTHS))}",
        ("layer", "operations", "counted for each stated", "serial steps", "counted", "path", "counted"),
        rows,
    )
    # the time is this machine's and this moment's, so it is left to the study
    fields = ("length", "operations", "serial", "path")
    counted = {
        key: [{field: getattr(one, field) for field in fields} for one in measured]
        for key, measured in data.layers.items()
    }
    return Computed(tables=(table,), values={"width": data.width, "kernel": data.kernel, "layers": counted})


@exhibit(
    "table 2",
    (make_plan, capacity),
    "tests/runs/test_plan.py::test_the_papers_recipes_say_what_the_paper_says",
    "tests/runs/test_plan.py::test_the_papers_arithmetic",
    "tests/runs/test_rehearsal.py::test_the_papers_recipes_rehearsed_for_100_updates",
)
def _table_2() -> Computed:
    """BLEU on newstest2014 and what the training cost. All scores here are the paper's; this project has run neither of
    its two models on WMT14 and claims no score for them. Their recipes are read, costed and rehearsed in the tests:
    `openwork train recipes/paper-base-wmt14-en-de.toml --plan`.

    The paper counts operations as time times devices times what a device can sustain, as if all of it were used. Ours
    are those of the matrix products, so they are fewer.

    For the big model and French the table has 41.8, section 6.1 has 41.0.
    """
    stated = {name: TRAININGS[name] for name in TRANSFORMERS}
    systems = dict.fromkeys(OTHERS, "")  # -> one figure for both languages
    systems |= {one: f"{stated[name].flops:.1e}" for name, one in TRANSFORMERS.items()}
    files = {path.stem: path for path in recipes() if path.stem.startswith("paper-")}
    machine = Machine(P100, devices=8)
    plans = {name: make_plan(resolve_run(read_run_file(path)), machine) for name, path in files.items()}
    tables = (
        figures(
            "cited: what the paper reports",
            ("system of table 2", "BLEU to German", "BLEU to French", "operations, German", "operations, French"),
            [
                (
                    one.name,
                    *("" if bleu is None else str(bleu) for bleu in (one.german, one.french)),
                    *(flops or ("" if own is None else f"{own:.1e}") for own in (one.german_flops, one.french_flops)),
                )
                for one, flops in systems.items()
            ],
        ),
        figures(
            "the recipes of its two models, which this project has not run",
            ("recipe", "weights", "updates of the weights", "operations by our formulas"),
            [
                (name, f"{plan.cost.weights:,}", f"{plan.settings.training.steps:,}", f"{plan.bill.flops:.1e}")
                for name, plan in plans.items()
            ],
        ),
        figures(
            f"the paper's own count: hours on 8 devices that sustain {P100:.1e} operations a second",
            ("model of the paper", "hours of training", "calculated", "stated"),
            [
                (name, f"{one.hours:g}", f"{capacity(Machine(P100, one.devices), one.hours):.1e}", f"{one.flops:.1e}")
                for name, one in stated.items()
            ],
        ),
    )
    values = {
        "cited": [one._asdict() for one in systems],
        "recipes": {name: {"weights": plan.cost.weights, "flops": plan.bill.flops} for name, plan in plans.items()},
    }
    return Computed(tables=tables, values=values)


@exhibit(
    "table 3",
    (count_table, cost_of),
    "tests/cost/test_model_info.py::test_the_rows_are_counted_as_the_model_is_built",
    "tests/cost/test_model_info.py::test_at_41000_all_rows_but_big_meet_the_column",
    "tests/cost/test_cost.py::test_weights_are_those_of_the_model",
)
def _table_3() -> Computed:
    """The base model with one thing changed at a time, and the big model: heads in A, their width in B, sizes in C,
    dropout and label smoothing in D, learned positions in E. Rows are named by their group and their place in it:
    `openwork paper table 3 --row C2` shows one.

    Perplexity and BLEU are the paper's, on newstest2013; where it leaves the millions blank they are the base's. Each
    row that changes the model is a preset and can be trained: --set model.preset=table3-c-n4.

    At the vocabulary of section 5.1 the counts of all but the big model lie below the column; at 41,000 nearly all
    round to it. The paper does not say which vocabulary it counted.
    """
    counted = count_table()
    table = figures(
        f"weights counted at vocabularies of {VOCABULARY:,} and {NEARER:,}; cited from the paper: millions, PPL, BLEU",
        ("row", "preset", f"at {VOCABULARY:,}", f"at {NEARER:,}", "paper", "PPL", "BLEU", "what is changed"),
        [
            (
                *(AsIs(one.row.name), AsIs(one.row.preset), f"{one.weights:,}", f"{one.nearer:,}"),
                "" if one.row.millions is None else f"{one.row.millions} M",
                *(f"{one.row.perplexity:.2f}", f"{one.row.bleu:.1f}", AsIs(one.note)),
            )
            for one in counted
        ],
    )
    return Computed(tables=(table,), values={"vocabulary": VOCABULARY, "rows": [one.to_json() for one in counted]})


@exhibit("table 4", (cost_of,), "tests/cost/test_cost.py::test_weights_are_those_of_the_model")
def _table_4() -> Computed:
    """The same model writes the parse of an English sentence as a sequence. Not built here: openwork reads no
    treebanks, does not turn trees into sequences and back, and does not score F1. The figures are cited.

    What section 6.3 says of the model and its search can be set already: 4 layers, d_model = 1024, a beam of 21, alpha
    = 0.3, and up to 300 pieces more than the source has.
    """
    settings = model_settings(PRESETS[BASE] | PARSER_MODEL)
    weights = {name: cost_of(settings, size).weights for name, size in PARSER_VOCABULARIES.items()}
    search = DecodingSettings.model_validate(PARSER_SEARCH)
    keys = {f"model.{key}": value for key, value in PARSER_MODEL.items()}
    keys |= {f"decoding.{key}": getattr(search, key) for key in PARSER_SEARCH}
    tables = (
        figures(
            "cited: what the paper reports, F1 on section 23 of the Wall Street Journal",
            ("parser", "trained on", "F1"),
            [(one.name, one.training, f"{one.f1:.1f}") for one in PARSERS],
        ),
        figures(
            "the parser's model as ours would be: weights at the vocabulary of each training",
            ("trained on", "vocabulary of", "weights"),
            [(name, f"{PARSER_VOCABULARIES[name]:,}", f"{count:,}") for name, count in weights.items()],
        ),
        figures(
            "its settings that a run file can already have",
            ("key", "set to"),
            [(AsIs(key), str(value)) for key, value in keys.items()],
        ),
    )
    return Computed(tables=tables, values={"cited": [one._asdict() for one in PARSERS], "weights": weights})


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
    row = counted.row
    return Exhibit(
        f"table 3 --row {row.name}",
        "",
        (
            msg(
                "One row of table 3 as our settings, with its weights counted by formula; the tests build its model "
                "and count them there. Where the paper leaves a cell blank, it has the base's value."
            ),
            msg(
                f"Perplexity and BLEU are the paper's. To train it: --set model.preset={row.preset} over the run file "
                "of the base model, and the settings of the training that it changes."
            ),
        ),
        (cost_of,),
        (
            "tests/cost/test_model_info.py::test_the_rows_are_counted_as_the_model_is_built",
            "tests/cost/test_model_info.py::test_at_41000_all_rows_but_big_meet_the_column",
        ),
        lambda: Computed(
            tables=_row_tables(counted),
            values=counted.to_json() | {"model": model_settings(PRESETS[row.preset]).model_dump(mode="json")},
        ),
    )


def _row_tables(counted: CountedRow) -> tuple[Figures, ...]:
    """The settings that have a value, with those of the training that the row changes; weights; scores; parts."""
    row = counted.row
    base, own = (model_settings(PRESETS[preset]).model_dump(exclude_none=True) for preset in (BASE, row.preset))
    settings = [
        (AsIs(f"model.{key}"), AsIs(value), "" if base.get(key) == value else AsIs(base.get(key, "")))
        for key, value in own.items()
    ]
    settings += [(AsIs(f"training.{key}"), AsIs(value), "") for key, value in row.training.items()]
    millions = "" if row.millions is None else f"{row.millions:,}"
    sizes = (VOCABULARY, counted.weights, counted.difference), (NEARER, counted.nearer, counted.nearer_difference)
    parts = [part for part in counted.cost.parts if part.weights]
    return (
        figures("settings, and the base's where the row has another", ("key", "row", "the base's"), settings),
        figures(
            "millions of weights",
            ("vocabulary of", "ours", "paper", "difference"),
            [
                (f"{size:,}", f"{weights / 1e6:.3f}", millions, "" if less is None else f"{less:+.3f}")
                for size, weights, less in sizes
            ],
        ),
        figures(
            "cited: on newstest2013, from English to German",
            ("row", "PPL", "BLEU"),
            [
                (AsIs(one.name), f"{one.perplexity:.2f}", f"{one.bleu:.1f}")
                for one in {one.name: one for one in (count_table()[0].row, row)}.values()
            ],
        ),
        figures(
            f"weights part by part at a vocabulary of {VOCABULARY:,}",
            ("part of the model", "how many", "each one", "together"),
            [
                *((one.name, f"{one.count}", f"{one.weights:,}", f"{one.count * one.weights:,}") for one in parts),
                ("the whole", "", "", f"{counted.weights:,}"),
            ],
        ),
    )
