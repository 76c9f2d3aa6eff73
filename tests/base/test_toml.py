"""TOML: the line of each key, and text that reads back as the same values."""

import datetime
import math
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as some

from openwork.base.toml import key_lines, write_table

DIFFICULT = '''\
# [not.a.header]
title = "a # b = c"  # x = 1
[model] # a comment ]
width = 256
"quoted key" = 1
'lit.eral' = 2
text = """
fake = 1
[fake]
\\""" still inside
"""
raw = \'\'\'
other = "
\'\'\'
list = [
  1, # fake2 = 3
  { a = 1, b = [2,
  3] },
]
inner.deep . deeper = { x = 1 }
  [ training . schedule ]
  warmup=1e-9
[[runs]]
name = "one"
[[runs]]
name = "two"
'''


def test_every_key_of_a_difficult_file_has_its_line() -> None:
    tomllib.loads(DIFFICULT)
    assert key_lines(DIFFICULT) == {
        "title": 2,
        "model": 3,
        "model.width": 4,
        "model.quoted key": 5,
        "model.lit.eral": 6,
        "model.text": 7,
        "model.raw": 12,
        "model.list": 15,
        "model.inner": 20,
        "model.inner.deep": 20,
        "model.inner.deep.deeper": 20,
        "training": 21,
        "training.schedule": 21,
        "training.schedule.warmup": 22,
        "runs": 23,
        "runs.0": 23,
        "runs.0.name": 24,
        "runs.1": 25,
        "runs.1.name": 26,
    }


def test_tables_within_the_tables_of_an_array() -> None:
    text = """\
[[a.b]]
x = 1
[[a.b.c]]
y = 2
[[a.b.c]]
y = 3
[a.b.d]
z = 4
[[a.b]]
[[a.b.c]]
y = 5
[e]
x = 6
"""
    assert tomllib.loads(text)["a"]["b"][1] == {"c": [{"y": 5}]}
    lines = key_lines(text)
    expected = {"a.b": 1, "a.b.0": 1, "a.b.0.x": 2, "a.b.0.c.0": 3, "a.b.0.c.0.y": 4, "a.b.0.c.1": 5}
    expected |= {"a.b.0.c.1.y": 6, "a.b.0.d": 7, "a.b.0.d.z": 8, "a.b.1": 9, "a.b.1.c.0": 10, "a.b.1.c.0.y": 11}
    expected |= {"e": 12, "e.x": 13}
    assert expected.items() <= lines.items()
    assert lines.keys() - expected.keys() == {"a", "a.b.0.c", "a.b.1.c"}


VALUES = some.recursive(
    some.booleans()
    | some.integers(-(2**63), 2**63 - 1)
    | some.floats()
    | some.text(some.characters(exclude_categories=["Cs"]))
    | some.dates(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text('aA-_."\n é]', max_size=4), inner),
    max_leaves=10,
)


def same(left: object, right: object) -> bool:
    match left, right:
        case dict(), dict():
            return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
        case list(), list():
            return len(left) == len(right) and all(map(same, left, right))
        case float(), float():
            return left == right or (math.isnan(left) and math.isnan(right))
    return type(left) is type(right) and left == right


@pytest.mark.slow
@given(some.dictionaries(some.text('abA-_."\n é]', max_size=4), VALUES, max_size=4))
def test_what_is_written_reads_back(table: dict[str, object]) -> None:
    text = write_table(table)
    assert same(tomllib.loads(text), table), text
    lines = key_lines(text)
    for key in table:
        assert key in lines  # and a key is found on the line that names it
        if "." not in key and "\n" not in key and not isinstance(table[key], dict):
            assert key.replace('"', '\\"') in text.split("\n")[lines[key] - 1]


def test_none_is_left_out_and_foreign_values_are_refused() -> None:
    assert write_table({"a": None, "b": datetime.date(2024, 2, 29)}) == "b = 2024-02-29\n"
    with pytest.raises(TypeError, match="set"):
        write_table({"a": {1}})
