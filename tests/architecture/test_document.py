"""docs/architecture.md names every folder and file of the package, and none that does not exist.

The document has one section a floor, headed `### name/`, in which each file begins a line of a list, with its path
from that floor, or shares it with its kin: "- `errors.py`: ...", "- `kernels/fused.py`, `kernels/reference.py`: ...".
"""

import ast
import re
from pathlib import Path

import pytest

from architecture.house import DOCUMENT, FLOORS, PACKAGE

HEADING = re.compile(r"^#+ +`?(?P<floor>\w+)/`?.*$")
ENTRY = re.compile(r"^- (?P<files>`[^`]+`(?:, `[^`]+`)*):", re.MULTILINE)


def sections(text: str) -> dict[str, str]:
    """The text of each floor's section."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        if line.startswith("#"):
            match = HEADING.match(line)
            current = found.setdefault(match["floor"], []) if match else []
        else:
            current.append(line)
    return {floor: "\n".join(lines) for floor, lines in found.items()}


def files_of(floor: Path) -> set[str]:
    """Every file of a floor, by its path from there, but an `__init__.py` that holds no more than a docstring."""
    paths = [path for path in floor.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {path.relative_to(floor).as_posix() for path in paths if path.name != "__init__.py" or holds_code(path)}


def holds_code(path: Path) -> bool:
    return any(not isinstance(node, ast.Expr) for node in ast.parse(path.read_text(encoding="utf-8")).body)


@pytest.fixture(scope="module")
def document() -> dict[str, str]:
    return sections(DOCUMENT.read_text(encoding="utf-8"))


def test_the_sections_are_the_folders(document: dict[str, str]):
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert set(document) == folders


@pytest.mark.parametrize("floor", [floor for floors in FLOORS for floor in floors])
def test_the_files_of_a_floor_are_named_and_exist(document: dict[str, str], floor: str):
    entries = ENTRY.findall(document.get(floor, ""))
    named = {name for entry in entries for name in re.findall(r"`([^`]+)`", entry)}
    present = files_of(PACKAGE / floor)
    assert present - named == set(), "in the tree, not in docs/architecture.md"
    assert named - present == set(), "in docs/architecture.md, not in the tree"


def test_the_order_of_the_floors_is_the_plan_of_the_tests():
    """The drawing of the floors in the document is the table that the tests enforce."""
    text = DOCUMENT.read_text(encoding="utf-8")
    drawn = [tuple(line.split()[1:]) for line in text.splitlines() if re.match(r"^ *\d  \w", line)]
    assert [set(floors) for floors in reversed(drawn)] == [set(floors) for floors in FLOORS]
