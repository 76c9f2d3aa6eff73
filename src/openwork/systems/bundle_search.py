"""Finding the bundle that a path stands for: one itself, that of a run, or a checkpoint's. No torch here."""

from pathlib import Path

from openwork.base.errors import BundleError
from openwork.systems.bundle_folder import MANIFEST
from openwork.systems.outputs import is_checkpoint


def find_bundle(path: Path) -> Path:
    """The bundle's folder: `path` itself, or the `bundle` folder of a run.

    A run without a bundle and a checkpoint have none; what they hold is read from a bundle made for this process.
    """
    check_bundle(path)
    if (path / MANIFEST).is_file():
        return path
    if (path / "bundle" / MANIFEST).is_file():
        return path / "bundle"
    from openwork.systems.unfinished import bundle_of_checkpoint  # which needs torch

    return bundle_of_checkpoint(path)


def check_bundle(path: Path) -> None:
    """BundleError unless there is a bundle, a run or a checkpoint: what a command asks before it loads torch."""
    if any((path / inner / MANIFEST).is_file() for inner in ("", "bundle")):
        return
    if not path.exists():
        raise BundleError(f"{path}: no such folder", hint="--bundle takes the folder that openwork train --out wrote")
    if not ((path / "checkpoints").is_dir() or is_checkpoint(path)):
        what = "a folder" if path.is_dir() else "a file"
        raise BundleError(
            f"{path}: not an openwork bundle",
            why=f"{what} without {MANIFEST}",
            hint="--bundle takes the folder that openwork train --out wrote",
        )
