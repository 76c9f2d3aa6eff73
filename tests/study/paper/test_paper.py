"""The paper by name: every object has its code, its tests and its numbers, and these are the production code's."""

import ast
import inspect
import json
import math
import pydoc
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openwork.cost.cost import cost_of
from openwork.decoding import scoring
from openwork.inspection.code_lines import code_lines
from openwork.models.families import model_settings
from openwork.models.interfaces import count_weights
from openwork.models.presets import BASE, BIG, PRESETS, ROWS, TRAININGS
from openwork.nn import attention, feedforward, positions, residual
from openwork.nn.kernels import reference
from openwork.study.paper import formulas, methods, tables
from openwork.study.paper.cited import OTHERS, PARSERS, TRANSFORMERS
from openwork.study.paper.contents import CONTENTS, GROUPS, find_listed
from openwork.study.paper.exhibit import EXHIBITS, forward_trace
from openwork.study.paper.figures import MODEL, base_model, counted_boxes
from openwork.study.paper.pages import Page, document, page_of
from openwork.study.paper.tables import count_table
from openwork.study.paper.training import RECIPES, STATED, recipe_values
from openwork.training import loss, schedules

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[3]


def values_of(page: Page) -> Any:
    """All that a page shows of numbers."""
    shown = page.to_json()
    return shown["trace"], shown["tables"]


@cache
def page(name: str) -> Page:
    """The page of the code as it is, made once for all tests."""
    return page_of(name)


def step(name: str, of: str) -> np.ndarray:
    trace = page(of).trace
    assert trace is not None
    return trace.step(name).value


def test_what_is_listed_is_what_there_is() -> None:
    assert [one.name for one in CONTENTS] == list(dict.fromkeys(one.name for one in CONTENTS))
    assert {one.name for one in CONTENTS} == set(EXHIBITS)
    assert {one.kind for one in CONTENTS} == set(GROUPS)
    asked = {"eq": "123", "figure": "12", "table": "1234"}  # what the paper numbers
    for kind, numbers in asked.items():
        assert [one.number for one in find_listed(kind, None)] == list(numbers)


@pytest.mark.parametrize("name", EXHIBITS)
def test_the_tests_that_are_named_exist(name: str) -> None:
    assert page(name).tests
    for place in page(name).tests:
        path, _, function = place.partition("::")
        tree = ast.parse((REPOSITORY / path).read_text("utf-8"))
        found = [one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]
        assert function in found and function.startswith("test_"), place


@pytest.mark.parametrize("name", EXHIBITS)
def test_the_lines_of_code_are_those_of_the_object(name: str) -> None:
    """Read by another way: the syntax tree of the file says where a definition begins and ends."""
    for shown in page(name).code:
        located = pydoc.locate(f"{shown.module}.{shown.name}")
        assert callable(located) and code_lines(located) == shown
        text = (REPOSITORY / "src" / shown.file).read_text("utf-8")
        last = shown.name.rpartition(".")[2]
        found = [
            (min([one.lineno, *(decorator.lineno for decorator in one.decorator_list)]), one.end_lineno)
            for one in ast.walk(ast.parse(text))
            if isinstance(one, ast.FunctionDef | ast.ClassDef) and one.name == last
        ]
        assert (shown.first, shown.last) in found
        lines = text.splitlines()[shown.first - 1 : shown.last]
        assert [line.strip() for line in shown.lines] == [line.strip() for line in lines]


@pytest.mark.parametrize("number", ["1", "2", "3"])
def test_the_code_of_an_equation_says_that_it_is_it(number: str) -> None:
    first = page(f"eq {number}").code[0]
    assert f"equation {number}" in str(inspect.getdoc(pydoc.locate(f"{first.module}.{first.name}"))).lower()


@pytest.mark.parametrize(("language", "name"), [("en", "paper.md"), ("zh", "paper.zh-CN.md")])
def test_the_document_is_what_is_generated(language: str, name: str) -> None:
    """After a change: openwork paper --markdown > docs/paper.md, and with --lang zh > docs/paper.zh-CN.md"""
    pages = [page(one.name) for one in CONTENTS]
    written = document(pages, language)
    assert written == (REPOSITORY / "docs" / name).read_text("utf-8")


