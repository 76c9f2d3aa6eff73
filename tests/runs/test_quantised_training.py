"""Fine-tuning with rounded weights: its bundle, its figures, what is resumed and what the command says."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from journeys.command import Finished
from openwork.base.config import Layer
from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.bundles.settings import BundleSettings
from openwork.checks.check import Status
from openwork.checks.verify import verify
from openwork.data.corpora.synthetic import copy
from openwork.decoding.settings import DecodingSettings
from openwork.models.build import build_model
from openwork.models.settings import TransformerSettings
from openwork.models.weights import model_weights, read_tensors, restore_weights
from openwork.runs.average import average_bundles
from openwork.runs.file.inheritance import inherit
from openwork.runs.file.resolve import resolve_run
from openwork.runs.finish import TrainingResult, finish_run
from openwork.runs.pruning.magnitude import with_largest
from openwork.runs.quantise import quantise_bundle
from openwork.runs.train import train_bundle
from openwork.text.pair import train_pair
from openwork.text.settings import TextSettings
from openwork.training.loop import Observer
from runs.stopped import Leave

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]
TRAINING = {
    "schedule": "constant", "learning_rate": 0.01, "warmup": 1, "steps": 6, "validate_every": 3, "average": 2,
    "validation_sentences": 8, "metric": "loss", "precision": "float32",
}  # fmt: skip


@pytest.fixture(scope="module")
def whole_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its matrices have rows of 32 numbers or more, as four bits want them."""
    pairs = list(copy("train", 200))
    tokenizers = train_pair([p.source for p in pairs], [p.target for p in pairs], TextSettings(vocabulary_size=300))
    settings = TransformerSettings(width=32, heads=2, feedforward_width=64, encoder_layers=1, decoder_layers=1)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = build_model(settings, *tokenizers.sizes).eval()
    chosen = BundleSettings(model=settings, decoding=DecodingSettings(beam=1, maximum_length=8))
    folder = tmp_path_factory.mktemp("whole") / "bundle"
    write_bundle(folder, Bundle(chosen, tokenizers, model, card="# small\n"))
    return folder


def trained(
    bundle: Path, out: Path, *watchers: Observer, fine_tuning: dict[str, object] | None = None, **training: object
) -> tuple[TrainingResult, list[str]]:
    """The result, and what was said."""
    said: list[str] = []
    mapping = {
        "data": {"corpus": "reverse", "count": 60},
        "batches": {"tokens": 128},
        "training": {**TRAINING, **training},
        "fine_tuning": {"from_bundle": str(bundle), "quantise": "int4", "frozen": ["encoder"], **(fine_tuning or {})},
    }
    return train_bundle(resolve_run(inherit(Layer(mapping))), out, said.append, watchers), said


def same_weights(one: Path, other: Path) -> bool:
    ours, theirs = (model_weights(load_bundle(path).model) for path in (one, other))
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_its_bundle_is_the_rounded_mean_of_its_checkpoints(whole_bundle: Path, tmp_path: Path) -> None:
    """Two ways, one answer: the bundle of the run, and its checkpoints averaged and quantised by hand."""
    result, said = trained(whole_bundle, tmp_path / "run")
    assert any("matrices rounded to int4" in line for line in said)
    names = read_tensors(tmp_path / "run/bundle/weights.safetensors")
    assert sum(name.endswith(".int4") for name in names) > 10 and not any(name.endswith(".int8") for name in names)
    assert result.chosen is not None
    by_hand = []
    for last in (1, 2):  # the candidates
        average_bundles([tmp_path / "run"], last, tmp_path / f"mean-{last}", lambda line: None)
        quantise_bundle(tmp_path / f"mean-{last}", "int4", tmp_path / f"small-{last}", lambda line: None)
        by_hand.append(same_weights(tmp_path / "run", tmp_path / f"small-{last}"))
        assert not same_weights(tmp_path / "run", tmp_path / f"mean-{last}")
    assert any(by_hand)
    outcomes = verify(tmp_path / "run/bundle")
    assert [(one.name, one.reason) for one in outcomes if one.status is Status.FAILED] == []


