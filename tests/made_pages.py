"""A page of each kind that openwork writes, with numbers made up and texts in several scripts."""

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from openwork.base.config import read_run_file
from openwork.base.phrases import AsIs, Beside
from openwork.data.check.faults import named_pairs
from openwork.data.check.report import check, page_of
from openwork.data.corpora import dates
from openwork.data.records import Pair
from openwork.demo.demo import RUN_FILE
from openwork.demo.report import DemoResult, demo_page
from openwork.experiments.report.document import (
    PAGE,
    ReportDocument,
    ReportFigure,
    ReportSection,
    ReportTable,
    write_document,
)
from openwork.inspection.attention_view import AttentionMap
from openwork.inspection.intervals import IntervalChart, IntervalRow
from openwork.inspection.plots import Chart, Series
from openwork.inspection.trace import Step, Trace
from openwork.inspection.trace_page import trace_page
from openwork.metrics.ratio import Ratio
from openwork.runs.file.resolve import resolve_run
from openwork.study.documents import find_example
from openwork.study.page import step_page
from openwork.study.studies import layers
from openwork.study.studies.showing import page as study_page
from openwork.study.studies.table import LayerStudySettings, find_study

HEBREW = "יום ראשון, 21 אוגוסט 2016"
ARABIC = "الأحد، 21 أغسطس 2016"
ISO = "2016-08-21"
HOSTILE = "<img src=x onerror=alert(1)>"


def attention_of(source: str, output: str) -> AttentionMap:
    """A map in which each character of the output looks at one place of the source."""
    rows, columns = len(output) + 1, len(source) + 1
    places = np.arange(columns)
    looked_at = [(7 * row + 3) % columns for row in range(rows)]
    weights = np.exp([-np.abs(places - place) / 1.2 for place in looked_at])
    pieces = ["<s>", *output, "</s>"]
    pairs = list(pairwise(pieces))
    return AttentionMap(
        Beside(source, output),
        weights / weights.sum(-1, keepdims=True),
        pairs,
        [*source, "</s>"],
        "Each row sums to 1.",
    )


def demo_report(language: str, faults: int = 40) -> str:
    """The demo's report on 10 rounds of its locales, of which every 12th date is wrong, `faults` in all."""
    examples = list(dates.generate("test", len(dates.LOCALES) * 10))
    wrong = range(0, len(examples), 12)[:faults]
    outputs = [one.iso[::-1] if place in wrong else one.iso for place, one in enumerate(examples)]
    by_locale: dict[str, Ratio] = {}
    for example, output in zip(examples, outputs, strict=True):
        by_locale[example.locale] = by_locale.get(example.locale, Ratio()) + Ratio(float(example.iso == output), 1)
    records: list[dict[str, Any]] = [{"kind": "finished", "seconds": 301.0}]
    for step in range(1, 2000, 10):
        rate = 5e-6 * min(step, 400**1.5 / step**0.5)
        records.append({"kind": "step", "step": step, "likelihood": 3 * math.exp(-step / 300), "learning_rate": rate})
    for step in range(100, 2001, 100):
        unlearnt = math.exp(-step / 250)
        records.append({"kind": "validation", "step": step, "loss": 2.6 * unlearnt + 0.02, "exact": 1 - unlearnt})
    shown = {one.locale: one for one in reversed(examples)}
    maps = [attention_of(one.expression, one.iso) for one in (shown["de_DE"], shown["ja_JP"], shown["ar_EG"])]
    result = DemoResult(examples, outputs, by_locale, 1.9)
    settings = resolve_run(read_run_file(RUN_FILE))
    return demo_page(
        result,
        settings,
        records,
        [*maps, attention_of(HEBREW, ISO), attention_of(ARABIC, ISO)],
        [(HEBREW, ISO), (ARABIC, ISO)],
        language,
    )


def data_check(language: str) -> str:
    """Of pairs with faults, in two directions of writing."""
    pairs = [Pair("a dog", "ein hund"), Pair(f"{HEBREW} \ufffd", f"{ISO} {HOSTILE} " + "wort " * 30)] * 3
    return page_of(
        check({"train": named_pairs(lambda: pairs), "valid": named_pairs(lambda: pairs[:2])}, None, print), language
    )


def experiment(language: str) -> str:
    """A report with tables wider than a phone and both kinds of picture, of variants with long names."""
    names = ["the whole model", "without the residual connections around both sublayers", HEBREW, HOSTILE]
    rows = [IntervalRow(name, [25.0 + i, 26.5 + i], 25.7 + i, (24.9 + i, 26.6 + i)) for i, name in enumerate(names)]
    series = tuple(
        Series(name, [(n, 20 + i + math.log(n)) for n in (1, 10, 100, 1000)]) for i, name in enumerate(names)
    )
    columns = ["variant", *(f"figure {number}" for number in range(12))]
    cells = [[AsIs(name), *(AsIs(f"{number}.25") for number in range(12))] for name in names]
    intervals = ReportFigure(
        "means", IntervalChart("BLEU on the test set, by variant", "BLEU", tuple(rows)), ["x"], [[1]]
    )
    curve = Chart(AsIs("training.learning_rate"), AsIs("training.learning_rate"), "BLEU", series, log_x=True)
    parts = [ReportTable("Means over seeds", columns, cells), intervals, ReportFigure("curve", curve, ["x"], [[1]])]
    facts = [("trials", AsIs("12")), ("metric", AsIs("BLEU"))]
    sections = [ReportSection("Variants", [f"No difference was shown between {HEBREW} and {HOSTILE}."], parts)]
    with TemporaryDirectory() as folder:
        write_document(Path(folder), ReportDocument(AsIs(HEBREW), "An ablation.", facts, sections), language)
        return (Path(folder) / PAGE).read_text("utf-8")


def study(language: str) -> str:
    """The study of the order of positions."""
    name = "layer-costs"
    return study_page(
        find_study(name), layers.run(LayerStudySettings(lengths=(5, 9, 17), width=8, repeats=1)), language
    )


def explanation(language: str) -> str:
    """The steps of a made-up translation, one of them too wide for a phone."""
    labels = {"query": (*HEBREW.split(), "</s>"), "key": (*HEBREW.split(), "</s>")}
    size = len(labels["query"])
    weights = np.full((2, size, size), 1 / size)
    about = "Attention weights: how much each query takes from each key; a row adds up to 1"
    steps = (
        Step("encoder.layers.0.weights", about, "softmax(scores)", weights, ("head", "query", "key"), labels=labels),
        Step("wide", "Each position's vector", "x W", np.arange(1500.0).reshape(5, 300), ("query", "inner"),
             inputs=("encoder.layers.0.weights",), parameters=("encoder.layers.0.self_attention.output.weight",),
             code="openwork.nn.attention.MultiHeadAttention.forward", labels=labels),
    )  # fmt: skip
    return trace_page(Trace("translation", Beside(HEBREW, ISO), steps, ("No dropout.",)), language)


def worked_example(language: str) -> str:
    """The page with a script."""
    return step_page(find_example("002-8")(), language)


PAGES: dict[str, Callable[[str], str]] = {
    "demo": demo_report,
    "data check": data_check,
    "experiment": experiment,
    "study": study,
    "explain": explanation,
    "app": worked_example,
}
