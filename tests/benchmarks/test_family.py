"""Families side by side: shares by hand, changes only where a family has them, and a tiny comparison end to end."""

import json
import sys
from pathlib import Path

import family
import pytest
from family import own_run, share

from openwork.base.config import Layer
from openwork.cost.budget import Budget, compare_sizes
from openwork.data.records import Pair

RUN = """
[data]
corpus = "copy"
count = 200
[text]
vocabulary_size = 320
[batches]
tokens = 256
[model]
preset = "nano"
[training]
schedule = "constant"
learning_rate = 0.01
warmup = 1
steps = 2
validate_every = 2
validation_sentences = 4
metric = "loss"
average = 1
precision = "float32"
[decoding]
beam = 1
maximum_length = 8
"""


def test_the_share_is_of_exactly_right_targets() -> None:
    pairs = [Pair("a", "1"), Pair("b", "2"), Pair("c", "3"), Pair("d", "4")]
    exact, low, high = share(["1", "2", "3 ", "5"], pairs)
    assert exact == 50.0 and low <= 50.0 <= high and (low, high) != (50.0, 50.0)
    assert share(["1", "2", "3", "4"], pairs) == (100.0, 100.0, 100.0)


@pytest.mark.slow
def test_a_change_is_made_where_the_family_has_it() -> None:
    one, other = compare_sizes(["lstm-small", "bytenet-small"], Budget.parse("200k"), 320)
    changes = ["model.length_extra=12", "training.steps=7"]
    recurrent = own_run(Layer({"training": {"steps": 3}}), one, changes).mapping
    dilated = own_run(Layer({"training": {"steps": 3}}), other, changes).mapping
    assert recurrent["training"] == dilated["training"] == {"steps": 7}
    assert "length_extra" not in recurrent["model"] and dilated["model"]["length_extra"] == 12


@pytest.mark.slow
def test_a_comparison_from_end_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run, out = tmp_path / "run.toml", tmp_path / "out"
    run.write_text(RUN)
    command = ["family.py", str(run), "--presets", "gru-small", "nano", "--budget", "30k", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", command)
    family.main()
    found = json.loads((out / "family.json").read_text())
    baseline, *lines = found["lines"]
    assert [line["name"] for line in lines] == ["gru-small", "nano"] and "most similar" in baseline["name"]
    assert all(0 < line["weights"] <= 30_000 and line["seconds"] > 0 for line in lines)
    (out / "gru-small" / "bundle" / "weights.safetensors").unlink()  # what was finished is not looked at again
    capsys.readouterr()
    family.main()
    assert "| gru-small |" in capsys.readouterr().out
