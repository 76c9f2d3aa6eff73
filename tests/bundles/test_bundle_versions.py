"""Bundles live on: one of each version is kept here and replayed for ever.

`bundles/version-1` was trained by openwork 0.1.0 on the corpus copy with the recipe of that name at width 24, 2 heads,
feed-forward width 48 and 300 pieces. Its golden examples also hold sources unlike any that it has learnt, since of what
it knows by heart every probability is 1. These files are never written again.
"""

import json
import shutil
from pathlib import Path

import pytest

from bundles.kept import FOLDER, NEWEST
from openwork.base.errors import BundleError
from openwork.base.files import sha256_file
from openwork.bundles import folder as bundle_folder
from openwork.bundles.bundle import load_bundle
from openwork.bundles.folder import whole_bundle
from openwork.inference.golden import replay_golden
from openwork.inference.translator import BatchTranslator

KEPT = sorted(FOLDER.iterdir())


def write_version(folder: Path, version: int) -> Path:
    """The kept bundle's files as of a version that never was."""
    shutil.copytree(NEWEST, folder)
    sums = {path.name: sha256_file(path) for path in folder.iterdir() if path.name != bundle_folder.MANIFEST}
    manifest = {"format": bundle_folder.FORMAT, "version": version, "openwork": "0.0.1", "sha256": sums}
    (folder / bundle_folder.MANIFEST).write_text(json.dumps(manifest))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_a_kept_bundle_says_what_it_said(folder: Path):
    bundle = load_bundle(folder)
    assert len(bundle.golden) >= 5
    assert replay_golden(bundle) == []
    assert BatchTranslator.of(bundle).best(["a b c d e", "j i h"]) == ["a b c d e", "j i h"]


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_a_kept_bundle_is_small(folder: Path):
    assert sum(path.stat().st_size for path in folder.iterdir()) < 100_000


def test_one_of_every_version_is_kept():
    versions = [json.loads((folder / "bundle.json").read_text())["version"] for folder in KEPT]
    assert versions == list(range(1, bundle_folder.VERSION + 1))


def test_todays_bundle_is_read_where_it_lies():
    assert whole_bundle(NEWEST) == NEWEST


def test_a_bundle_of_an_older_version_is_refused(tmp_path: Path):
    old = write_version(tmp_path / "old", 0)
    with pytest.raises(BundleError, match="written in bundle version 0, which this openwork can no longer read"):
        load_bundle(old)


def test_a_newer_bundle_is_refused(tmp_path: Path):
    newer = write_version(tmp_path / "newer", bundle_folder.VERSION + 1)
    with pytest.raises(BundleError, match=f"this openwork reads up to {bundle_folder.VERSION}"):
        load_bundle(newer)
