"""Weights as named tensors: averages, the safetensors form, and what does not fit."""

from pathlib import Path

import pytest
import torch
from torch import nn

from openwork.base.errors import BundleError
from openwork.machine import precision as module
from openwork.machine.precision import choose_precision, computing_in
from openwork.models.build import build_model
from openwork.models.weights import model_weights, read_tensors, restore_weights, tensors_to_bytes
from openwork.training.averaging import average
from training.tiny import MODEL, VOCABULARY


def test_the_mean_by_hand() -> None:
    found = average([{"a": torch.tensor([1.0, 4.0])}, {"a": torch.tensor([2.0, 0.0])}, {"a": torch.tensor([6.0, 2.0])}])
    assert found["a"].tolist() == [3.0, 2.0] and found["a"].dtype is torch.float32


def test_the_mean_of_one_is_itself_and_of_none_is_refused() -> None:
    one = {"a": torch.randn(5)}
    assert torch.equal(average([one])["a"], one["a"])
    with pytest.raises(ValueError, match="nothing to average"):
        average([])
    with pytest.raises(ValueError, match="different models"):
        average([one, {"b": torch.zeros(5)}])


def test_the_mean_is_summed_in_double_precision() -> None:
    # in single precision 2^24 + 1 is 2^24, and the first two ones would be lost
    found = average([{"a": torch.tensor([value])} for value in (2.0**24, 1.0, 1.0, 2.0)])
    assert found["a"].item() == 2**22 + 1


def test_weights_go_to_bytes_and_back(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, other = build_model(MODEL, VOCABULARY, VOCABULARY), build_model(MODEL, VOCABULARY, VOCABULARY)
    path = tmp_path / "weights.safetensors"
    path.write_bytes(tensors_to_bytes(model_weights(model)))
    assert len(read_tensors(path)) == len(list(model.parameters()))  # a shared matrix is there once
    restore_weights(other, read_tensors(path), str(path))
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))


def test_weights_that_do_not_fit_are_refused_and_change_nothing() -> None:
    model = nn.Linear(2, 3)
    before = {name: tensor.clone() for name, tensor in model_weights(model).items()}
    with pytest.raises(BundleError, match="another model") as refused:
        restore_weights(model, {"weight": torch.zeros(3, 2), "extra": torch.zeros(1)}, "x.safetensors")
    assert "missing: bias; unknown: extra" in refused.value.why and "x.safetensors" in refused.value.what
    with pytest.raises(BundleError, match="another model"):
        restore_weights(model, {**before, "extra": torch.zeros(1)}, "x")
    with pytest.raises(BundleError, match="other sizes"):
        restore_weights(model, {"weight": torch.zeros(3, 2), "bias": torch.zeros(4)}, "x")
    assert all(torch.equal(tensor, before[name]) for name, tensor in model_weights(model).items())


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-3], lambda data: data[:5], lambda data: b"", lambda data: b"x" * 99]
)
def test_damaged_files_are_refused(tmp_path: Path, damage) -> None:
    path = tmp_path / "w.safetensors"
    path.write_bytes(damage(tensors_to_bytes({"a": torch.ones(7)})))
    with pytest.raises(BundleError, match="damaged or not a safetensors file"):
        read_tensors(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="missing"):
        read_tensors(tmp_path / "none")
    with pytest.raises(BundleError, match="not a regular file"):
        read_tensors(tmp_path)


@pytest.mark.parametrize(("bfloat16", "chosen"), [(0.1, "bfloat16"), (1.0, "float32"), (2.0, "float32")])
def test_the_faster_type_is_chosen(bfloat16: float, chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {torch.float32: 1.0, torch.bfloat16: bfloat16}
    monkeypatch.setattr(module, "_seconds", lambda dtype, device: seconds[dtype])
    assert choose_precision("auto", torch.device("cpu")) == chosen


@pytest.mark.slow
def test_precision() -> None:
    cpu = torch.device("cpu")
    assert choose_precision("bfloat16", cpu) == "bfloat16" and choose_precision("float32", cpu) == "float32"
    assert choose_precision("auto", cpu) in ("float32", "bfloat16")
    x = torch.ones(2, 2)
    for precision, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16)):
        with computing_in(precision, cpu):
            assert (x @ x).dtype is dtype
