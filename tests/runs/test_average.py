"""openwork average: the mean by hand, of the same model's weights alone."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from journeys.command import TINY, Finished, told
from openwork.base.config import read_run, to_toml
from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.data.store import write_store
from openwork.models.build import build_model
from openwork.models.weights import model_weights
from openwork.runs.file.resolve import resolve_run
from openwork.text.pair import train_pair
from openwork.text.settings import TextSettings
from openwork.training.checkpoint import load_weights
from openwork.training.optimisers import make_optimiser
from openwork.training.progress import Progress
from training.tiny import save_checkpoint

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]
STEPS = (10, 20, 30)


def fresh_model(bundle: Bundle, **changes: int) -> torch.nn.Module:
    size = bundle.tokenizers.source.vocabulary_size
    return build_model(bundle.settings.model.model_copy(update=changes), size, size)


@pytest.fixture
def run_folder(tiny_bundle: Bundle, tmp_path: Path) -> Path:
    """A run without a bundle: its settings, tokenizers, validation pairs, and three checkpoints of random weights."""
    folder = tmp_path / "run"
    (folder / "tokenizers").mkdir(parents=True)
    (tmp_path / "tiny.toml").write_text(TINY)
    settings = resolve_run(read_run(tmp_path / "tiny.toml", [], {}))
    settings = settings.model_copy(update={"model": tiny_bundle.settings.model})
    (folder / "run.toml").write_text(to_toml(settings))
    tiny_bundle.tokenizers.save(folder / "tokenizers")
    pairs = [(tiny_bundle.tokenizers.source.encode(text),) * 2 for text in ("a b c", "d e", "f")]
    size = tiny_bundle.tokenizers.source.vocabulary_size
    write_store(folder / "stores" / "valid", iter(pairs), vocabulary_size=size, fingerprint="x")
    for step in STEPS:
        model = fresh_model(tiny_bundle)
        save_checkpoint(folder / "checkpoints", model, make_optimiser(model, settings.training), Progress(step=step))
    return folder


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    return model_weights(load_bundle(folder).model)


def checkpoint(run: Path, step: int) -> Path:
    return run / "checkpoints" / f"step-{step:08d}"


def by_hand(run: Path, *steps: int) -> dict[str, torch.Tensor]:
    members = [load_weights(checkpoint(run, step)) for step in steps]
    return {name: torch.stack([one[name].double() for one in members]).mean(0) for name in members[0]}


def test_mean_by_hand(call: Call, run_folder: Path, tmp_path: Path):
    cases = {
        "all": ((run_folder,), STEPS),
        "last": ((run_folder, "--last", "2"), STEPS[-2:]),
        "one": ((checkpoint(run_folder, 20),), (20,)),
        "named": ((checkpoint(run_folder, 10), checkpoint(run_folder, 30)), (10, 30)),
    }
    for name, (arguments, steps) in cases.items():
        result = call("average", *arguments, "--out", tmp_path / name)
        assert result.code == 0, result.err
        expected, found = by_hand(run_folder, *steps), weights_of(tmp_path / name)
        assert found.keys() == expected.keys()
        assert all(torch.allclose(found[key].double(), expected[key], atol=1e-7) for key in found)
        assert result.err.count("averaging ") == len(steps) and "done: the translator is" in result.err


def test_result_is_a_whole_bundle(call: Call, run_folder: Path, tmp_path: Path):
    assert call("average", run_folder, "--out", tmp_path / "mean").code == 0
    bundle = load_bundle(tmp_path / "mean")
    assert [golden.source for golden in bundle.golden] == ["a b c", "d e", "f"]
    assert bundle.settings.decoding.beam == 2  # the run file's
    assert "Mean of 3 sets of weights" in bundle.card and "step-00000030" in bundle.card
    facts = json.loads(call("info", tmp_path / "mean", "--json").out)
    assert facts["golden"]["reproduced"] == 3


def test_bundles_have_a_mean_too(call: Call, tiny_bundle: Bundle, tmp_path: Path):
    for name, value in (("one", 0.25), ("two", 0.5)):
        model = fresh_model(tiny_bundle)
        for parameter in model.parameters():
            parameter.data.fill_(value)
        write_bundle(tmp_path / name, replace(tiny_bundle, model=model))
    assert call("average", tmp_path / "one", tmp_path / "two", "--out", tmp_path / "mean").code == 0
    assert all(torch.all(tensor == 0.375) for tensor in weights_of(tmp_path / "mean").values())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"feedforward_width": 32}, "is 16 x 32 there and 16 x 24 here"),
        ({"decoder_layers": 2}, "there and missing here"),
    ],
)
def test_other_shapes_and_names_are_refused(
    call: Call, bundle_folder: Path, tiny_bundle: Bundle, tmp_path: Path, changes: dict[str, int], words: str
):
    settings = tiny_bundle.settings.model_copy(update={"model": tiny_bundle.settings.model.model_copy(update=changes)})
    model = fresh_model(tiny_bundle, **changes)
    write_bundle(tmp_path / "other", replace(tiny_bundle, settings=settings, model=model))
    result = call("average", bundle_folder, tmp_path / "other", "--out", tmp_path / "out")
    told(result, 4, "other cannot be averaged with", "they are different models", words)
    assert not (tmp_path / "out").exists()


def test_other_vocabularies_are_refused(call: Call, bundle_folder: Path, tiny_bundle: Bundle, tmp_path: Path):
    """Of the same size, even: the numbers mean other pieces."""
    size = tiny_bundle.tokenizers.source.vocabulary_size
    lines = [f"{a}{b} {b}{a}{c}" for a in "uvwxyz" for b in "opqrst" for c in "klmn"]
    other = train_pair(lines, lines, TextSettings(vocabulary_size=max(size, 300)))
    sizes = other.source.vocabulary_size, other.target.vocabulary_size
    model = build_model(tiny_bundle.settings.model, *sizes)
    write_bundle(tmp_path / "other", replace(tiny_bundle, tokenizers=other, model=model))
    result = call("average", bundle_folder, tmp_path / "other", "--out", tmp_path / "out")
    told(result, 4, "other: its vocabulary is another than that of", "the same number is the same piece")


def test_what_cannot_be_averaged(call: Call, run_folder: Path, tmp_path: Path):
    out = ("--out", tmp_path / "out")
    told(call("average", tmp_path / "nothing", *out), 4, "nothing: no such folder", "RUN/checkpoints")
    told(call("average", tmp_path, *out), 4, "neither a run, nor a checkpoint, nor a bundle")
    told(call("average", run_folder, "--last", "4", *out), 2, "--last 4: ", "has 3 checkpoints", "--last 3")
    told(call("average", run_folder, "--out", run_folder), 2, "--out is a folder with other things in it")
    told(call("average", run_folder, "--out", run_folder / "run.toml"), 2, "--out is a file")
    for path in (run_folder / "checkpoints").iterdir():
        (path / "weights.safetensors").write_bytes(b"x")
    told(call("average", run_folder, *out), 4, "weights.safetensors is damaged")
    (run_folder / "run.toml").unlink()
    told(call("average", run_folder, *out), 4, "has lost its run.toml")
    assert not (tmp_path / "out").exists()


def test_run_without_checkpoints(call: Call, tmp_path: Path):
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    told(call("average", tmp_path / "run", "--out", tmp_path / "out"), 4, "this run has no checkpoint yet")
