"""What must start without torch: the text and data floors, every settings module, and the command line."""

import subprocess
import sys
from pathlib import Path

import pytest

from architecture.house import TORCH_FREE_FLOORS, TORCH_FREE_MODULES, House, Source, floor_of, house

pytestmark = pytest.mark.slow


def names_torch(target: str) -> bool:
    return "torch" in target.split(".")


def ways_to_torch(plan: House, source: Source) -> list[str]:
    """The files that import torch when this one is loaded."""
    reached = (plan.modules[module] for module in plan.loads(source.module))
    return [
        f"{source.place} loads {other.place}, whose line {item.line} imports {item.target}"
        for other in reached
        for item in other.imports
        if item.at_load and names_torch(item.target)
    ]


def torch_free_sources(plan: House) -> list[Source]:
    return [
        source
        for source in plan.sources
        if floor_of(source.module) in (*TORCH_FREE_FLOORS, "cli", "")
        or source.module in TORCH_FREE_MODULES
        or "settings" in source.path.stem
    ]


def test_nothing_torch_free_loads_torch():
    plan = house()
    assert [way for source in torch_free_sources(plan) for way in ways_to_torch(plan, source)] == []


def test_text_and_data_do_not_import_torch_even_in_functions():
    found = [
        f"{source.place}:{item.line} imports {item.target}"
        for source in house().sources
        if floor_of(source.module) in TORCH_FREE_FLOORS
        for item in source.imports
        if names_torch(item.target)
    ]
    assert found == []


@pytest.mark.parametrize("module", ["cli", *TORCH_FREE_MODULES, *TORCH_FREE_FLOORS])
def test_torch_is_not_in_memory_after_the_import(module: str):
    """Holds for the libraries too: one that imports torch behind our back would cost a second at every `--help`."""
    plan = house()
    names = [name for name in plan.modules if name == module or name.startswith(f"{module}.")]
    program = f"import sys, importlib\nfor name in {names!r}: importlib.import_module('openwork.' + name)\n"
    program += "sys.exit('torch was imported' if 'torch' in sys.modules else 0)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr


def test_a_hidden_way_to_torch_is_found(tmp_path: Path):
    files = {
        "cli/main.py": "from openwork.models.families import ModelSettings",
        "models/__init__.py": "from openwork.models.build import build",
        "models/settings.py": "",
        "models/build.py": "from safetensors.torch import load_file",
        "cli/train.py": "def run():\n    from openwork.models import build",
    }
    for place, text in files.items():
        path = tmp_path / place
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    plan = House(tmp_path)
    assert len(ways_to_torch(plan, plan.modules["cli.main"])) == 1
    assert len(ways_to_torch(plan, plan.modules["models.settings"])) == 1
    assert ways_to_torch(plan, plan.modules["cli.train"]) == []
