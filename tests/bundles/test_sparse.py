"""Matrices with many zeros in a bundle's file: by hand, back whatever they hold, smaller, refused when damaged."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from openwork.base.errors import BundleError
from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.bundles.folder import WEIGHTS
from openwork.bundles.quantised import StoredType, restored, stored
from openwork.bundles.sparse import SPARSEST, packed, unpacked
from openwork.models.weights import model_weights, restore_weights
from openwork.runs.pruning.magnitude import with_largest


def test_bits_and_numbers_by_hand() -> None:
    matrix = torch.tensor([[0.0, 1.5, 0, 0, 0, 0, 0, -2], [0, 0, 0, 0, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0, 0, 0]])
    found = packed({"w": matrix, "b": torch.zeros(8)})
    assert found["w.mask"].tolist() == [[0b01000001], [0], [0b10000000]]
    assert found["w.kept"].tolist() == [1.5, -2, 3]
    assert set(found) == {"w.mask", "w.kept", "b"}  # a vector stays
    assert torch.equal(unpacked(found, "here")["w"], matrix)


@given(
    rows=st.integers(1, 5),
    columns=st.sampled_from([3, 8, 16, 40]),
    share=st.floats(0, 1),
    kind=st.sampled_from([torch.float32, torch.bfloat16, torch.int8]),
    seed=st.integers(0, 100),
)
def test_whatever_a_matrix_holds_comes_back(
    rows: int, columns: int, share: float, kind: torch.dtype, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    matrix = torch.randint(-100, 100, (rows, 2, columns), generator=generator)
    matrix = (matrix * (torch.rand(matrix.shape, generator=generator) < share)).to(kind)
    found = packed({"w": matrix, "other": torch.ones(3, 3)})
    assert sum(one.numel() * one.element_size() for one in found.values()) <= matrix.nbytes + 36
    again = unpacked(found, "here")
    assert set(again) == {"w", "other"} and again["w"].dtype == kind and torch.equal(again["w"], matrix)


def test_a_file_takes_little_more_memory_than_it_has_bytes() -> None:
    """Of almost nothing but zeros a matrix is stored as it is, and what says otherwise is refused."""
    matrix = torch.zeros(8, 64)
    matrix[0, 0] = 1
    assert set(packed({"w": matrix})) == {"w"}
    made = {"w.mask": torch.tensor([[128] + [0] * 63], dtype=torch.uint8), "w.kept": torch.ones(1)}
    assert 8 * made["w.mask"].numel() > SPARSEST
    with pytest.raises(BundleError, match="w is damaged"):
        unpacked(made, "here")


MASK, KEPT = torch.tensor([[192]], dtype=torch.uint8), torch.tensor([1.0, 2.0])


@pytest.mark.parametrize(
    "tensors",
    [
        {"w.mask": MASK},
        {"w.mask": MASK, "w.kept": KEPT[:1]},
        {"w.mask": MASK, "w.kept": torch.ones(3)},
        {"w.mask": MASK, "w.kept": KEPT[None]},
        {"w.mask": MASK[0], "w.kept": KEPT},
        {"w.mask": MASK.float(), "w.kept": KEPT},
    ],
    ids=["no numbers", "too few", "too many", "of another form", "bits of another form", "no bits"],
)
def test_damaged_tensors_are_refused(tensors: dict[str, Tensor]) -> None:
    assert torch.equal(unpacked({"w.mask": MASK, "w.kept": KEPT}, "here")["w"][0, :3], torch.tensor([1.0, 2, 0]))
    with pytest.raises(BundleError, match="here: w is damaged"):
        unpacked(tensors, "here")


@pytest.mark.parametrize("kind", [None, "bfloat16", "int8", "int4"])
def test_a_bundle_of_many_zeros_is_smaller_and_the_same(
    kind: StoredType | None, tiny_bundle: Bundle, tmp_path: Path
) -> None:
    write_bundle(tmp_path / "dense", tiny_bundle, kind)
    weights = with_largest(model_weights(tiny_bundle.model), 0.3)
    model = load_bundle(tmp_path / "dense").model
    restore_weights(model, weights, "here")
    write_bundle(tmp_path / "sparse", replace(tiny_bundle, model=model), kind)
    sizes = [(tmp_path / name / WEIGHTS).stat().st_size for name in ("sparse", "dense")]
    assert sizes[0] < (0.85 if kind != "int4" else 1.01) * sizes[1]
    again = model_weights(load_bundle(tmp_path / "sparse").model)
    wanted = restored(stored(weights, kind), "here") if kind else weights
    assert all(torch.equal(again[name].cpu(), wanted[name].to(again[name].dtype)) for name in wanted)
