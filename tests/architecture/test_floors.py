"""The order of the floors: who may import whom. Imports inside functions count."""

import ast
from pathlib import Path

import pytest

from architecture.house import FLOORS, NARROW_DOORS, House, floor_of, house, level, nodes


def broken_doors(plan: House) -> list[str]:
    """Imports that go up, go across, or go past what a narrow door allows."""
    found = []
    for source in plan.sources:
        for module, line in plan.uses(source).items():
            if not source.module or floor_of(module) == floor_of(source.module):
                continue
            upward = module and level(module) >= level(source.module) and source.module != "__main__"
            allowed = NARROW_DOORS.get((floor_of(source.module), floor_of(module)))
            if upward:
                found.append(f"{source.place}:{line} imports {module}, which is not on a lower floor")
            elif allowed is not None and module not in allowed:
                found.append(f"{source.place}:{line} imports {module}; of that floor it may use only {sorted(allowed)}")
        if not source.module and plan.uses(source).keys() - {"base.public"}:  # which imports nothing itself
            found.append(f"{source.place} imports from its own floors")
    return found


def test_every_folder_has_a_floor():
    planned = {floor for floors in FLOORS for floor in floors} | {"__main__", ""}
    assert {floor_of(source.module) for source in house().sources} <= planned, "add the new folder to FLOORS"


def test_a_floor_imports_only_lower_floors():
    assert broken_doors(house()) == []


def test_no_circles():
    assert house().circles() == []


def make_house(root: Path, files: dict[str, str]) -> House:
    for place, text in files.items():
        path = root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return House(root)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("nn/attention.py", "from openwork.models.build import build"),
        ("nn/attention.py", "from openwork.models import build"),
        ("nn/attention.py", "import openwork.models.build"),
        ("nn/attention.py", "def late():\n    from openwork.models import build"),
        ("nn/attention.py", "from ..models import build"),
        ("nn/attention.py", "import importlib\nimportlib.import_module('openwork.models.build')"),
        ("text/tokenizer.py", "from openwork.nn import ratio"),
        ("decoding/beam.py", "from openwork.models.build import build"),
        ("base/files.py", "from openwork.cli import main"),
    ],
)
def test_a_wrong_import_is_found(tmp_path: Path, place: str, text: str):
    plan = make_house(tmp_path, {"models/build.py": "", "nn/ratio.py": "", "cli/main.py": "", place: text})
    assert len(broken_doors(plan)) == 1


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("models/seq2seq.py", "from openwork.nn.attention import attend\nfrom .interfaces import State"),
        ("decoding/beam.py", "from openwork.models.interfaces import State"),
        ("cli/main.py", "from openwork import __version__\nfrom openwork.base import errors"),
    ],
)
def test_a_right_import_passes(tmp_path: Path, place: str, text: str):
    files = {"__init__.py": "", "nn/attention.py": "", "models/interfaces.py": "", "base/errors.py": "", place: text}
    assert broken_doors(make_house(tmp_path, files)) == []


def test_a_circle_is_found(tmp_path: Path):
    files = {
        "nn/a.py": "from openwork.nn.b import y",
        "nn/b.py": "def late():\n    from openwork.nn.c import z",
        "nn/c.py": "import openwork.nn.a",
        "nn/d.py": "from openwork.nn.a import x",
    }
    assert make_house(tmp_path, files).circles() == [("nn.a", "nn.b", "nn.c")]


def test_no_decision_hangs_on_whether_a_protocol_is_met() -> None:
    """Python changes how it finds that out (3.12 no longer sees a module's buffers): what decides is a class."""
    trees = {source.place: source.tree for source in house().sources}
    classes = [node for tree in trees.values() for node in nodes(tree) if isinstance(node, ast.ClassDef)]
    protocols = {one.name for one in classes if any(ast.unparse(base).startswith("Protocol") for base in one.bases)}
    assert {"State", "StepModel"} <= protocols
    names = "isinstance", "issubclass"
    asked = [
        f"{name}:{node.lineno}: {ast.unparse(node)}"
        for name, tree in trees.items()
        for node in nodes(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
        if protocols & {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
    ]
    assert asked == []
