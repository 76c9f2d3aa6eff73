"""The paper's tables: what it states, as citations, beside what can be counted or run here."""

from dataclasses import asdict

from openwork.base.config import read_run_file
from openwork.base.phrases import AsIs
from openwork.cost.cost import Machine, cost_of
from openwork.cost.table3 import NEARER, VOCABULARY, CountedRow, count_table
from openwork.decoding.settings import DecodingSettings
from openwork.models.families import model_settings
from openwork.models.presets import PRESETS
from openwork.models.table3 import BASE, TRAININGS
from openwork.runs.file.recipes import recipes
from openwork.runs.file.resolve import resolve_run
from openwork.runs.plan import P100, Plan, capacity, make_plan
from openwork.study.paper.cited import (
    OTHERS,
    PARSER_MODEL,
    PARSER_SEARCH,
    PARSER_VOCABULARIES,
    PARSERS,
    TRANSFORMERS,
    System,
)
from openwork.study.paper.exhibit import Computed, Exhibit
from openwork.study.studies.layers import KINDS, TABLE_1, LayerData, measure
from openwork.study.studies.settings import LayerStudySettings
from openwork.study.studies.study import Figures, FiguresRow

LENGTHS = (16, 32, 64)  # at which layers are counted
PAPER_RECIPE = "paper-"  # how the names of its recipes begin


def _table_1() -> Computed:
    data = measure(LayerStudySettings(lengths=LENGTHS, repeats=1))
    rows = [FiguresRow(kind.words, _counts(data, kind.key)) for kind in KINDS]
    restricted = FiguresRow("self-attention to r neighbours", ("O(r n d)", "", "O(1)", "", "O(n/r)", ""))
    figures = Figures(
        f"what the paper states, and what layers of ours count at n = {', '.join(map(str, LENGTHS))}",
        ("layer", "operations", "counted for each stated", "serial steps", "counted", "path", "counted"),
        (*rows, restricted),
    )
    # the time is this machine's and this moment's, so it is left to the study
    counted = {
        kind.key: [
            {key: value for key, value in asdict(one).items() if key != "seconds"} for one in data.layers[kind.key]
        ]
        for kind in KINDS
    }
    return Computed(tables=(figures,), values={"width": data.width, "kernel": data.kernel, "layers": counted})


def _counts(data: LayerData, key: str) -> tuple[str, ...]:
    kind = next(kind for kind in KINDS if kind.key == key)
    paper, measured = TABLE_1[key], data.layers[key]
    ratios = dict.fromkeys(f"{ratio:g}" for ratio in data.ratios(kind))
    serial, path = (", ".join(str(getattr(one, field)) for one in measured) for field in ("serial", "path"))
    return (paper.complexity, ", ".join(ratios), paper.serial, serial, paper.path, path)


def paper_plans() -> dict[str, Plan]:
    """What each of the paper's recipes would take on its eight P100s, by name."""
    files = {path.stem: path for path in recipes() if path.stem.startswith(PAPER_RECIPE)}
    return {name: make_plan(resolve_run(read_run_file(path)), Machine(P100, devices=8)) for name, path in files.items()}


def _table_2() -> Computed:
    stated = {name: TRAININGS[name] for name in TRANSFORMERS}
    reported = [_system(one) for one in OTHERS]
    reported += [
        FiguresRow(one.name, (_score(one.german), _score(one.french), *[f"{stated[name].flops:.1e}"] * 2))
        for name, one in TRANSFORMERS.items()
    ]
    plans = paper_plans()
    runnable = [
        FiguresRow(name, (f"{plan.cost.weights:,}", f"{plan.settings.training.steps:,}", f"{plan.bill.flops:.1e}"))
        for name, plan in plans.items()
    ]
    arithmetic = [
        FiguresRow(
            name, (f"{one.hours:g}", f"{capacity(Machine(P100, one.devices), one.hours):.1e}", f"{one.flops:.1e}")
        )
        for name, one in stated.items()
    ]
    tables = (
        Figures(
            "cited: what the paper reports",
            ("system of table 2", "BLEU to German", "BLEU to French", "operations, German", "operations, French"),
            tuple(reported),
        ),
        Figures(
            "the recipes that stand for its two models, which this project has not run",
            ("recipe", "weights", "updates of the weights", "operations by our formulas"),
            tuple(runnable),
        ),
        Figures(
            f"the paper's own count: hours on 8 devices that sustain {P100:.1e} operations a second",
            ("model of the paper", "hours of training", "calculated", "stated"),
            tuple(arithmetic),
        ),
    )
    values = {
        "cited": [asdict(one) for one in (*OTHERS, *TRANSFORMERS.values())],
        "recipes": {name: {"weights": plan.cost.weights, "flops": plan.bill.flops} for name, plan in plans.items()},
    }
    return Computed(tables=tables, values=values)


def _system(system: System) -> FiguresRow:
    german, french = ("" if flops is None else f"{flops:.1e}" for flops in (system.german_flops, system.french_flops))
    return FiguresRow(system.name, (_score(system.german), _score(system.french), german, french))


def _score(bleu: float | None) -> str:
    return "" if bleu is None else str(bleu)


