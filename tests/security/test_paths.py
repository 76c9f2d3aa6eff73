"""Names and links in what strangers send lead nowhere but into their own folder."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from openwork.base.errors import BundleError, DataError
from openwork.bundles.bundle import load_bundle
from openwork.data.corpora.download import extract
from openwork.data.store import TokenStore, write_store


@pytest.mark.parametrize("name", ["../secret", "sub/../../secret", "{}/secret", "..", "a\0b"])
def test_a_manifest_that_names_files_elsewhere(bundle_folder: Path, name: str) -> None:
    secret = bundle_folder.parent / "secret"
    secret.write_bytes(b"secret")
    path = bundle_folder / "bundle.json"
    manifest = json.loads(path.read_text())
    manifest["sha256"][name.format(bundle_folder.parent)] = hashlib.sha256(b"secret").hexdigest()
    path.write_text(json.dumps(manifest))
    with pytest.raises(BundleError, match="leads out of the bundle"):
        load_bundle(bundle_folder)


def test_a_manifest_with_a_name_that_no_file_can_have(bundle_folder: Path) -> None:
    """Found by `make fuzz`: the system refuses to look for it."""
    path = bundle_folder / "bundle.json"
    manifest = json.loads(path.read_text())
    manifest["sha256"]["a" * 5000] = "0"
    path.write_text(json.dumps(manifest))
    with pytest.raises(BundleError, match="lists a file that no bundle has: aaa"):
        load_bundle(bundle_folder)


@pytest.mark.parametrize("name", ["card.md", "config.toml", "weights.safetensors"])
def test_a_link_out_of_the_bundle(bundle_folder: Path, name: str) -> None:
    outside = bundle_folder.parent / "outside"
    (bundle_folder / name).rename(outside)  # the same bytes, so that its checksum fits
    (bundle_folder / name).symlink_to(outside)
    with pytest.raises(BundleError, match="leads out of the bundle"):
        load_bundle(bundle_folder)


def test_a_link_to_the_bundle_itself_is_followed(bundle_folder: Path) -> None:
    (bundle_folder.parent / "name").symlink_to(bundle_folder)
    assert load_bundle(bundle_folder.parent / "name").card


@pytest.mark.parametrize("name", ["../secret", "more"])
def test_a_store_that_names_other_files(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "store"
    write_store(folder, [([5], [6])], vocabulary_size=9)
    for secret in (tmp_path / "secret", folder / "more"):
        secret.write_bytes(b"secret")
    header = json.loads((folder / "header.json").read_text())
    header["files"][name] = {"bytes": 6, "sha256": hashlib.sha256(b"secret").hexdigest()}
    (folder / "header.json").write_text(json.dumps(header))
    with pytest.raises(DataError, match="the token store is damaged"):
        TokenStore.open(folder)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE])
def test_links_and_devices_in_an_archive_are_not_followed(tmp_path: Path, kind: bytes) -> None:
    member = tarfile.TarInfo("in/x")
    member.type, member.linkname = kind, "/etc/passwd"
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as archive:
        archive.addfile(member, io.BytesIO())
    with pytest.raises(DataError):
        extract(tmp_path / "a.tgz", {"in/x": tmp_path / "out"})
    assert not (tmp_path / "out").exists()