@pytest.mark.parametrize("name", ["paper.md", "paper.zh-CN.md"])
def test_the_links_of_the_document_lead_somewhere(name: str) -> None:
    folder = REPOSITORY / "docs"
    links = set(re.findall(r"\]\(([^)]+)\)", (folder / name).read_text("utf-8")))
    assert {link for link in links if not link.startswith("#") and not (folder / link).is_file()} == set()
    assert {link[1:] for link in links if link.startswith("#")} == {one.name.replace(" ", "-") for one in CONTENTS}


@pytest.mark.parametrize("name", EXHIBITS)
def test_a_page_is_plain_values(name: str) -> None:
    shown = json.loads(json.dumps(page(name).to_json(), allow_nan=False))
    assert shown["name"] == name and shown["code"] and (shown["trace"] or shown["tables"])


def test_equation_1_by_other_means() -> None:
    of = "encoder.layers.0.self_attention."
    query, key, value, weights, heads = (
        step(of + part, "eq 1") for part in ("query", "key", "value", "weights", "heads")
    )
    assert query.shape == key.shape == value.shape == heads.shape == (8, 4, 64)  # h, positions, d_k: the base model's
    exponentials = np.exp(query @ key.transpose(0, 2, 1) / math.sqrt(64))
    np.testing.assert_allclose(weights, exponentials / exponentials.sum(-1, keepdims=True), rtol=0, atol=1e-12)
    np.testing.assert_allclose(heads, weights @ value, rtol=0, atol=1e-12)


def test_equation_2_by_other_means() -> None:
    of = "encoder.layers.0.feedforward."
    expanded, activated = step(of + "expand", "eq 2"), step(of + "activation", "eq 2")
    assert expanded.shape == (4, 2048) and step(of + "contract", "eq 2").shape == (4, 512)
    np.testing.assert_array_equal(activated, np.maximum(0, expanded))


def test_equation_3_by_hand() -> None:
    """At update 4,000 both terms are 4000^-0.5: 1 / sqrt(512 x 4000) = 0.000699; at 100,000 it is a fifth of that."""
    rates = step("learning_rate", "eq 3")
    assert rates.shape == (2, 5)
    assert rates[0, 2] == pytest.approx((512 * 4000) ** -0.5) and rates[1, 2] == pytest.approx((1024 * 4000) ** -0.5)
    np.testing.assert_allclose(rates[:, 4], rates[:, 2] / 5)
    np.testing.assert_allclose(rates[:, 1], rates[:, 2] / 10)


def test_the_mask_hides_what_is_later() -> None:
    hidden = np.triu(np.ones((4, 4), dtype=bool), 1)
    masked, weights = (
        step(f"decoder.layers.0.self_attention.{part}", "formula mask") for part in ("masked", "weights")
    )
    assert np.isneginf(masked[:, hidden]).all() and np.isfinite(masked[:, ~hidden]).all()
    assert (weights[:, hidden] == 0).all() and (weights[:, ~hidden] > 0).all()


def test_label_smoothing_by_hand() -> None:
    """V = 10 and epsilon = 0.1: the right piece is to have 0.9 + 0.01, every other one 0.01."""
    wanted, logits = step("wanted", "formula label-smoothing"), step("logits", "formula label-smoothing")
    expected = np.full((4, 10), 0.01)
    expected[range(4), (7, 8, 9, 3)] = 0.91
    np.testing.assert_allclose(wanted, expected, rtol=0, atol=1e-12)
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    assert step("smoothed", "formula label-smoothing") == pytest.approx(-(expected * logs).sum(), rel=1e-5)
    assert step("likelihood", "formula label-smoothing") == pytest.approx(-logs[range(4), (7, 8, 9, 3)].sum(), rel=1e-5)


def test_the_other_formulas_by_hand() -> None:
    np.testing.assert_allclose(step("mean", "formula averaging"), [1.0, 0.0], atol=1e-7)
    assert step("penalty", "formula length-penalty")[[0, 3]] == pytest.approx([1.0, 5**0.6])  # (5 + 25) / 6 = 5
    # of "the dog sat on a mat ." are right: 6 of 7 words, 4 of 6 pairs, 2 of 5 threes, 1 of 4 fours; it is as long
    assert step("bleu", "formula bleu") == pytest.approx(100 * (6 / 7 * 4 / 6 * 2 / 5 * 1 / 4) ** 0.25)
    table = step("sinusoids", "formula positions")
    np.testing.assert_allclose(table[1], np.ravel([(math.sin(10**-i), math.cos(10**-i)) for i in range(4)]))
    lookup, scaled = step("source.lookup", "formula embedding"), step("source.embedding", "formula embedding")
    np.testing.assert_allclose(scaled, lookup * math.sqrt(512), rtol=1e-12)