def test_its_figures_are_those_of_its_bundle(whole_bundle: Path, tmp_path: Path) -> None:
    """A training that goes on from the bundle without moving it finds the loss that the first one reported."""
    result, _ = trained(whole_bundle, tmp_path / "run")
    again, _ = trained(tmp_path / "run", tmp_path / "again", learning_rate=1e-30)
    assert result.chosen is not None and again.chosen is not None
    assert again.chosen.loss == pytest.approx(result.chosen.loss, abs=1e-4)
    assert again.chosen.bleu == pytest.approx(result.chosen.bleu)
    plain = {**TRAINING, "learning_rate": 1e-30}
    mapping = {"data": {"corpus": "reverse", "count": 60}, "batches": {"tokens": 128}, "training": plain}
    untuned = Layer({**mapping, "fine_tuning": {"from_bundle": str(tmp_path / "run")}})
    unrounded = train_bundle(resolve_run(inherit(untuned)), tmp_path / "plain", lambda line: None)
    assert unrounded.chosen is not None
    assert unrounded.chosen.loss == pytest.approx(result.chosen.loss, abs=1e-4)  # of weights that are rounded already


@pytest.mark.parametrize("changes", [{}, {"precision": "bfloat16", "workers": 2}, {"ema": 0.5}], ids=str)
def test_resumed_is_as_undisturbed(changes: dict[str, object], whole_bundle: Path, tmp_path: Path) -> None:
    trained(whole_bundle, tmp_path / "whole", **changes)
    trained(whole_bundle, tmp_path / "torn", Leave(4), **changes)
    _, said = trained(whole_bundle, tmp_path / "torn", **changes)
    assert any("continuing after update 4" in line for line in said)
    assert same_weights(tmp_path / "whole", tmp_path / "torn")
    last = [sorted((tmp_path / name / "checkpoints").iterdir())[-1] for name in ("whole", "torn")]
    unrounded, resumed = (read_tensors(path / "weights.safetensors") for path in last)
    assert all(torch.equal(unrounded[name], resumed[name]) for name in unrounded)


def test_a_run_that_is_finished_early_has_a_rounded_bundle_too(whole_bundle: Path, tmp_path: Path) -> None:
    trained(whole_bundle, tmp_path / "run", Leave(4))
    finish_run(tmp_path / "run", lambda line: None)
    assert any(name.endswith(".int4") for name in read_tensors(tmp_path / "run/bundle/weights.safetensors"))


def test_zeros_that_stay_are_zeros_of_four_bits_too(whole_bundle: Path, tmp_path: Path) -> None:
    pruned = load_bundle(whole_bundle)
    restore_weights(pruned.model, with_largest(model_weights(pruned.model), 0.5), "here")
    write_bundle(tmp_path / "sparse", pruned)
    trained(tmp_path / "sparse", tmp_path / "run", fine_tuning={"keep_zeros": True})
    names = read_tensors(tmp_path / "run/bundle/weights.safetensors")
    assert any(".int4" in name for name in names)
    after = model_weights(load_bundle(tmp_path / "run").model)
    for name, weight in model_weights(pruned.model).items():
        assert weight.dim() < 2 or not after[name][weight == 0].any(), name


def test_on_the_command_line(call: Call, whole_bundle: Path, tmp_path: Path) -> None:
    small = ["data.count=60", "training.steps=4", "training.validate_every=4", "fine_tuning.quantise=int4"]
    words = [word for assignment in small for word in ("--set", assignment)]
    done = call("train", "--from-bundle", whole_bundle, "--corpus", "reverse", "--out", tmp_path / "o", *words)
    assert done.code == 0 and "matrices rounded to int4" in done.err, done.err
    assert 'quantise = "int4"' in (tmp_path / "o/run.toml").read_text()
    wrong = call("train", "--from-bundle", whole_bundle, "--corpus", "reverse", "--out", tmp_path / "p",
                 "--set", "fine_tuning.quantise=int3")  # fmt: skip
    assert wrong.code == 3 and "fine_tuning.quantise" in wrong.err, wrong.err
