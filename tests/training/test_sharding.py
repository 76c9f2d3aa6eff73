"""Weights and moments that are divided between processes: who has which, and what cannot be divided."""

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from distributed.scripted import Scripted
from openwork.base.errors import BundleError, ConfigError, OpenworkError
from openwork.machine.processes import ALONE, Processes
from openwork.models.build import build_model
from openwork.models.families import ModelSettings
from openwork.training.checkpoint import load_checkpoint, load_weights, tensors_of, write_divided
from openwork.training.computing.choice import working_copy
from openwork.training.computing.sharding import divided
from openwork.training.computing.working_copy import WorkingCopy
from openwork.training.progress import Progress
from training.tiny import (
    BATCH_NORMALISED,
    MODEL,
    RECURRENT,
    SETTINGS,
    VOCABULARY,
    make_store,
    make_training,
    save_checkpoint,
)


def model_of(settings: ModelSettings) -> Any:
    return build_model(settings, VOCABULARY, VOCABULARY)


@given(st.lists(st.integers(1, 1000), max_size=30), st.integers(1, 6))
def test_every_weight_has_one_owner_and_shares_are_alike(sizes: list[int], count: int) -> None:
    groups = divided(sizes, count)
    assert sorted(place for group in groups for place in group) == list(range(len(sizes)))
    sums = [sum(sizes[place] for place in group) for group in groups]
    assert max(sums) - min(sums) <= max(sizes, default=0)  # the largest first, each into the smallest group


@pytest.mark.slow
def test_rounded_weights_and_the_divided_ones_of_a_matrix_do_not_go_together() -> None:
    settings = SETTINGS.model_copy(update={"sharding": "full"})
    with pytest.raises(ConfigError, match="does not go with this training") as error:
        working_copy(model_of(MODEL), settings, "float32", Scripted(), lambda weight: weight)
    assert error.value.code == "C111" and "fine_tuning.quantise rounds whole rows" in error.value.why


def test_one_process_has_nothing_to_divide() -> None:
    for sharding in ("none", "optimiser", "full"):
        settings = SETTINGS.model_copy(update={"sharding": sharding})
        copy = working_copy(model_of(MODEL), settings, "float32", ALONE)
        assert type(copy) is WorkingCopy and not copy.divides


@pytest.mark.slow
def test_more_processes_than_weights_cannot_share_an_optimiser() -> None:
    settings = SETTINGS.model_copy(update={"sharding": "optimiser"})
    with pytest.raises(ConfigError, match="5000 processes cannot share") as error:
        working_copy(model_of(MODEL), settings, "float32", Scripted(count=5000))
    assert error.value.code == "C110"


@pytest.mark.parametrize(
    ("model", "changes", "why"),
    [
        (RECURRENT, {}, "only Transformers"),
        (BATCH_NORMALISED, {}, "batch normalisation"),
        (MODEL, {"optimiser": "adafactor"}, "adafactor"),
        (MODEL, {"optimiser": "muon"}, "muon"),
    ],
)
def test_what_cannot_be_divided_is_refused(model: ModelSettings, changes: dict[str, Any], why: str) -> None:
    settings = SETTINGS.model_copy(update={"sharding": "full", **changes})
    with pytest.raises(ConfigError, match="does not go with this training") as error:
        working_copy(model_of(model), settings, "float32", Scripted())
    assert error.value.code == "C111" and why in error.value.why


class InStep(WorkingCopy):
    """Computes as all others do, and has too little memory."""

    in_step = True

    def gradients(self, loss: Any, learning: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")


def test_a_share_that_does_not_fit_in_step_ends_the_training(tmp_path: Path) -> None:
    training = make_training(make_store(tmp_path / "store"))
    training.updater.copy = InStep(training.model, "float32")
    with pytest.raises(OpenworkError, match="process 0 of 1 has not enough memory for its share") as error:
        training.updater.update([training.stream.next(Progress())], 1)
    assert error.value.code == "E037"


# What one process writes is read by one as well: the form is that of several.


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Processes:
    """The one process of a group of one, so that torch's own code runs."""
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{tmp_path / 'meeting'}", rank=0, world_size=1)
    monkeypatch.setattr(pytest, "_group", None, raising=False)
    return ALONE


@pytest.fixture(autouse=True)
def _no_group_stays() -> Any:
    import torch.distributed as dist

    yield
    if dist.is_initialized():
        dist.destroy_process_group()


def trained(tmp_path: Path) -> Any:
    training = make_training(make_store(tmp_path / "store"))
    training.go(SETTINGS.model_copy(update={"steps": 3}), Progress())
    return training


@pytest.mark.slow
def test_divided_and_whole_checkpoints_hold_the_same(tmp_path: Path, alone: Processes) -> None:
    training, progress = trained(tmp_path), Progress(step=3, epoch=1, batch=2)
    whole = save_checkpoint(tmp_path / "whole", training.model, training.optimiser, progress)
    parts = tmp_path / "parts" / "step-00000003"
    parts.parent.mkdir()
    write_divided(parts, tensors_of(training.model, training.optimiser), progress.to_json(), alone)
    one, other = load_weights(whole), load_weights(parts)
    assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
    again = make_training(make_store(tmp_path / "store again"))
    assert load_checkpoint(parts, again.model, again.optimiser) == progress
    before, after = (tensors_of(each.model, each.optimiser) for each in (training, again))
    for file, content in before.items():
        assert content.keys() == after[file].keys()
        assert all(torch.equal(content[name], after[file][name]) for name in content)


def test_damaged_parts_are_refused(tmp_path: Path, alone: Processes) -> None:
    training = trained(tmp_path)
    path = tmp_path / "step-00000003"
    write_divided(path, tensors_of(training.model, training.optimiser), Progress(step=3).to_json(), alone)
    shard = next(path.glob("shard-*"))
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(BundleError, match="is damaged"):
        load_weights(path)
    shard.write_bytes(whole)
    (path / "shard-00002-model-00001-of-00001.safetensors").write_bytes(whole)  # not of this checkpoint
    with pytest.raises(BundleError, match="not a complete checkpoint"):
        load_weights(path)


def test_parts_that_make_no_whole_are_refused(tmp_path: Path, alone: Processes) -> None:
    from openwork.training.shards import read_shards, shard_sizes

    training = trained(tmp_path)
    path = tmp_path / "step-00000003"
    write_divided(path, tensors_of(training.model, training.optimiser), Progress(step=3).to_json(), alone)
    shard = next(path.glob("shard-*"))
    shard.write_bytes(shard.read_bytes().replace(b'\\"saved_offsets\\": [0, 0]', b'\\"saved_offsets\\": [9, 0]'))
    with pytest.raises(BundleError, match="do not make a whole") as error:
        shard_sizes(path, "weights.safetensors")
    assert error.value.code == "B073" and "is missing" in error.value.why
    shard.write_bytes(b"nonsense")
    with pytest.raises(BundleError, match="do not make a whole"):
        read_shards(path, "weights.safetensors", lambda _: None)


def test_damage_that_another_process_finds_is_known_to_all(tmp_path: Path) -> None:
    training = trained(tmp_path)
    path = save_checkpoint(tmp_path / "c", training.model, training.optimiser, Progress(step=3))
    others = Scripted(heard=[None, "c/step-00000003: optimiser.safetensors is damaged"])
    with pytest.raises(BundleError, match="another process cannot read its part") as error:
        load_checkpoint(path, training.model, training.optimiser, processes=others)
    assert error.value.code == "B074" and "is damaged" in error.value.why
