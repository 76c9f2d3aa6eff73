"""`openwork export` and `openwork import`: to another toolkit's form and back."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from journeys.command import Finished

Call = Callable[..., Finished]
LINES = b"a b c\nd e\n"


@pytest.fixture
def exported(call: Call, bundle_folder: Path, tmp_path: Path) -> Path:
    finished = call("export", bundle_folder, "--to", "ct2", "--out", tmp_path / "ct2")
    assert finished.code == 0 and "ranks by the paper's length penalty" in finished.err
    return tmp_path / "ct2"


@pytest.mark.slow
def test_there_and_back(call: Call, bundle_folder: Path, exported: Path, tmp_path: Path):
    """The same weights, so under the same search the same translations."""
    assert call("import", "ct2", exported, "--out", tmp_path / "back").code == 0
    search = ("--length-rule", "paper", "--length-penalty", "0.6", "--extra-length", "3", "--maximum-length", "12")
    back = call("translate", "--bundle", tmp_path / "back", *search, "--unfinished", "last", stdin=LINES)
    assert back.code == 0 and back.out == call("translate", "--bundle", bundle_folder, stdin=LINES).out


@pytest.mark.slow
def test_tokenizers_may_be_named(call: Call, exported: Path, tmp_path: Path):
    away = (exported / "tokenizer.json").rename(tmp_path / "tokenizer.json")
    refused = call("import", "ct2", exported, "--out", tmp_path / "back")
    assert refused.code == 4 and "--source-tokenizer" in refused.err
    assert call("import", "ct2", exported, "--source-tokenizer", away, "--out", tmp_path / "back").code == 0
    manifest = json.loads((tmp_path / "back" / "bundle.json").read_text("utf-8"))
    assert "tokenizer.json" in manifest["sha256"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("import", "onnx", "x", "--out", "y"), "known are ct2, hf and marian"),
        (("import", "ct2", "x", "--target-tokenizer", "t", "--out", "y"), "needs --source-tokenizer"),
    ],
)
def test_what_is_not_known_is_a_mistake_of_usage(call: Call, arguments: tuple[str, ...], says: str):
    finished = call(*arguments)
    assert finished.code == 2 and says in finished.err
