"""The paper's tables: what it states, cited, next to what is counted or run here."""

from typing import NamedTuple

from openwork.base.config import read_run_file
from openwork.base.phrases import AsIs
from openwork.cost.cost import Machine, cost_of, weights_of
from openwork.decoding.settings import DecodingSettings
from openwork.inspection.plots import Figures
from openwork.models.families import model_settings
from openwork.models.presets import BASE, PRESETS, ROWS, TRAININGS, VOCABULARY, Row
from openwork.runs.file.recipes import recipes
from openwork.runs.file.resolve import resolve_run
from openwork.runs.plan import P100, capacity, make_plan
from openwork.study.paper.cited import OTHERS, PARSER_MODEL, PARSER_SEARCH, PARSER_VOCABULARIES, PARSERS, TRANSFORMERS
from openwork.study.paper.exhibit import Computed, exhibit
from openwork.study.studies.layers import KINDS, TABLE_1, measure
from openwork.study.studies.study import Variant
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
    table = Figures(
        f"what the paper states, and what layers of ours count at n = {', '.join(map(str, LENGTHS))}",
        ("layer", "operations", "counted for each stated", "serial steps", "counted", "path", "counted"),
        rows,
    )
    return Computed(tables=(table,))


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
        Figures(
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
        Figures(
            "the recipes of its two models, which this project has not run",
            ("recipe", "weights", "updates of the weights", "operations by our formulas"),
            [
                (name, f"{plan.cost.weights:,}", f"{plan.settings.training.steps:,}", f"{plan.bill.flops:.1e}")
                for name, plan in plans.items()
            ],
        ),
        Figures(
            f"the paper's own count: hours on 8 devices that sustain {P100:.1e} operations a second",
            ("model of the paper", "hours of training", "calculated", "stated"),
            [
                (name, f"{one.hours:g}", f"{capacity(Machine(P100, one.devices), one.hours):.1e}", f"{one.flops:.1e}")
                for name, one in stated.items()
            ],
        ),
    )
    return Computed(tables=tables)


NEARER = 41_000  # the vocabulary with which the counts agree with the paper's column


class CountedRow(NamedTuple):
    """A row of table 3, and its weights at both vocabularies."""

    row: Row
    weights: int
    nearer: int

    @property
    def note(self) -> str:
        """The settings that the row changes."""
        changes = {f"model.{key}": value for key, value in self.row.changes.items()}
        changes |= {f"training.{key}": value for key, value in self.row.training.items()}
        return ", ".join(f"{key} = {value}" for key, value in changes.items())


def count_table() -> list[CountedRow]:
    sizes = (VOCABULARY, NEARER)
    return [CountedRow(row, *(weights_of(model_settings(PRESETS[row.preset]), size) for size in sizes)) for row in ROWS]


@exhibit(
    "table 3",
    (count_table, cost_of),
    "tests/cost/test_model_info.py::test_the_rows_are_counted_as_the_model_is_built",
    "tests/study/paper/test_paper.py::test_at_41000_all_rows_but_big_meet_the_column",
    "tests/cost/test_cost.py::test_weights_are_those_of_the_model",
)
def _table_3() -> Computed:
    """The base model with one thing changed at a time, and the big model: heads in A, their width in B, sizes in C,
    dropout and label smoothing in D, learned positions in E. Rows are named by their group and their place in it.

    Perplexity and BLEU are the paper's, on newstest2013; where it leaves the millions blank they are the base's. Each
    row that changes the model is a preset: `openwork info table3-c-n4` shows it, --set model.preset=table3-c-n4 trains
    it.

    At the vocabulary of section 5.1 the counts of all but the big model lie below the column; at 41,000 nearly all
    round to it. The paper does not say which vocabulary it counted.
    """
    counted = count_table()
    table = Figures(
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
    return Computed(tables=(table,))


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
        Figures(
            "cited: what the paper reports, F1 on section 23 of the Wall Street Journal",
            ("parser", "trained on", "F1"),
            [(one.name, one.training, f"{one.f1:.1f}") for one in PARSERS],
        ),
        Figures(
            "the parser's model as ours would be: weights at the vocabulary of each training",
            ("trained on", "vocabulary of", "weights"),
            [(name, f"{PARSER_VOCABULARIES[name]:,}", f"{count:,}") for name, count in weights.items()],
        ),
        Figures(
            "its settings that a run file can already have",
            ("key", "set to"),
            [(AsIs(key), str(value)) for key, value in keys.items()],
        ),
    )
    return Computed(tables=tables)