@pytest.mark.parametrize("name", EXHIBITS)
def test_no_step_is_made_of_what_is_not_shown(name: str) -> None:
    trace = page(name).trace
    for one in trace.steps if trace is not None else ():
        assert set(one.inputs) <= {other.name for other in trace.steps}  # type: ignore[union-attr]


def test_a_step_that_there_is_not_is_an_error() -> None:
    with pytest.raises(KeyError, match="nonsense"):
        forward_trace("source.ids", "nonsense")


def test_the_boxes_of_figure_1_are_the_whole_model() -> None:
    model = base_model()
    counted = counted_boxes(model)
    assert sum(weights for _, _, weights in counted) == count_weights(model) == 63_045_632
    assert [copies for box, copies, _ in counted if ".layers." in box.part] == [6] * 10
    modules = {name for name, _ in model.named_modules(remove_duplicate=False)}
    assert {box.part for box in MODEL if box.part} <= modules


def test_the_boxes_of_figure_1_are_in_its_order() -> None:
    rows = page("figure 1").to_json()["tables"][0]["rows"]
    assert [row[1] for row in rows[8:]] == [
        "MultiHeadAttention", "PostNorm", "MultiHeadAttention", "PostNorm", "FeedForward", "PostNorm",
        "Transformer.project",
    ]  # fmt: skip


CHANGES: dict[str, tuple[Any, str, Any, str]] = {
    "scale": (attention, "scale_of", lambda width: 1.0, "eq 1"),
    "softmax": (reference, "softmax_over", lambda scores, allowed, fill=0.0: scores.softmax(-2), "eq 1"),
    "sum of values": (reference, "weighted_sum", lambda weights, value: weights @ value * 2, "figure 2"),
    "mask": (reference, "masked_scores", lambda scores, allowed, fill=0.0: scores, "formula mask"),
    "network": (feedforward.FeedForward, "forward", lambda self, x: self.contract(self.expand(x)), "figure 1"),
    "rate": (schedules, "paper_rate", lambda step, width, warmup, scale=1.0: 1e-3, "eq 3"),
    "residual": (residual.ResidualSum, "forward", lambda self, x, inside: inside, "formula residual"),
    "sinusoids": (formulas, "exact_sinusoids", lambda size, width: positions.exact_sinusoids(size, width, 100.0),
                  "formula positions"),
    "share": (loss, "even_share", lambda smoothing, form, size: 0.2, "formula label-smoothing"),
    "penalty": (methods, "length_penalty", lambda length, alpha: scoring.length_penalty(length, 1.0),
                "formula length-penalty"),
    "mean": (methods, "average", lambda weights: weights[0], "formula averaging"),
    "stated": (tables, "TABLE_1", {**tables.TABLE_1, "recurrent": tables.TABLE_1["dilated"]}, "table 1"),
    "weights": (tables, "VOCABULARY", 30_000, "table 3"),
    "training": (tables, "P100", 1e12, "table 2"),
}  # fmt: skip


