"""Bundles live on: one of each version is kept here and replayed for ever, and older forms are brought to today's.

`bundles/version-1` was trained by openwork 0.1.0 on the corpus copy with the recipe of that name at width 24, 2 heads,
feed-forward width 48 and 300 pieces. Its golden examples also hold sources unlike any that it has learnt, since of what
it knows by heart every probability is 1. These files are never written again.
"""

import json
from pathlib import Path

import pytest

from bundles.kept import FOLDER, NEWEST
from openwork.base.errors import BundleError
from openwork.base.files import sha256_file
from openwork.bundles import folder as bundle_folder
from openwork.bundles.bundle import load_bundle
from openwork.bundles.folder import Contents, migrated, whole_bundle
from openwork.inference.filters.tokenize import find_tokenizer
from openwork.inference.golden import replay_golden
from openwork.inference.translator import BatchTranslator
from openwork.text.pair import TokenizerPair

KEPT = sorted(FOLDER.iterdir())


def write_old(folder: Path, contents: Contents, version: int) -> Path:
    """A bundle of a version that never was."""
    folder.mkdir()
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    sums = {name: sha256_file(folder / name) for name in contents}
    manifest = {"format": bundle_folder.FORMAT, "version": version, "openwork": "0.0.1", "sha256": sums}
    (folder / bundle_folder.MANIFEST).write_text(json.dumps(manifest))
    return folder


def files() -> Contents:
    """The kept bundle's, without its manifest."""
    return {path.name: path.read_bytes() for path in NEWEST.iterdir() if path.name != bundle_folder.MANIFEST}


def version_0() -> Contents:
    """As the made-up version 0 had it: another name of the settings, golden examples as lists, no card."""
    contents = files()
    contents["settings.toml"] = contents.pop("config.toml")
    golden = [list(example.values()) for example in json.loads(contents["golden.json"])]
    contents["golden.json"] = json.dumps(golden).encode()
    del contents["card.md"]
    return contents


def from_0(contents: Contents) -> Contents:
    names = ("source", "translation", "log_probability")
    golden = [dict(zip(names, values, strict=True)) for values in json.loads(contents["golden.json"])]
    kept = {name: content for name, content in contents.items() if name != "settings.toml"}
    return kept | {
        "config.toml": contents["settings.toml"],
        "golden.json": json.dumps(golden).encode(),
        "card.md": b"",
    }


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
    assert sorted(bundle_folder.MIGRATIONS) == list(range(1, bundle_folder.VERSION))


@pytest.mark.slow
def test_an_older_bundle_is_brought_to_todays_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(bundle_folder.MIGRATIONS, 0, from_0)
    old = write_old(tmp_path / "old", version_0(), 0)
    before = {path.name: path.read_bytes() for path in old.iterdir()}
    bundle, today = load_bundle(old), load_bundle(NEWEST)
    assert (bundle.settings, bundle.golden, bundle.card) == (today.settings, today.golden, "")
    assert replay_golden(bundle) == []
    assert find_tokenizer(old, None, "target").fingerprint == TokenizerPair.load(NEWEST).target.fingerprint
    assert {path.name: path.read_bytes() for path in old.iterdir()} == before


def test_versions_are_passed_through_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bundle_folder, "VERSION", 3)
    for number in range(3):
        monkeypatch.setitem(bundle_folder.MIGRATIONS, number, lambda c, n=number: {"log": c["log"] + b" %d" % n})
    assert migrated({"log": b"from"}, 0, tmp_path) == {"log": b"from 0 1 2"}
    assert migrated({"log": b"from"}, 2, tmp_path) == {"log": b"from 2"}


def test_todays_bundle_is_read_where_it_lies():
    assert whole_bundle(NEWEST) == NEWEST


def test_a_damaged_old_bundle_is_not_migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(bundle_folder.MIGRATIONS, 0, lambda contents: pytest.fail("it was read"))
    old = write_old(tmp_path / "old", version_0(), 0)
    (old / "settings.toml").write_text("")
    with pytest.raises(BundleError, match=r"settings\.toml is damaged or was changed"):
        load_bundle(old)


def test_a_bundle_without_a_way_to_today_is_refused(tmp_path: Path):
    old = write_old(tmp_path / "old", version_0(), 0)
    with pytest.raises(BundleError, match="written in bundle version 0, which this openwork can no longer read"):
        load_bundle(old)


def test_a_newer_bundle_is_refused(tmp_path: Path):
    newer = write_old(tmp_path / "newer", files(), bundle_folder.VERSION + 1)
    with pytest.raises(BundleError, match=f"this openwork reads up to {bundle_folder.VERSION}"):
        load_bundle(newer)
