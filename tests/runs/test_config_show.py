"""Where each value comes from: a default, a line of a file or of its base, a preset, an assignment, a choice."""

import tomllib
from pathlib import Path

import pytest

from openwork.base.config import Layer, read_run, to_toml
from openwork.runs.file.recipes import run_file_of
from openwork.runs.file.resolve import Resolved, resolve, resolve_layer, resolve_run

BASE = '[data]\ncorpus = "copy"\n\n[training]\nsteps = 9\nwarmup = 3\n'
FILE = 'base = "base.toml"\n[model]\npreset = "nano"\nwidth = 64\n\n[training]\nsteps = 7\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "base.toml").write_text(BASE)
    (tmp_path / "run.toml").write_text(FILE)
    return tmp_path / "run.toml"


def shown(file: Path, *assignments: str) -> Resolved:
    return resolve(file, assignments, {}, print)


def test_origin_of_each_value(file: Path):
    origins = shown(file, "decoding.beam=2").origins
    assert origins["data.corpus"] == f"{file.parent}/base.toml:2"
    assert origins["training.warmup"] == f"{file.parent}/base.toml:6"
    assert origins["training.steps"] == f"{file}:7"
    assert origins["model.width"] == f"{file}:4"
    assert origins["model.heads"] == f"preset nano ({file}:3)"
    assert origins["model.dropout"] == "default"
    assert origins["decoding.beam"] == "--set decoding.beam=2"
    assert origins["data.source"] == "default"


def test_preset_of_an_assignment_and_section_in_one_line(file: Path):
    origins = shown(file, "model.preset=tiny", "text={vocabulary_size=500}").origins
    assert origins["model.heads"] == "preset tiny (--set model.preset=tiny)"
    assert origins["text.vocabulary_size"] == "--set text={vocabulary_size=500}"
    assert origins["text.shared"] == "default"


def test_chosen_values_say_so(tmp_path: Path):
    told: list[str] = []
    layer = read_run(None, ["data.corpus=copy", "data.count=30", "training.warmup=5"], {})
    found = resolve_layer(layer, told.append, choose_rest=True)
    assert found.origins["training.steps"] == "chosen from the size of the data"
    assert found.origins["model.width"] == "preset nano (chosen from the size of the data)"
    assert found.origins["training.warmup"] == "--set training.warmup=5"
    assert found.settings.training.warmup == 5 and told


def test_what_a_fine_tuned_bundle_decides_says_so():
    """Values that stand in the layer, though no file or option gave them."""
    layer = Layer({"data": {"corpus": "copy"}, "model": {"width": 32, "heads": 2}}, {})
    assert Resolved(resolve_run(layer), layer).origins["model.width"] == "the bundle that is fine-tuned"


def test_text_is_a_run_file_that_says_the_same(file: Path):
    found = shown(file)
    for with_origins in (False, True):
        text = found.text(with_origins=with_origins)
        assert resolve_run(Layer(tomllib.loads(text))) == found.settings
        assert ("# " in text) == with_origins
    assert f"steps = 7  # {file}:7\n" in found.text(with_origins=True)
    assert found.text(with_origins=False) == to_toml(found.settings)


def test_json_has_every_key_the_unset_ones_too(file: Path):
    values = shown(file).to_json()
    assert values["training.steps"] == {"value": 7, "origin": f"{file}:7"}
    assert values["data.source"] == {"value": None, "origin": "default"}


def test_folder_of_a_run_stands_for_its_file(file: Path):
    assert run_file_of(file.parent) == file
    assert run_file_of(file) == file
