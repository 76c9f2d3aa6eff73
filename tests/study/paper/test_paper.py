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

from openwork.base.errors import UsageError
from openwork.cost import table3 as paper_table
from openwork.decoding import scoring
from openwork.models.interfaces import count_weights
from openwork.models.presets import BASE, BIG, ROWS, TRAININGS
from openwork.nn import attention, feedforward, positions, residual
from openwork.nn.kernels import reference
from openwork.study.paper import formulas, methods, tables
from openwork.study.paper.cited import OTHERS, PARSERS, TRANSFORMERS
from openwork.study.paper.contents import CONTENTS, GROUPS, find_listed
from openwork.study.paper.exhibit import EXHIBITS, code_lines, forward_trace
from openwork.study.paper.figures import MODEL, Drawn, base_model, counted_boxes, draw_stacks
from openwork.study.paper.pages import Page, document, page_of, row_page
from openwork.study.paper.tables import find_row
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
    assert EXHIBITS[name].tests
    for place in EXHIBITS[name].tests:
        path, _, function = place.partition("::")
        tree = ast.parse((REPOSITORY / path).read_text("utf-8"))
        found = [one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]
        assert function in found and function.startswith("test_"), place


@pytest.mark.parametrize("name", EXHIBITS)
def test_the_lines_of_code_are_those_of_the_object(name: str) -> None:
    """Read by another way: the syntax tree of the file says where a definition begins and ends."""
    for made in EXHIBITS[name].code:
        shown = code_lines(made)
        located = pydoc.locate(f"{shown.module}.{shown.name}")
        assert inspect.unwrap(located) is inspect.unwrap(made)  # type: ignore[arg-type]
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
    first = EXHIBITS[f"eq {number}"].code[0]
    assert f"equation {number}" in str(inspect.getdoc(first)).lower()


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


def test_figure_1_is_drawn_from_the_model() -> None:
    drawn = page("figure 1").drawing
    assert [line.split()[-1] for line in drawn[2:-1]] == [
        "PostNorm", "FeedForward", "PostNorm", "MultiHeadAttention", "PostNorm", "MultiHeadAttention",
        "SinusoidalPositions", "TokenEmbedding",
    ]  # fmt: skip
    assert drawn[0].strip() == "der Hund bellt </s>" and drawn[1].strip() == "Transformer.project"
    assert drawn[-1].split() == ["the", "dog", "barks", "</s>", "<s>", "der", "Hund", "bellt"]


def test_stacks_by_hand() -> None:
    layers = [Drawn("in", 1), Drawn("a", 2), Drawn("b", 2), Drawn("c", 2)]
    drawn = draw_stacks(layers, [*layers, Drawn("out", 1)], 1, ("x", "y", "z"))
    assert [line.split() for line in drawn] == [
        ["z"],
        ["out"],
        ["┌", "c", "─┐", "┌", "c"],
        ["│", "b", "│", "│", "b"],
        ["2", "×", "└", "a", "└──▶", "2", "×", "└", "a"],
        ["in", "in"],
        ["x", "y"],
    ]


def test_the_names_in_figure_2_are_those_of_parts() -> None:
    modules = {name.rpartition(".")[2] for name, _ in base_model().named_modules()}
    names = set(re.findall(r"[a-z_]{3,}", "\n".join(page("figure 2").drawing))) - {"scale"}
    parts = {name for name in names if hasattr(reference, name) or hasattr(attention.MultiHeadAttention, name)}
    assert names - parts == {"query", "key", "value", "output"} <= modules
    assert parts == {"weighted_sum", "softmax_over", "masked_scores", "attention_scores", "attention", "join", "split"}


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
    "weights": (paper_table, "VOCABULARY", 30_000, "table 3"),
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
    values = page("training").values
    assert values["model.dropout"]["recipes"] == {"paper-base-wmt14-en-de": 0.1, "paper-big-wmt14-en-de": 0.3}
    # of keys that recurrent models have too, with another default
    ours = {row[4]: row[-1] for row in page("training").to_json()["tables"][0]["rows"]}
    assert (ours["model.dropout"], ours["training.epsilon"], ours["text.vocabulary_size"]) == ("0.1", "1e-09", "8000")


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


def test_a_row_of_table_3() -> None:
    shown = row_page("c2")
    assert shown.name == "table 3 --row C2" and "encoder_layers = 4" in shown.title
    # 18,944,000 + 4 x 3,150,336 + 4 x 4,199,936
    assert shown.values["weights"] == 48_345_088 and shown.values["paper"]["millions"] == 50
    changed = {row[0]: row[1:] for row in shown.to_json()["tables"][0]["rows"] if row[2]}
    assert changed == {"model.encoder_layers": ["4", "6"], "model.decoder_layers": ["4", "6"]}
    parts = shown.to_json()["tables"][3]["rows"]
    assert sum(int(row[3].replace(",", "")) for row in parts[:-1]) == 48_345_088 and parts[-1][3] == "48,345,088"
    assert find_row("table3-c-n4").row.name == "C2" and find_row("E").row.preset == "table3-e-learned"
    assert ["training.label_smoothing", "0.2", ""] in row_page("D4").to_json()["tables"][0]["rows"]
    with pytest.raises(UsageError, match="no row C8") as refused:
        row_page("C8")
    assert "C1, C2" in refused.value.hint


def test_the_rows_are_named_by_group_and_place() -> None:
    names = [row.name for row in ROWS]
    assert names == [
        "base", "A1", "A2", "A3", "A4", "B1", "B2", "C1", "C2", "C3", "C4", "C5", "C6", "C7", "D1", "D2", "D3", "D4",
        "E", "big",
    ]  # fmt: skip
    assert {row.group for row in ROWS} == {"base", "A", "B", "C", "D", "E", "big"}
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
