"""Checkpoints: whole or refused. Each damage is passed over with a reason, and an earlier one is used."""

import contextlib
import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from openwork.base.errors import BundleError, OpenworkError
from openwork.models.weights import model_weights
from openwork.training import checkpoint
from openwork.training.checkpoint import (
    checkpoint_step,
    checkpoints,
    load_checkpoint,
    load_weights,
    remove_checkpoint,
    resume_latest,
)
from openwork.training.optimisers import optimiser_tensors, restore_optimiser
from openwork.training.progress import Progress, Validation
from training.tiny import SETTINGS, Training, make_store, make_training, save_checkpoint, validation


@pytest.fixture
def trained(tmp_path: Path) -> tuple[Training, Progress]:
    training, progress = make_training(make_store(tmp_path / "store")), Progress()
    training.go(SETTINGS.model_copy(update={"steps": 3}), progress)
    return training, progress


def fresh(tmp_path: Path) -> Training:
    return make_training(make_store(tmp_path / "store"), SETTINGS.model_copy(update={"seed": 99}))


def same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_the_optimiser_state_goes_out_and_back(tmp_path: Path, trained: tuple[Training, Progress]) -> None:
    training, _ = trained
    tensors = optimiser_tensors(training.model, training.optimiser)
    names = {name for name, _ in training.model.named_parameters()}
    assert tensors.keys() == {f"{name}/{key}" for name in names for key in ("step", "exp_avg", "exp_avg_sq")}
    other = fresh(tmp_path)
    other.go(SETTINGS.model_copy(update={"steps": 1}), Progress())  # a state of its own, which must go
    restore_optimiser(other.model, other.optimiser, tensors)
    assert same(optimiser_tensors(other.model, other.optimiser), tensors)
    part = dict(list(tensors.items())[:3])
    restore_optimiser(other.model, other.optimiser, part)
    assert same(optimiser_tensors(other.model, other.optimiser), part)  # nothing older is left
    # copies, not the same memory
    other.optimiser.state[next(other.model.parameters())]["step"].add_(1)
    assert same(optimiser_tensors(training.model, training.optimiser), tensors)


def test_a_checkpoint_gives_back_everything(tmp_path: Path, trained: tuple[Training, Progress]) -> None:
    training, progress = trained
    progress.validations += [
        Validation(2, 1.25, float("inf"), 30.5, 0.5, 1.5, ("日期", "b\u2028", "c\n")),
        Validation(3, 0.1 + 0.2, 2.0),
    ]
    path = save_checkpoint(tmp_path / "c", training.model, training.optimiser, progress)
    assert path.name == "step-00000003" and checkpoint_step(path) == 3 and checkpoints(tmp_path / "c") == [path]
    assert sorted(p.name for p in (tmp_path / "c").iterdir()) == [path.name]  # nothing half-made beside it
    other = fresh(tmp_path)
    assert load_checkpoint(path, other.model, other.optimiser) == progress
    assert same(model_weights(other.model), model_weights(training.model))
    assert same(load_weights(path), model_weights(training.model))
    assert same(optimiser_tensors(other.model, other.optimiser), optimiser_tensors(training.model, training.optimiser))


def test_a_folder_without_checkpoints_resumes_nothing(tmp_path: Path) -> None:
    training = fresh(tmp_path)
    assert resume_latest(tmp_path / "none", training.model, training.optimiser) is None
    (tmp_path / "c" / "step-x").mkdir(parents=True)
    (tmp_path / "c" / ".step-00000003.77.partial").mkdir()
    assert resume_latest(tmp_path / "c", training.model, training.optimiser) is None


def flip(place: float) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[int(place * (len(data) - 1))] ^= 1
        path.write_bytes(data)

    return damage


