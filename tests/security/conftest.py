"""A bundle on disk, and a file that would do something if it were unpickled."""

import os
import pickle
from pathlib import Path

import pytest

from interop.small_bundles import small_bundle
from openwork.bundles.bundle import write_bundle


@pytest.fixture
def bundle_folder(tmp_path: Path) -> Path:
    write_bundle(tmp_path / "bundle", small_bundle(encoder_layers=1, decoder_layers=1))
    return tmp_path / "bundle"


class Trap:
    """Unpickling it makes a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


@pytest.fixture
def trap(tmp_path: Path) -> tuple[bytes, Path]:
    """A pickle, and the folder that there would be; it works, as is seen here."""
    tried = tmp_path / "tried"
    pickle.loads(pickle.dumps(Trap(tried)))
    assert tried.is_dir()
    return pickle.dumps(Trap(tmp_path / "sprung")), tmp_path / "sprung"
