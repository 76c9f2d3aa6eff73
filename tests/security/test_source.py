"""What the code never does, read from the code: run what a file holds."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "openwork"
MODULES = {"pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
NAMES = {"eval", "exec", "compile", "__import__"}
CALLS = {"torch.load", "torch.jit.load", "yaml.load", "yaml.unsafe_load", "yaml.full_load", "os.system", "os.popen"}
EXTRACTS = {"extractall", "extract_all", "unpack_archive"}


def dangers(text: str) -> Iterator[str]:
    """Each thing that could run what it reads, or write where an archive says."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in MODULES:
            yield str(node.module)
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in NAMES | CALLS or name.split(".")[-1] in EXTRACTS:
                yield name
            wrong = {"allow_pickle"} | ({"shell"} if name.startswith("subprocess.") else set())
            given = (keyword for keyword in node.keywords if keyword.arg in wrong)
            yield from (f"{keyword.arg}=" for keyword in given if ast.unparse(keyword.value) != "False")


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_runs_what_it_reads(path: Path) -> None:
    assert list(dangers(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "line",
    [
        "import pickle", "from pickle import loads", "import torch\ntorch.load(x)", "eval(x)", "exec(x)",
        "yaml.load(x)", "subprocess.run(x, shell=True)", "numpy.load(x, allow_pickle=True)", "archive.extractall(x)",
    ],
)  # fmt: skip
def test_the_dangers_are_seen(line: str) -> None:
    assert list(dangers(line))


def test_what_is_harmless_is_not_taken_for_one() -> None:
    assert list(dangers("model.eval()\nre.compile(x)\nsafetensors.torch.load(x)\nsubprocess.run(x, shell=False)")) == []