@pytest.mark.parametrize("changed", CHANGES)
def test_the_numbers_are_those_of_the_code(changed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changed code gives another page, for nothing is calculated by other code."""
    place, name, other, shown = CHANGES[changed]
    before = values_of(page(shown))
    monkeypatch.setattr(place, name, other)
    assert values_of(page_of(shown)) != before


def test_the_recipes_hold_what_the_paper_states() -> None:
    for preset, stated in ((BASE, "base"), (BIG, "big")):
        ours = recipe_values(RECIPES[preset])
        for one in STATED:
            assert not one.key or ours[one.key] == getattr(one, stated), one.words
    rows = {row[4]: row for row in page("training").to_json()["tables"][0]["rows"]}
    assert rows["model.dropout"][2:4] == rows["model.dropout"][5:7] == ["0.1", "0.3"]
    # of keys that recurrent models have too, with another default
    defaults = [rows[key][-1] for key in ("model.dropout", "training.epsilon", "text.vocabulary_size")]
    assert defaults == ["0.1", "1e-09", "8000"]


def test_table_1_counts_what_the_paper_states() -> None:
    rows = {row[0]: row[1:] for row in page("table 1").to_json()["tables"][0]["rows"]}
    assert rows["self-attention"] == ["O(n^2 d)", "4", "O(1)", "4, 4, 4", "O(1)", "3, 3, 3"]
    assert rows["recurrent"] == ["O(n d^2)", "4", "O(n)", "16, 32, 64", "O(n)", "16, 32, 64"]
    assert rows["self-attention to r neighbours"][1::2] == ["", "", ""]
    assert len(rows) == 5


def test_table_2_by_the_papers_arithmetic() -> None:
    _, recipes, arithmetic = page("table 2").to_json()["tables"]
    assert all(calculated == stated for _, _, calculated, stated in arithmetic["rows"]) and len(arithmetic["rows"]) == 2
    weights = {row[0]: row[1] for row in recipes["rows"]}
    assert weights["paper-base-wmt14-en-de"] == "63,045,632" and len(weights) == 4


def test_at_41000_all_rows_but_big_meet_the_column() -> None:
    """Within half a million and 2,000 weights: one row, d_ff = 1024, misses the rounding by 1,568 weights."""
    counted = {row.row.preset: row for row in count_table() if row.row.millions is not None}
    assert len(counted) == 11
    stated = {name: (row.row.millions or 0) * 1e6 for name, row in counted.items()}
    assert {name for name, row in counted.items() if abs(row.nearer - stated[name]) > 503_000} == {"paper-big"}
    missed = {name for name, row in counted.items() if round(row.nearer / 1e6) != row.row.millions}
    assert missed == {"paper-big", "table3-c-ff1024"}
    assert counted["table3-c-ff1024"].nearer == 52_500_000 - 1_568
    by_the_paper = {name: round((row.weights - stated[name]) / 1e6, 3) for name, row in counted.items()}
    assert by_the_paper["paper-big"] == 1.172 and by_the_paper["paper-base"] == -1.954
    # at 41,004 that row rounds to the column as well, and so do the others
    for name, row in counted.items():
        weights = cost_of(model_settings(PRESETS[name]), 41_004).weights
        assert (round(weights / 1e6) == row.row.millions) is (name != "paper-big"), name


def test_only_the_rows_that_state_a_size_are_compared() -> None:
    by_group = {group: [row for row in count_table() if row.row.name[0] == group] for group in "ABCDE"}
    assert [len(rows) for rows in by_group.values()] == [4, 2, 7, 4, 1]
    assert all(row.row.millions is None for group in "ADE" for row in by_group[group])
    assert {row.weights for group in "AD" for row in by_group[group]} == {63_045_632}  # heads cost nothing
    assert by_group["D"][-1].note == "training.label_smoothing = 0.2"


def test_the_rows_of_table_3() -> None:
    rows = page("table 3").to_json()["tables"][0]["rows"]
    assert len(rows) == len(ROWS) and rows[0][2] == "63,045,632" and rows[0][4:7] == ["65 M", "4.92", "25.8"]
    c2 = next(row for row in rows if row[0] == "C2")
    # 18,944,000 + 4 x 3,150,336 + 4 x 4,199,936
    assert c2[2] == "48,345,088" and c2[-1] == "model.encoder_layers = 4, model.decoder_layers = 4"


def test_the_rows_are_named_by_group_and_place() -> None:
    names = [row.name for row in ROWS]
    assert names == [
        "base", "A1", "A2", "A3", "A4", "B1", "B2", "C1", "C2", "C3", "C4", "C5", "C6", "C7", "D1", "D2", "D3", "D4",
        "E", "big",
    ]  # fmt: skip
    assert set(TRAININGS) == {BASE, BIG}


def test_what_is_cited_is_what_the_paper_prints() -> None:
    """By hand from the paper: its own rows of tables 2 and 4, and the best of the others in each column."""
    base, big = TRANSFORMERS[BASE], TRANSFORMERS[BIG]
    assert (base.german, base.french, big.german, big.french) == (27.3, 38.1, 28.4, 41.8)
    assert (TRAININGS[BASE].flops, TRAININGS[BIG].flops) == (3.3e18, 2.3e19)
    assert len(OTHERS) == 8 and max(one.german or 0 for one in OTHERS) == 26.36
    assert max(one.french or 0 for one in OTHERS) == 41.29
    assert [one.f1 for one in PARSERS if one.name == "Transformer (4 layers)"] == [91.3, 92.7]
    assert len(PARSERS) == 12 and PARSERS[-1].f1 == 93.3
