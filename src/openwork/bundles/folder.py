"""The bundle's folder: its files and their checksums, and finding it. No torch here.

bundle.json            format and version, the checksum of every other file
config.toml            model and decoding settings, languages
tokenizer.json         or source.tokenizer.json and target.tokenizer.json
weights.safetensors    names, shapes, numbers
golden.json            a few sources with the translations that the bundle gave when it was written
card.md                a description: training data and scores
"""

import json
import os
from pathlib import Path
from typing import Any

from openwork import __version__
from openwork.base.errors import BundleError
from openwork.base.files import sha256_file
from openwork.base.outputs import TOKENIZERS, is_checkpoint
from openwork.base.regular_files import is_within, read_regular, sha256_regular, unreadable

FORMAT = "openwork bundle"
VERSION = 1
MANIFEST, CONFIG, WEIGHTS, GOLDEN, CARD = (
    "bundle.json", "config.toml", "weights.safetensors", "golden.json", "card.md",
)  # fmt: skip
MOST_BYTES: dict[str, int] = {
    MANIFEST: 1 << 20,
    CONFIG: 4 << 20,
    WEIGHTS: 1 << 36,
    GOLDEN: 64 << 20,
    CARD: 16 << 20,
    **dict.fromkeys(TOKENIZERS, 256 << 20),
}
"""All files that a bundle may have, and the largest size of each, far above real ones."""


def write_manifest(folder: Path) -> None:
    """Writes the manifest of a folder that has all other files."""
    sums = {path.name: sha256_file(path) for path in sorted(folder.iterdir())}
    manifest = {"format": FORMAT, "version": VERSION, "openwork": __version__, "sha256": sums}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def read_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(read_regular(folder / MANIFEST, MOST_BYTES[MANIFEST]).decode("utf-8"))
        kind, version, sums = manifest["format"], manifest["version"], manifest["sha256"]
        if kind != FORMAT or not isinstance(sums, dict) or not isinstance(version, int):
            raise ValueError(f"its format is {kind!r}")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BundleError(
            f"{folder}: not an openwork bundle",
            why=f"{MANIFEST} is damaged or another kind of file",
            hint="name a folder that openwork train --out wrote, or copy it again",
            code="B043",
        ) from error
    if version > VERSION:
        raise BundleError(
            f"{folder}: written in bundle version {version}, this openwork reads up to {VERSION}",
            hint=f"use openwork {manifest.get('openwork', 'of a newer version')} or newer",
            code="B044",
        )
    if version < VERSION:
        raise BundleError(
            f"{folder}: written in bundle version {version}, which this openwork can no longer read",
            hint="translate with the openwork that wrote it, or train again",
            code="B047",
        )
    return manifest


def check_files(folder: Path, manifest: dict[str, Any]) -> None:
    """BundleError unless the folder has exactly the files that the manifest lists."""
    sums: dict[str, str] = manifest["sha256"]
    for name in sorted({CONFIG, WEIGHTS, GOLDEN, CARD} | sums.keys()):
        path = folder / name
        if name != Path(name).name or not is_within(path, folder):
            raise BundleError(
                f"{folder}: {name} leads out of the bundle",
                why="a bundle consists of the files in its folder",
                hint="copy the file itself into the folder, if you trust it",
                code="B063",
            )
        if name not in MOST_BYTES:
            raise BundleError(
                f"{folder}: {MANIFEST} lists a file that no bundle has: {name[:80]}",
                why=f"a bundle has {', '.join(MOST_BYTES)}",
                hint="copy the whole folder again, and trust no other copy",
                code="B071",
            )
        if sums.get(name) != _checksum(folder, name):
            raise BundleError(
                f"{folder}: {name} is damaged or was changed",
                why="its checksum is not the one that was written with it",
                hint="copy the whole folder again",
                code="B046",
            )
    for name in TOKENIZERS:
        if name not in sums and os.path.lexists(folder / name):
            raise BundleError(
                f"{folder}: {name} is not listed in {MANIFEST}",
                why="without a checksum it may belong to other weights",
                hint="copy the whole folder again, or remove the file if you have put it there",
                code="B072",
            )


def _checksum(folder: Path, name: str) -> str:
    """The checksum of a file. BundleError if it is missing, no regular file or too large."""
    try:
        return sha256_regular(folder / name, MOST_BYTES[name])
    except FileNotFoundError as error:
        raise BundleError(f"{folder}: {name} is missing", hint="copy the whole folder again", code="B045") from error
    except OSError as error:  # such as a name that is too long, or a file without permission
        raise unreadable(folder / name, error) from error


def find_bundle(path: Path) -> Path:
    """The bundle's folder: `path` itself, or the `bundle` folder of a run; BundleError if there is none."""
    check_bundle(path)
    if (path / MANIFEST).is_file():
        return path
    if has_bundle(path):
        return path / "bundle"
    raise BundleError(f"{path}: this run has no bundle yet", hint=f"write one: openwork finish {path}", code="B042")


def has_bundle(path: Path) -> bool:
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


def whole_bundle(path: Path) -> Path:
    """The folder of the bundle at `path`, checked. BundleError if it is damaged, or of another version."""
    folder = find_bundle(path)
    check_files(folder, read_manifest(folder))
    return folder
