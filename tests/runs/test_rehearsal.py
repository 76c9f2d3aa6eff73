"""Rehearsals: the recipe's own choices on other data, small enough to be waited for."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from journeys.command import Finished, run_file
from openwork.base.config import Layer, read_run_file
from openwork.base.records import read_records
from openwork.runs.file.resolve import rehearsal, resolve_run

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]
RECIPES = Path(__file__).resolve().parents[2] / "recipes"
PAPERS = ("paper-base-wmt14-en-de", "paper-big-wmt14-en-de")
# An eighth of the paper's widths and a third of its layers; all else is the recipe's.
REDUCED = ("width=64", "heads=4", "feedforward_width=256", "encoder_layers=2", "decoder_layers=2")


@pytest.mark.parametrize("name", PAPERS)
def test_only_data_and_length_are_changed(name: str):
    layer = read_run_file(RECIPES / f"{name}.toml")
    recipe, rehearsed = resolve_run(layer), resolve_run(rehearsal(layer, 100))
    assert [part.corpus for part in rehearsed.data.parts] == ["dates"] and rehearsed.data.validation is None
    assert rehearsed.batches.tokens == 512 and rehearsed.training.steps == 100
    for section in ("text", "model", "decoding", "filters"):
        assert getattr(rehearsed, section) == getattr(recipe, section)
    changed = {"steps", "cooldown", "validate_every", "validation_sentences", "log_every"}
    before, after = recipe.training.model_dump(), rehearsed.training.model_dump()
    assert {key for key in before if before[key] != after[key]} <= changed


def test_small_batches_stay_small_and_files_give_way():
    layer = Layer({"data": {"source": "a", "target": "b"}, "batches": {"tokens": 64}, "training": {"cooldown": 50}})
    settings = resolve_run(rehearsal(layer, 10))
    assert settings.batches.tokens == 64 and settings.data.source is None and settings.training.cooldown == 0


def test_a_rehearsal_is_a_run(call: Call, tmp_path: Path):
    """What --set changes counts more than the rehearsal, which counts more than the run file."""
    path = run_file(tmp_path, steps=1000, validate_every=1000)
    result = call("train", path, "--rehearse", 3, "--out", tmp_path / "o", "--set", "batches.tokens=77")
    assert result.code == 0, result.err
    steps = [record for record in read_records(tmp_path / "o/records.jsonl") if record["kind"] == "finished"]
    assert [record["step"] for record in steps] == [3]
    assert "tokens = 77" in (tmp_path / "o/run.toml").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", [PAPERS[0], pytest.param(PAPERS[1], marks=pytest.mark.long)])  # they differ in sizes
def test_the_papers_recipes_rehearsed_for_100_updates(name: str, call: Call, tmp_path: Path):
    assignments = [word for value in REDUCED for word in ("--set", f"model.{value}")]
    out = tmp_path / "out"
    result = call("train", RECIPES / f"{name}.toml", "--rehearse", 100, "--out", out, *assignments)
    assert result.code == 0, result.err
    records = read_records(out / "records.jsonl")
    losses = {record["step"]: record["loss"] for record in records if record["kind"] == "step"}
    assert losses[100] < 0.9 * losses[1]
    assert json.loads((out / "bundle/golden.json").read_text())
