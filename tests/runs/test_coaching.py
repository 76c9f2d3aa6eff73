"""What a real training hears from the coach: nothing while it is healthy, and the name of each planted fault."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from openwork.runs.assembly import new_model
from openwork.runs.corpus import prepare_corpus
from openwork.runs.folder import RunFolder
from openwork.runs.probe import LearningProbe, attention_figures, frequency_entropy
from openwork.runs.train import train_bundle
from openwork.training.symptoms import SYMPTOMS
from runs.test_coach import RECURRENT, TRANSFORMER, answer_seen, dead_padding, settings_of, spaces_lost

pytestmark = pytest.mark.slow

Patch = pytest.MonkeyPatch
TRAINING = {
    "schedule": "inverse-square-root", "learning_rate": 0.01, "warmup": 50, "steps": 400, "validate_every": 100,
    "validation_sentences": 20, "metric": "loss", "average": 1, "log_every": 100, "precision": "float32", "workers": 1,
}  # fmt: skip
RUN: dict[str, Any] = {"batches": {"tokens": 256}, "model": {**TRANSFORMER, "dropout": 0.0}}


def heard(folder: Path, training: dict[str, Any], **sections: Any) -> list[str]:
    """The names of the symptoms that a training reported, in their order."""
    lines: list[str] = []
    settings = settings_of(
        {"corpus": "copy", "count": 2000}, **{**RUN, **sections, "training": {**TRAINING, **training}}
    )
    train_bundle(settings, folder / "run", lines.append)
    names = {title: name for name, (_, title, *_) in SYMPTOMS.items()}
    return [name for line in lines if line.startswith("coach,") for title, name in names.items() if title in line]


@pytest.mark.slow
def test_a_healthy_training_hears_nothing(tmp_path: Path) -> None:
    assert heard(tmp_path, {}) == []


@pytest.mark.slow
def test_a_high_rate_without_warm_up_is_named(tmp_path: Path) -> None:
    told = heard(tmp_path, {"learning_rate": 0.3, "warmup": 1, "schedule": "constant", "steps": 350})
    assert "too-fast" in told and set(told) <= {"too-fast", "exploded", "vanished", "clipped", "uniform"}


@pytest.mark.slow
def test_targets_that_nobody_shifted_are_named(tmp_path: Path, monkeypatch: Patch) -> None:
    answer_seen(monkeypatch)
    assert heard(tmp_path, {"steps": 100, "validate_every": 50}) == ["gap"]


@pytest.mark.parametrize(("plant", "name"), [(spaces_lost, "tokenizer"), (dead_padding, "padding")])
def test_faults_that_the_first_validation_shows(
    tmp_path: Path, monkeypatch: Patch, plant: Callable[[Patch], None], name: str
) -> None:
    plant(monkeypatch)
    assert heard(tmp_path, {"steps": 20, "warmup": 5, "validate_every": 10}) == [name]


@pytest.mark.parametrize("model", [TRANSFORMER, RECURRENT], ids=["transformer", "recurrent"])
def test_a_look_changes_nothing(tmp_path: Path, model: dict[str, Any]) -> None:
    settings = settings_of(model=model)
    folder = RunFolder(tmp_path / "run")
    with folder.locked(settings):
        pass
    corpus = prepare_corpus(settings, folder, lambda line: None)
    fresh = new_model(settings, corpus.tokenizers)
    probe = LearningProbe(fresh, corpus.tokenizers, corpus.valid, corpus.valid_pairs)
    state = torch.get_rng_state()
    sight = probe.look()
    assert torch.equal(state, torch.get_rng_state()) and probe.look() == sight
    assert 0.5 < sight.entropy <= 1.0 + 1e-6 and sight.on_padding == 0.0
    assert sight.forced < 50 and sight.kept == pytest.approx(100.0)
    assert all(weight.grad is None for weight in fresh.parameters())
    # without texts to translate, what the store has is what is compared with
    assert LearningProbe(fresh, corpus.tokenizers, corpus.valid, []).look().kept == pytest.approx(100.0)
    ids = np.concatenate([[*corpus.train.pair(row)[1], 3] for row in range(len(corpus.train))])
    shares = np.unique(ids, return_counts=True)[1] / len(ids)
    assert frequency_entropy(corpus.train) == pytest.approx(-(shares * np.log(shares)).sum())


def test_figures_of_attention_by_hand() -> None:
    """Two sentences of 2 and 4 source tokens, one head, one target token each."""
    weights = torch.tensor([[[[0.5, 0.5, 0.0, 0.0]]], [[[1.0, 0.0, 0.0, 0.0]]]])
    lengths, real = torch.tensor([2, 4]), torch.tensor([0, 1])
    assert attention_figures(weights, lengths, real) == (pytest.approx(0.5), 0.0)
    weights[0, 0, 0] = torch.tensor([0.25, 0.25, 0.25, 0.25])
    assert attention_figures(weights, lengths, real) == (pytest.approx(1.0), pytest.approx(0.25))
    assert attention_figures(weights, torch.tensor([1, 4]), real)[0] == 0.0  # a single key tells nothing