def halve(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "gone": Path.unlink,
    "empty": lambda path: os.truncate(path, 0),
    "half": halve,
    "first bit": flip(0),
    "middle bit": flip(0.5),
    "last bit": flip(1),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("name", ["weights.safetensors", "optimiser.safetensors", "state.json"])
def test_a_damaged_one_is_passed_over_with_a_reason(
    tmp_path: Path, trained: tuple[Training, Progress], name: str, damage: Callable[[Path], None]
) -> None:
    training, progress = trained
    folder = tmp_path / "c"
    good = save_checkpoint(folder, training.model, training.optimiser, progress)
    weights = {key: value.clone() for key, value in model_weights(training.model).items()}
    place = Progress(**vars(progress))
    training.go(SETTINGS.model_copy(update={"steps": 5}), progress)
    bad = save_checkpoint(folder, training.model, training.optimiser, progress)
    damage(bad / name)

    other = fresh(tmp_path)
    resumed = resume_latest(folder, other.model, other.optimiser)
    assert resumed is not None and resumed.path == good and resumed.progress == place
    assert same(model_weights(other.model), weights)
    (error,) = resumed.damaged
    assert str(bad) in error.what and name in error.what + error.why and error.hint

    damage(good / name)
    with pytest.raises(BundleError, match="step-00000005"):
        resume_latest(folder, other.model, other.optimiser)


@pytest.mark.slow
def test_no_bit_of_the_place_can_change_unnoticed(tmp_path: Path, trained: tuple[Training, Progress]) -> None:
    training, progress = trained
    path = save_checkpoint(tmp_path / "c", training.model, training.optimiser, progress)
    state = path / "state.json"
    data = state.read_bytes()
    other = fresh(tmp_path)
    for place in range(0, len(data), 7):
        for bit in (0, 3, 6):
            changed = bytearray(data)
            changed[place] ^= 1 << bit
            state.write_bytes(changed)
            with contextlib.suppress(BundleError):
                # a changed blank is no harm: what was read is what was written
                assert load_checkpoint(path, other.model, other.optimiser) == progress


def test_another_format_is_told(tmp_path: Path, trained: tuple[Training, Progress]) -> None:
    training, progress = trained
    path = save_checkpoint(tmp_path / "c", training.model, training.optimiser, progress)
    state = json.loads((path / "state.json").read_text())
    (path / "state.json").write_text(json.dumps({**state, "format": 99}))
    with pytest.raises(BundleError, match="format 99, this version reads 1"):
        load_weights(path)


def test_a_full_disk_leaves_what_was_there(
    tmp_path: Path, trained: tuple[Training, Progress], monkeypatch: pytest.MonkeyPatch
) -> None:
    training, progress = trained
    path = save_checkpoint(tmp_path / "c", training.model, training.optimiser, progress)
    before = {name.name: name.read_bytes() for name in path.iterdir()}

    def full(self: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", str(self))

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.Path, "write_bytes", full)
        with pytest.raises(OpenworkError, match="the disk is full"):
            save_checkpoint(tmp_path / "c", training.model, training.optimiser, progress)
    assert {name.name: name.read_bytes() for name in path.iterdir()} == before
    assert checkpoints(tmp_path / "c") == [path] and len(list((tmp_path / "c").iterdir())) == 1


def test_a_removed_one_is_gone(tmp_path: Path, trained: tuple[Training, Progress]) -> None:
    training, progress = trained
    path = save_checkpoint(tmp_path / "c", training.model, training.optimiser, progress)
    remove_checkpoint(path)
    assert not path.exists()
    remove_checkpoint(path)  # twice is no error


def test_what_others_put_into_a_checkpoint_stays(tmp_path: Path, trained: tuple[Training, Progress]) -> None:
    training, progress = trained
    path = save_checkpoint(tmp_path / "c", training.model, training.optimiser, progress)
    (path / "thesis.tex").write_text("years")
    assert save_checkpoint(tmp_path / "c", training.model, training.optimiser, progress) == path
    assert checkpoints(tmp_path / "c") == [path]
    remove_checkpoint(path)
    assert [inner.name for inner in path.iterdir()] == ["thesis.tex"] and checkpoints(tmp_path / "c") == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["step-²", "step-٣", "step-", "step-1.old", "step--1"])
def test_a_stray_folder_is_no_checkpoint(tmp_path: Path, trained: tuple[Training, Progress], name: str) -> None:
    training, progress = trained
    path = save_checkpoint(tmp_path, training.model, training.optimiser, progress)
    path.with_name(name).mkdir()
    (path.with_name(name) / "state.json").touch()
    assert checkpoints(tmp_path) == [path]


def test_the_best_of_a_run() -> None:
    progress = Progress(validations=[validation(1, 3.0), validation(2, 1.0), validation(3, 1.0), validation(4, 2.0)])
    best = progress.best("loss")
    assert best is not None and best.step == 2 and progress.since_best("loss") == 2
    assert Progress().best("loss") is None and Progress().since_best("loss") == 0
    scored = Progress(validations=[validation(1, bleu=10.0, exact=0.5), validation(2, bleu=9.0, exact=0.75)])
    assert scored.since_best("bleu") == 1 and scored.since_best("exact") == 0
    with pytest.raises(ValueError, match="no bleu"):
        progress.best("bleu")
