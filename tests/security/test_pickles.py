"""A pickle where weights should be is refused, with its checksum too, and what is in it does not run."""

from pathlib import Path

import pytest

from fuzz.folders import _checkpoints, _trained, sign_bundle, sign_checkpoint
from interop.small_bundles import small_bundle
from openwork.base.errors import BundleError
from openwork.bundles.bundle import load_bundle
from openwork.interop.forms import bundle_from_hugging_face, write_hugging_face_folder
from openwork.training.checkpoint import load_checkpoint


def test_in_a_bundle(bundle_folder: Path, trap: tuple[bytes, Path]) -> None:
    (bundle_folder / "weights.safetensors").write_bytes(trap[0])
    sign_bundle(bundle_folder)
    with pytest.raises(BundleError, match="not a safetensors file"):
        load_bundle(bundle_folder)
    assert not trap[1].exists()


@pytest.mark.parametrize("name", ["weights.safetensors", "optimiser.safetensors"])
def test_in_a_checkpoint(tmp_path: Path, trap: tuple[bytes, Path], name: str) -> None:
    _checkpoints(tmp_path / "run")
    path = tmp_path / "run" / "step-00000002"
    (path / name).write_bytes(trap[0])
    sign_checkpoint(tmp_path / "run")
    with pytest.raises(BundleError, match="not a safetensors file"):
        load_checkpoint(path, *_trained())
    assert not trap[1].exists()


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.safetensors"])
def test_in_a_folder_of_hugging_face(tmp_path: Path, trap: tuple[bytes, Path], name: str) -> None:
    folder = tmp_path / "there"
    write_hugging_face_folder(folder, small_bundle())
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(trap[0])
    with pytest.raises(BundleError, match=r"not read|not a safetensors file"):
        bundle_from_hugging_face(folder)
    assert not trap[1].exists()