def _table_3() -> Computed:
    counted = count_table()
    table = Figures(
        f"weights counted at vocabularies of {VOCABULARY:,} and {NEARER:,}; cited from the paper: millions, PPL, BLEU",
        ("row", "preset", f"at {VOCABULARY:,}", f"at {NEARER:,}", "paper", "PPL", "BLEU", "what is changed"),
        tuple(_counted_row(one) for one in counted),
    )
    return Computed(tables=(table,), values={"vocabulary": VOCABULARY, "rows": [one.to_json() for one in counted]})


def _counted_row(one: CountedRow) -> FiguresRow:
    stated = "" if one.row.millions is None else f"{one.row.millions} M"
    scores = (f"{one.row.perplexity:.2f}", f"{one.row.bleu:.1f}")
    counts = (f"{one.weights:,}", f"{one.nearer:,}")
    return FiguresRow(AsIs(one.row.name), (AsIs(one.row.preset), *counts, stated, *scores, AsIs(one.note)))


def _table_4() -> Computed:
    cited = Figures(
        "cited: what the paper reports, F1 on section 23 of the Wall Street Journal",
        ("parser", "trained on", "F1"),
        tuple(FiguresRow(one.name, (one.training, f"{one.f1:.1f}")) for one in PARSERS),
    )
    settings = model_settings(PRESETS[BASE] | PARSER_MODEL)
    weights = {name: cost_of(settings, size).weights for name, size in PARSER_VOCABULARIES.items()}
    sizes = Figures(
        "the parser's model as ours would be: weights at the vocabulary of each training",
        ("trained on", "vocabulary of", "weights"),
        tuple(FiguresRow(name, (f"{PARSER_VOCABULARIES[name]:,}", f"{count:,}")) for name, count in weights.items()),
    )
    search = DecodingSettings.model_validate(PARSER_SEARCH)
    keys = [(f"model.{key}", value) for key, value in PARSER_MODEL.items()]
    keys += [(f"decoding.{key}", getattr(search, key)) for key in PARSER_SEARCH]
    lines = Figures(
        "the settings of it that a run file can already say",
        ("key", "set to"),
        tuple(FiguresRow(AsIs(key), (str(value),)) for key, value in keys),
    )
    return Computed(
        tables=(cited, sizes, lines), values={"cited": [asdict(one) for one in PARSERS], "weights": weights}
    )


EXHIBITS = (
    Exhibit(
        "table 1",
        "",
        (
            "What a layer costs on n positions of d numbers. Self-attention joins any two positions directly and "
            "computes all of them at once; a recurrent layer needs a step for each; a convolution of k positions needs "
            "many layers to join distant ones.",
            "Attention pays with n^2 d operations: it is the cheaper layer as long as n is smaller than d. The counts "
            "are of layers that run; `openwork study layer-costs` has more lengths, other sizes and the time.",
            "The row of attention to r neighbours is cited alone: there is no such layer here.",
        ),
        (measure,),
        (
            "tests/inspection/test_studies.py::test_the_claims_about_layers_hold",
            "tests/inspection/test_studies.py::test_layers_that_join_the_ends",
        ),
        _table_1,
    ),
    Exhibit(
        "table 2",
        "",
        (
            "BLEU on newstest2014 and what the training cost. All scores here are the paper's; this project has run "
            "neither of its two models on WMT14 and claims no score for them. Their recipes are read, costed and "
            "rehearsed in the tests: `openwork train recipes/paper-base-wmt14-en-de.toml --plan`.",
            "The paper counts operations as time times devices times what a device can sustain, as if all of it were "
            "used. Ours are those of the matrix products, so they are fewer.",
            "For the big model and French the table has 41.8, section 6.1 has 41.0.",
        ),
        (make_plan, capacity),
        (
            "tests/runs/test_plan.py::test_the_papers_recipes_say_what_the_paper_says",
            "tests/runs/test_plan.py::test_the_papers_arithmetic",
            "tests/runs/test_rehearsal.py::test_the_papers_recipes_rehearsed_for_100_updates",
        ),
        _table_2,
    ),
    Exhibit(
        "table 3",
        "",
        (
            "The base model with one thing changed at a time, and the big model: heads in A, their width in B, sizes "
            "in C, dropout and label smoothing in D, learned positions in E. Rows are named by their group and their "
            "place in it: `openwork paper table 3 --row C2` shows one.",
            "Perplexity and BLEU are the paper's, on newstest2013; where it leaves the millions blank they are the "
            "base's. Each row that changes the model is a preset and can be trained: --set model.preset=table3-c-n4.",
            "At the vocabulary of section 5.1 the counts of all but the big model lie below the column; at 41,000 "
            "nearly all round to it. The paper does not say which vocabulary it counted.",
        ),
        (count_table, cost_of),
        (
            "tests/cost/test_model_info.py::test_the_rows_are_counted_as_the_model_is_built",
            "tests/cost/test_model_info.py::test_at_41000_all_rows_but_big_meet_the_column",
            "tests/cost/test_cost.py::test_weights_are_those_of_the_model",
        ),
        _table_3,
    ),
    Exhibit(
        "table 4",
        "",
        (
            "The same model writes the parse of an English sentence as a sequence. Not built here: openwork reads no "
            "treebanks, does not turn trees into sequences and back, and does not score F1. The figures are cited.",
            "What section 6.3 says of the model and its search can be set already: 4 layers, d_model = 1024, a beam of "
            "21, alpha = 0.3, and up to 300 pieces more than the source has.",
        ),
        (cost_of,),
        ("tests/cost/test_cost.py::test_weights_are_those_of_the_model",),
        _table_4,
    ),
)
