"""Bundles of earlier versions: reading one converts it to the current version, step by step. No torch here.

A change of the format raises `folder.VERSION` by one, adds a line to `MIGRATIONS`, and keeps a bundle of the new
version in the tests, which replay it for ever.
"""

import atexit
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from openwork.base.errors import BundleError
from openwork.bundles.folder import VERSION, check_files, read_manifest
from openwork.bundles.search import find_bundle

Contents = dict[str, bytes]
"""The files of a bundle by name, without its manifest."""

MIGRATIONS: dict[int, Callable[[Contents], Contents]] = {}
"""A version -> the function that converts its contents to the next version."""


def whole_bundle(path: Path) -> Path:
    """The folder of the bundle at `path`, checked and in the current version.

    An older bundle is converted into a temporary copy that lasts as long as the process; the bundle itself does not
    change. BundleError if it is damaged, newer than this openwork, or too old for it.
    """
    folder = find_bundle(path)
    manifest = read_manifest(folder)
    check_files(folder, manifest)
    version: int = manifest["version"]
    if version == VERSION:
        return folder
    contents = {name: (folder / Path(name).name).read_bytes() for name in manifest["sha256"]}
    return _written(migrated(contents, version, folder))


def migrated(contents: Contents, version: int, folder: Path) -> Contents:
    """The contents of a bundle, converted from this version to the current one; errors name `folder`."""
    for number in range(version, VERSION):
        if number not in MIGRATIONS:
            raise BundleError(
                f"{folder}: written in bundle version {version}, which this openwork can no longer read",
                hint="translate with the openwork that wrote it, or train again",
                code="B047",
            )
        contents = MIGRATIONS[number](contents)
    return contents


def _written(contents: Contents) -> Path:
    place = Path(tempfile.mkdtemp(prefix="openwork-bundle-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    for name, content in contents.items():
        (place / Path(name).name).write_bytes(content)
    return place
