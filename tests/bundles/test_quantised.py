"""Weights in fewer bits: by hand, within their bounds, as files of bundles; what is damaged is refused."""

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import openwork
from journeys.command import openwork as command
from journeys.command import told
from openwork.base.errors import BundleError
from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.bundles.folder import WEIGHTS
from openwork.bundles.quantised import EIGHT, FOUR, GROUP, StoredType, restored, stored
from openwork.checks.check import Status
from openwork.checks.verify import verify
from openwork.inference.translator import BatchTranslator
from openwork.models.weights import model_weights, read_tensors, tensors_to_bytes
from openwork.runs.average import average_bundles
from openwork.runs.quantise import quantise_bundle

KINDS: tuple[StoredType, ...] = ("bfloat16", "int8", "int4")


def matrix(rows: int, columns: int, seed: int = 0) -> Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


def test_eight_bits_by_hand() -> None:
    """Each row has the scale that makes its largest number 127."""
    weight = torch.tensor([[1.27, -0.634, 0.0], [-254.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    found = stored({"w": weight, "b": torch.tensor([0.3])}, "int8")
    assert found["w.int8"].tolist() == [[127, -63, 0], [-127, 1, 2], [0, 0, 0]]  # 63.4; 1.5 rounds to even
    assert found["w.scale"].flatten().tolist() == pytest.approx([0.01, 2.0, 1.0])
    again = restored(found, "here")
    assert again["w"].flatten().tolist() == pytest.approx([1.27, -0.63, 0, -254, 2, 4, 0, 0, 0])
    assert again["b"].tolist() == pytest.approx([0.3]) and set(again) == {"w", "b"}


def test_four_bits_by_hand() -> None:
    """Two numbers a byte, the earlier one in the low half, 8 added to each."""
    row = torch.tensor([7.0, -7.0, 0.0, 3.0] + [1.0] * 28)
    found = stored({"w": row[None]}, "int4")
    assert found["w.int4"].dtype == torch.uint8 and found["w.int4"].shape == (1, GROUP // 2)
    assert found["w.int4"][0, :3].tolist() == [15 | 1 << 4, 8 | 11 << 4, 9 | 9 << 4]
    assert found["w.scale"].tolist() == [[1.0]]
    assert torch.equal(restored(found, "here")["w"], row[None])


def test_what_is_no_matrix_stays_and_odd_widths_take_eight_bits() -> None:
    weights = {
        "b": torch.ones(64),
        "odd": matrix(3, 20),
        "conv": torch.randn(4, 6, 3),
        "facts": torch.arange(6).view(2, 3),
    }
    found = stored(weights, "int4")
    assert set(found) == {"b", "odd.int8", "odd.scale", "conv.int8", "conv.scale", "facts"}
    again = restored(found, "here")
    assert {name: tensor.shape for name, tensor in again.items()} == {name: one.shape for name, one in weights.items()}
    assert torch.equal(again["facts"], weights["facts"])


def test_weights_too_large_for_a_scale_of_16_bits_take_eight_bits() -> None:
    weight = matrix(2, 32) * 1e7
    found = stored({"w": weight}, "int4")
    assert set(found) == {"w.int8", "w.scale"}
    torch.testing.assert_close(restored(found, "here")["w"], weight, rtol=0, atol=float(weight.abs().max()) / 250)


@given(st.integers(1, 5), st.integers(1, 3), st.integers(0, 1000), st.sampled_from([1e-30, 1e-6, 1.0, 1e4]))
def test_what_is_read_is_within_half_a_step(rows: int, groups: int, seed: int, size: float) -> None:
    weight = matrix(rows, groups * GROUP, seed) * size
    eight, four, half = (
        restored(stored({"w": weight}, kind), "here")["w"].float() for kind in ("int8", "int4", "bfloat16")
    )
    largest = weight.abs().amax(dim=1, keepdim=True)
    assert bool(((weight - eight).abs() <= largest / EIGHT * 0.5001).all())
    assert bool(((weight - half).abs() <= weight.abs() / 128).all())
    if size >= 1e-3:  # a scale of 4 bits is a number of 16
        of_groups = weight.unflatten(1, (-1, GROUP))
        scale = of_groups.abs().amax(dim=2, keepdim=True) / FOUR
        plain = ((of_groups / scale).round() * scale).flatten(1)
        assert float((weight - four).square().sum()) <= float((weight - plain).square().sum()) * 1.01 + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_rounded_already_stays(kind: StoredType) -> None:
    once = restored(stored({"w": matrix(6, 64)}, kind), "here")["w"].float()
    again = restored(stored({"w": once}, kind), "here")["w"].float()
    torch.testing.assert_close(again, once, rtol=2e-3 if kind == "int4" else 1e-6, atol=1e-6)


def damaged(tensors: dict[str, Tensor]) -> list[dict[str, Tensor]]:
    scale, [numbers] = tensors["w.scale"], [name for name in tensors if not name.endswith("scale")]
    return [
        {numbers: tensors[numbers]},
        {**tensors, "w.scale": scale[:-1]},
        {**tensors, "w.scale": scale * torch.nan},
        {**tensors, "w.scale": scale.to(torch.int32)},
        {**tensors, numbers: tensors[numbers].to(torch.int16)},
        {**tensors, numbers: tensors[numbers].flatten()},
    ]


@pytest.mark.parametrize("kind", ["int8", "int4"])
def test_numbers_without_their_scales_are_refused(kind: StoredType) -> None:
    for wrong in damaged(stored({"w": matrix(4, 64)}, kind)):
        with pytest.raises(BundleError) as refused:
            restored(wrong, "here")
        assert refused.value.code == "B081"


@pytest.mark.parametrize("kind", KINDS)
def test_a_bundle_is_what_its_file_stands_for(kind: StoredType, tiny_bundle: Bundle, tmp_path: Path) -> None:
    """Two ways, one answer: the file, and the model in memory with rounded weights. Its weights change no more."""
    write_bundle(tmp_path / "whole", tiny_bundle)
    said: list[str] = []
    quantise_bundle(tmp_path / "whole", kind, tmp_path / "small", said.append)
    assert len(said) == 2 + bool(tiny_bundle.golden)
    small = load_bundle(tmp_path / "small")
    expected = restored(stored(model_weights(tiny_bundle.model), kind), "here")
    for name, weight in model_weights(small.model).items():
        assert weight.dtype == torch.float32 and torch.equal(weight, expected[name].float())
    write_bundle(tmp_path / "again", small)
    again = load_bundle(tmp_path / "again")
    assert BatchTranslator.of(again).best(["a b c", "c"]) == BatchTranslator.of(small).best(["a b c", "c"])
    sizes = {one: (tmp_path / one / WEIGHTS).stat().st_size for one in ("small", "whole")}
    assert sizes["whole"] > {"bfloat16": 1.5, "int8": 2, "int4": 2.2}[kind] * sizes["small"]
    failed = [
        [one.name for one in verify(tmp_path / name) if one.status is Status.FAILED] for name in ("small", "whole")
    ]
    assert failed[0] == failed[1]  # it has learnt nothing, and half the precision may change what it says
    average_bundles([tmp_path / "small"], None, tmp_path / "mean", lambda line: None)
    assert torch.equal(
        next(iter(model_weights(load_bundle(tmp_path / "mean").model).values())),
        next(iter(model_weights(small.model).values())),
    )


@pytest.mark.slow
def test_on_the_command_line(tiny_bundle: Bundle, tmp_path: Path) -> None:
    write_bundle(tmp_path / "whole", tiny_bundle)
    made = command("quantise", tmp_path / "whole", "--to", "int4", "--out", tmp_path / "small")
    assert made.code == 0 and "times smaller" in made.err and "root mean square" in made.err, made.err
    translator: Any = openwork.load(tmp_path / "small")
    assert translator.translate("a b c").text
    card = (tmp_path / "small" / "card.md").read_text("utf-8")
    assert "## Weights in int4" in card
    tensors = read_tensors(tmp_path / "small" / WEIGHTS)
    first = next(name for name in tensors if name.endswith(".scale"))
    del tensors[first]
    (tmp_path / "small" / WEIGHTS).write_bytes(tensors_to_bytes(tensors))
    told(command("info", tmp_path / "small"), 4, "small")  # a changed file is refused before it is read
