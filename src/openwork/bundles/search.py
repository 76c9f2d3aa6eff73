"""Search for the bundle at a path: a bundle itself, or that of a run. No torch here."""

from pathlib import Path

from openwork.base.errors import BundleError
from openwork.base.outputs import is_checkpoint
from openwork.bundles.folder import MANIFEST


def find_bundle(path: Path) -> Path:
    """The bundle's folder: `path` itself, or the `bundle` folder of a run; BundleError if there is none."""
    check_bundle(path)
    if (path / MANIFEST).is_file():
        return path
    if has_bundle(path):
        return path / "bundle"
    raise BundleError(f"{path}: this run has no bundle yet", hint=f"write one: openwork finish {path}", code="B042")


def has_bundle(path: Path) -> bool:
    """Whether `path` is a bundle, or a run that has one."""
    return any((path / inner / MANIFEST).is_file() for inner in ("", "bundle"))


def check_bundle(path: Path) -> None:
    """BundleError unless there is a bundle, a run or a checkpoint; commands check it before they load torch."""
    if has_bundle(path):
        return
    if not path.exists():
        raise BundleError(
            f"{path}: no such folder", hint="name the folder that openwork train --out wrote", code="B034"
        )
    if not ((path / "checkpoints").is_dir() or is_checkpoint(path)):
        what = "a folder" if path.is_dir() else "a file"
        raise BundleError(
            f"{path}: not an openwork bundle",
            why=f"{what} without {MANIFEST}",
            hint="name the folder that openwork train --out wrote",
            code="B043",
        )
