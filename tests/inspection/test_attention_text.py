"""A map in the terminal: what is in each cell, and columns that line up by display cell."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.base.phrases import shown_width
from openwork.inspection.attention_text import NARROWEST, cell, map_lines, table_lines
from openwork.inspection.attention_view import AttentionMap

ROWS = [("<s>", "我"), ("我", "爱猫"), ("爱猫", "</s>")]
COLUMNS = ["I", " love", "猫猫猫", "</s>"]
WEIGHTS = np.array([[0.9, 0.04, 0.06, 0.0], [0.26, 0.74, 0.0, 0.0], [0.5, 0.0, 0.0, 0.5]])


@pytest.mark.parametrize(
    ("weight", "shown"),
    [(0.0, " .00"), (0.049, " .05"), (0.05, "░.05"), (0.25, "▒.25"), (0.5, "▓.50"), (0.75, "█.75"), (0.994, "█.99"),
     (0.995, "█1.0"), (1.0, "█1.0")],
)  # fmt: skip
def test_a_cell_is_a_shade_and_two_decimals(weight: float, shown: str):
    assert cell(weight) == shown


def test_a_map_worked_by_hand():
    lines = list(map_lines(AttentionMap("", WEIGHTS, ROWS, COLUMNS), 80, str))
    assert lines == [
        "               I ␣love 猫猫猫 </s>",
        "<s> → 我    █.90   .04   ░.06  .00",
        "我 → 爱猫   ▒.26  ▓.74    .00  .00",
        "爱猫 → </s> ▓.50   .00    .00 ▓.50",
    ]


def test_columns_end_in_the_same_display_cell():
    lines = list(map_lines(AttentionMap("", WEIGHTS, ROWS, COLUMNS), 80, str))
    assert {shown_width(line) for line in lines} == {34}


def test_a_map_that_is_too_wide_has_numbers_and_a_legend():
    many = np.full((3, 12), 1 / 12)
    names = [f"piece{number}" for number in range(12)]
    lines = list(map_lines(AttentionMap("", many, ROWS, names), 50, str))
    heads = [line.split() for line in lines if line.strip().replace(" ", "").isdigit()]
    assert [number for head in heads for number in head] == [str(number) for number in range(12)]
    assert len(heads) == 2 and max(map(shown_width, lines)) <= 50
    legend = " ".join(line.strip() for line in lines[8:])
    assert legend.startswith("source: 0=piece0") and legend.endswith("11=piece11")


def test_a_masked_cell_is_no_zero():
    square = np.array([[1.0, 0.0], [0.0, 1.0]])
    shown = AttentionMap("", square, ROWS[:2], ["a", "b"])
    lines = list(map_lines(shown, 80, str, np.triu(np.ones((2, 2), bool), 1)))
    assert [line.split()[3:] for line in lines[1:]] == [["█1.0", "-"], [".00", "█1.0"]]


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30)


@given(st.lists(WORDS, min_size=1, max_size=20), st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5),
       st.integers(1, 120))  # fmt: skip
def test_no_line_is_wider_than_the_terminal(columns: list[str], rows: list[tuple[str, str]], width: int):
    weights = np.full((len(rows), len(columns)), 1 / len(columns))
    lines = list(map_lines(AttentionMap("", weights, rows, columns), width, str))
    assert max(map(shown_width, lines)) <= max(width, NARROWEST)


def test_a_table_in_parts_repeats_its_names():
    lines = list(table_lines(["", "a"], [["one", "1"], ["two", "22"], ["three", "3"]], 10))
    assert lines == ["  one two", "a   1  22", "  three", "a     3"]
