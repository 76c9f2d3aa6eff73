"""The bundle's folder: finding it, and checking that it is whole. No torch here.

bundle.json            format and version, the checksum of every other file
config.toml            model and decoding settings, languages
tokenizer.json         or source.tokenizer.json and target.tokenizer.json
weights.safetensors    names, shapes, numbers
golden.json            a few sources with the translations they gave when the bundle was written
card.md                what it is, what it was trained on, how it scored
"""

import json
from pathlib import Path
from typing import Any

from openwork.base.errors import BundleError
from openwork.base.files import sha256_file

FORMAT = "openwork bundle"
VERSION = 1
MANIFEST, CONFIG, WEIGHTS, GOLDEN, CARD = (
    "bundle.json", "config.toml", "weights.safetensors", "golden.json", "card.md",
)  # fmt: skip


def find_bundle(path: Path) -> Path:
    """The bundle's folder: `path` itself, or the `bundle` folder of a run."""
    if (path / MANIFEST).is_file():
        return path
    if (path / "bundle" / MANIFEST).is_file():
        return path / "bundle"
    if not path.exists():
        raise BundleError(f"{path}: no such folder", hint="--bundle takes the folder that openwork train --out wrote")
    if (path / "checkpoints").is_dir():
        raise BundleError(
            f"{path}: this run has no bundle yet",
            why="its training has not finished",
            hint="run the same openwork train command again: it continues and writes the bundle",
        )
    what = "a folder" if path.is_dir() else "a file"
    raise BundleError(
        f"{path}: not an openwork bundle",
        why=f"{what} without {MANIFEST}",
        hint="--bundle takes the folder that openwork train --out wrote",
    )


def read_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        kind, version, sums = manifest["format"], manifest["version"], manifest["sha256"]
        if kind != FORMAT or not isinstance(sums, dict) or not isinstance(version, int):
            raise ValueError(f"its format is {kind!r}")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BundleError(
            f"{folder}: not an openwork bundle",
            why=f"{MANIFEST} is damaged or foreign",
            hint="name a folder that openwork train --out wrote, or copy it again",
        ) from error
    if version > VERSION:
        raise BundleError(
            f"{folder}: written in bundle version {version}, this openwork reads up to {VERSION}",
            hint=f"install openwork {manifest.get('openwork', 'of a newer version')} or newer",
        )
    return manifest


def check_files(folder: Path, manifest: dict[str, Any]) -> None:
    sums: dict[str, str] = manifest["sha256"]
    needed = {CONFIG, WEIGHTS, GOLDEN, CARD} if manifest["version"] == VERSION else set()  # older ones had others
    for name in sorted(needed | sums.keys()):
        path = folder / name
        if name != Path(name).name or not is_within(path, folder):
            raise BundleError(
                f"{folder}: {name} leads out of the bundle",
                why="a bundle consists of the files in its folder",
                hint="copy the file itself into the folder, if you trust it",
            )
        if not _is_file(path):
            raise BundleError(f"{folder}: {name} is missing", hint="copy the whole folder again")
        if sums.get(name) != sha256_file(path):
            raise BundleError(
                f"{folder}: {name} is damaged or was changed",
                why="its checksum is not the one that was written with it",
                hint="copy the whole folder again",
            )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is longer than any file's can be
        return False


def is_within(path: Path, folder: Path) -> bool:
    """Whether a path, links followed, lies in the folder."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # links in a circle, a name with NUL
        return False
