"""docs/reliability.md and the tests name each other: no row without a test, no test of a fault without a row."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
DOCUMENT = TESTS.parent / "docs/reliability.md"
NAMED = re.compile(r"`([a-z_]+/(?:[a-z_]+/)*test_[a-z_0-9]+)\.py(?:::(test_\w+))?`")


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


@pytest.mark.slow
def test_each_row_names_tests_that_there_are():
    rows = [
        line for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if re.match(r"\| (?!fault|case|---)", line)
    ]
    assert len(rows) > 40
    for row in rows:
        named = NAMED.findall(row)
        assert named, row
        for file, function in named:
            path = TESTS / f"{file}.py"
            assert path.is_file(), row
            assert not function or function in functions(path), f"{function}: {row}"


def test_each_fault_has_its_row():
    text = DOCUMENT.read_text(encoding="utf-8")
    named = {function for _, function in NAMED.findall(text)}
    for path in (TESTS / "faults").glob("test_*.py"):
        if path.name != "test_document.py":
            missing = functions(path) - named
            assert not missing, f"docs/reliability.md lacks {path.name}: {sorted(missing)}"
