"""Options of YAML files: names, lines, and what strangers can write."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from openwork.base.errors import DataError
from openwork.migration.options import read_yaml


def options(text: str) -> dict[str, Any]:
    return {option.name: option.value for option in read_yaml(text, "c.yaml")}


def test_names_values_and_lines():
    text = "# why\na: 1\nb:\n  c: [x, 2]\n  d: {e: 0.5}\nf:\ng: yes\nh: '1e-4'\n"
    found = read_yaml(text, "c.yaml")
    assert [(option.name, option.value, option.line) for option in found] == [
        ("a", 1, 2), ("b.c", ["x", 2], 4), ("b.d.e", 0.5, 5), ("f", None, 6), ("g", True, 7), ("h", "1e-4", 8),
    ]  # fmt: skip


def test_aliases_and_merges_are_followed():
    assert options("base: &b {x: 1, y: 2}\nmore:\n  <<: *b\n  y: 3\n")["more.x"] == 1
    assert options("a: &n [1, 2]\nb: *n\n")["b"] == [1, 2]


def test_tags_of_other_programs_construct_nothing():
    assert options("a: !!python/object/apply:os.system ['echo x']\nb: !include other.yaml\n") == {
        "a": ["echo x"],
        "b": "other.yaml",
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: [1, 2\nc: 3\n", "c.yaml:3: not valid YAML"),
        ("a: 1\n\tb: 2\n", "c.yaml:2: not valid YAML"),
        ("a: 1\nb: \x07\n", "c.yaml:2: not valid YAML"),
        ("a: *nobody\n", "c.yaml:1: not valid YAML"),
        ("a: 1\n---\nb: 2\n", "c.yaml:2: not valid YAML"),
        ("- a\n- b\n", "not a table of options"),
        ("only words\n", "not a table of options"),
        ("a: " + "[" * 5000, "nested too deeply"),
        ("a: &a [1, *a]\n", "more values than a configuration has"),
        ("a: &a\n  b: *a\n", "more values than a configuration has"),
    ],
)
def test_broken_yaml_is_told_with_its_line(text: str, words: str):
    with pytest.raises(DataError) as caught:
        read_yaml(text, "c.yaml")
    assert words in caught.value.what and caught.value.hint


def test_aliases_of_aliases_are_refused():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(DataError, match="more values"):
        read_yaml("\n".join(lines), "c.yaml")


SCALARS = st.integers() | st.booleans() | st.text(max_size=8) | st.floats(allow_nan=False, allow_infinity=False)
TABLES = st.dictionaries(
    st.from_regex(r"[a-z]{1,5}", fullmatch=True), SCALARS | st.lists(SCALARS, max_size=3), min_size=1
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(TABLES)
def test_the_library_reads_the_same(table: dict[str, Any]):
    text = yaml.safe_dump(table, allow_unicode=True)
    loaded = yaml.safe_load(text)
    assert options(text) == loaded
