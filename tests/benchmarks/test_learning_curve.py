"""Score against examples: nested subsets, the run on them, means and spreads by hand, and one curve from end to end."""

import json
import runpy
import sys
from pathlib import Path

import learning_curve
import pytest
from learning_curve import Point, means, on_subset, subset, table

from openwork.base.config import Layer
from openwork.data.records import Pair
from openwork.data.settings import DataSettings

PAIRS = [Pair(f"{word} film {number}", word) for number in range(15) for word in ("good", "bad")]
RUN = """
[data]
tsv = "{file}"
valid_tsv = "{file}"
[text]
kind = "words"
minimum_frequency = 1
vocabulary_size = 300
shared = false
target_kind = "labels"
[batches]
tokens = 64
[model]
preset = "lstm-classifier"
width = 8
[training]
schedule = "constant"
learning_rate = 0.02
warmup = 1
steps = 4
validate_every = 2
validation_sentences = 30
metric = "score"
average = 1
precision = "float32"
"""


def test_a_larger_subset_holds_the_smaller_one() -> None:
    small, large = subset(PAIRS, 5, seed=1), subset(PAIRS, 12, seed=1)
    assert large[:5] == small and len(set(large)) == 12
    assert subset(PAIRS, 5, seed=2) != small and sorted(subset(PAIRS, 30, seed=2)) == sorted(PAIRS)


def test_the_run_is_the_same_but_for_its_examples(tmp_path: Path) -> None:
    layer = Layer({"data": {"corpus": "sst2", "count": 9, "held_out": 7}, "training": {"steps": 3}})
    data = DataSettings(corpus="sst2")
    found = on_subset(layer, data, tmp_path / "few", PAIRS[:2], seed=4).mapping
    files = {"source": str(tmp_path / "few/source"), "target": str(tmp_path / "few/target")}
    assert found["data"] == {"held_out": 7, "valid_corpus": "sst2", **files}
    assert found["training"] == {"steps": 3, "seed": 4}
    assert Path(files["source"]).read_text(encoding="utf-8") == "good film 0\nbad film 0\n"


def test_means_and_spreads_by_hand() -> None:
    points = [Point(10, 1, 50.0, "accuracy"), Point(10, 2, 70.0, "accuracy"), Point(100, 1, 80.0, "accuracy")]
    assert means(points) == [(10, 60.0, 10.0, 2), (100, 80.0, 0.0, 1)]
    assert table(points)[0] == "| examples | accuracy | spread | seeds |"
    assert table(points)[2:] == ["| 10 | 60.0 | 10.0 | 2 |", "| 100 | 80.0 | 0.0 | 1 |"]


@pytest.mark.slow
def test_a_curve_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pairs.tsv").write_text("".join(f"{one.source}\t{one.target}\n" for one in PAIRS), encoding="utf-8")
    run, out = tmp_path / "run.toml", tmp_path / "curve"
    run.write_text(RUN.format(file=(tmp_path / "pairs.tsv").as_posix()), encoding="utf-8")
    script = str(Path(learning_curve.__file__))
    command = [script, str(run), "--examples", "6", "--all", "--seeds", "2", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", command)
    runpy.run_path(script, run_name="__main__")
    found = json.loads((out / "curve.json").read_text(encoding="utf-8"))["points"]
    assert [(one["examples"], one["seed"]) for one in found] == [(6, 1), (6, 2), (30, 1)]
    assert all(0 <= one["score"] <= 100 and one["name"] == "accuracy" for one in found)
    monkeypatch.setattr(sys, "argv", [script, "--draw", str(out / "curve.json"), "--out", str(tmp_path / "all.svg")])
    runpy.run_path(script, run_name="__main__")
    assert "training examples" in (tmp_path / "all.svg").read_text(encoding="utf-8")
