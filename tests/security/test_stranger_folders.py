"""One reader for the folders of strangers: regular files inside them alone, each with a checksum, none without end."""

import gzip
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzz.folders import _checkpoints, _evaluation, _store, sign_bundle
from interop.small_bundles import small_bundle
from openwork.base.errors import BundleError, ConfigError, DataError, OpenworkError
from openwork.base.outputs import BUNDLE
from openwork.base.regular_files import open_regular, read_regular
from openwork.bundles import folder as folders
from openwork.bundles.bundle import load_bundle, write_bundle
from openwork.bundles.folder import whole_bundle
from openwork.data.store import TokenStore
from openwork.evaluation.saved import read_evaluation
from openwork.interop.ctranslate2.reading import bundle_from_ctranslate2
from openwork.interop.ctranslate2.writing import write_ctranslate2
from openwork.interop.forms import bundle_from_hugging_face, export_model, write_hugging_face_folder
from openwork.models.weights import read_tensors
from openwork.runs.folder import RunFolder
from openwork.training.checkpoint import load_weights

FILES = ("bundle.json", "config.toml", "tokenizer.json", "weights.safetensors", "golden.json", "card.md")


def unlist(bundle: Path, name: str) -> None:
    """Takes a file out of the manifest's sums."""
    manifest = json.loads((bundle / "bundle.json").read_text())
    del manifest["sha256"][name]
    (bundle / "bundle.json").write_text(json.dumps(manifest))


def put_other(path: Path, kind: str) -> None:
    """A link to the same bytes elsewhere, one within the folder, a pipe, or a link to a device without end."""
    outside = path.parent.parent / "outside"
    path.rename(outside if kind == "link" else path.with_name("aside"))
    match kind:
        case "link":
            path.symlink_to(outside)
        case "link within":
            path.symlink_to("aside")
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")


@pytest.mark.parametrize("kind", ["link", "link within", "pipe", "device"])
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_regular_file_of_a_bundle(bundle_folder: Path, name: str, kind: str) -> None:
    put_other(bundle_folder / name, kind)
    with pytest.raises(BundleError, match=r"not a regular file|leads out of the bundle|not an openwork bundle"):
        whole_bundle(bundle_folder)


def test_a_tokenizer_without_a_checksum(bundle_folder: Path, tmp_path: Path) -> None:
    """It was accepted, whatever it held, and exported."""
    unlist(bundle_folder, "tokenizer.json")
    for read in (load_bundle, lambda path: export_model("ct2", path, tmp_path / "out")):
        with pytest.raises(BundleError, match=r"tokenizer\.json is not listed in bundle\.json"):
            read(bundle_folder)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("link", [True, False])
def test_a_second_tokenizer_without_a_checksum(bundle_folder: Path, link: bool) -> None:
    path = bundle_folder / "source.tokenizer.json"
    path.symlink_to("/dev/zero") if link else path.write_text("{}")
    with pytest.raises(BundleError, match=r"source\.tokenizer\.json is not listed"):
        load_bundle(bundle_folder)


def test_a_file_that_no_bundle_has(bundle_folder: Path) -> None:
    (bundle_folder / "more").write_text("more")
    assert load_bundle(bundle_folder).card  # what nothing reads does no harm
    manifest = json.loads((bundle_folder / "bundle.json").read_text())
    manifest["sha256"]["more"] = "0"
    (bundle_folder / "bundle.json").write_text(json.dumps(manifest))
    sign_bundle(bundle_folder)
    with pytest.raises(BundleError, match="lists a file that no bundle has: more"):
        load_bundle(bundle_folder)


@pytest.mark.slow
def test_all_that_is_written_is_on_the_list(tmp_path: Path) -> None:
    written = set()
    for shared in (True, False):
        write_bundle(tmp_path / "bundle", small_bundle(shared, tying="three-way" if shared else "none"))
        written |= {path.name for path in (tmp_path / "bundle").iterdir()}
        assert load_bundle(tmp_path / "bundle").card
    assert written == set(folders.MOST_BYTES) == set(BUNDLE.names)


@pytest.mark.parametrize("name", FILES)
def test_a_file_beyond_its_bound(bundle_folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(folders.MOST_BYTES, name, (bundle_folder / name).stat().st_size - 1)
    with pytest.raises(BundleError, match=r"too large for what it should hold|not an openwork bundle"):
        load_bundle(bundle_folder)


@pytest.mark.parametrize("base", ["../other.toml", "other.toml", r"\u0000", "x" * 5000, "/etc/passwd"])
def test_settings_of_a_bundle_with_a_base(bundle_folder: Path, base: str) -> None:
    """It was followed, whatever the manifest said."""
    for place in (bundle_folder, bundle_folder.parent):
        (place / "other.toml").write_text("[decoding]\nbeam = 1\n")
    path = bundle_folder / "config.toml"
    path.write_text(f'base = "{base}"\n{path.read_text()}')
    sign_bundle(bundle_folder)
    with pytest.raises(BundleError, match=r"its config\.toml is not understood") as refused:
        load_bundle(bundle_folder)
    assert "has no base" in refused.value.why or "holds a NUL character" in refused.value.why


def test_settings_of_a_run_with_a_base(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('base = "other.toml"\n')
    (tmp_path / "other.toml").write_text('[data]\ncorpus = "copy"\n')
    with pytest.raises(ConfigError, match="has no base"):
        RunFolder(tmp_path).read_settings()


# ------------------------------------------------------------------------------------------------------ other folders

READERS: dict[str, tuple[Callable[[Path], None], Callable[[Path], object], tuple[str, ...]]] = {
    "checkpoint": (
        _checkpoints, lambda folder: load_weights(folder / "step-00000002"),
        ("step-00000002/state.json", "step-00000002/weights.safetensors"),
    ),
    "evaluation": (_evaluation, read_evaluation, ("evaluation.json", "source.txt")),
    "token store": (_store, TokenStore.open, ("header.json", "source.tokens")),
    "Hugging Face": (
        lambda folder: write_hugging_face_folder(folder, small_bundle()), bundle_from_hugging_face,
        ("config.json", "model.safetensors", "tokenizer.json"),
    ),
    "CTranslate2": (
        lambda folder: write_ctranslate2(folder, small_bundle()), bundle_from_ctranslate2,
        ("config.json", "model.bin", "tokenizer.json", "shared_vocabulary.json"),
    ),
}  # fmt: skip
FAST = ("evaluation", "token store")
CASES = [
    pytest.param(reader, name, marks=() if reader in FAST else pytest.mark.slow)
    for reader, (_, _, names) in READERS.items()
    for name in names
]


@pytest.mark.parametrize("kind", ["link", "pipe", "device"])
@pytest.mark.parametrize(("reader", "name"), CASES)
def test_what_is_no_regular_file_of_another_folder(tmp_path: Path, reader: str, name: str, kind: str) -> None:
    make, read, _ = READERS[reader]
    make(tmp_path / "folder")
    assert read(tmp_path / "folder")
    put_other(tmp_path / "folder" / name, kind)
    with pytest.raises(OpenworkError):
        read(tmp_path / "folder")


@pytest.mark.slow
def test_the_links_of_hugging_faces_own_cache_are_followed(tmp_path: Path) -> None:
    snapshot = tmp_path / "models--x" / "snapshots" / "abc"
    blobs = tmp_path / "models--x" / "blobs"
    blobs.mkdir(parents=True)
    write_hugging_face_folder(snapshot, small_bundle())
    for number, path in enumerate(sorted(snapshot.iterdir())):
        path.rename(blobs / str(number))
        path.symlink_to(f"../../blobs/{number}")
    assert bundle_from_hugging_face(snapshot).card
    (snapshot / "more").symlink_to("../../../outside")
    (tmp_path / "outside").write_text("secret")
    with pytest.raises(BundleError, match="not a regular file"):
        bundle_from_hugging_face(snapshot)


def test_compressed_lines_of_an_evaluation(tmp_path: Path) -> None:
    """They would be unpacked, to any size."""
    _evaluation(tmp_path / "folder")
    data = gzip.compress(b"a\n")
    (tmp_path / "folder/source.txt").write_bytes(data)
    facts = json.loads((tmp_path / "folder/evaluation.json").read_text())
    facts["sha256"]["source.txt"] = hashlib.sha256(data).hexdigest()
    (tmp_path / "folder/evaluation.json").write_text(json.dumps(facts))
    with pytest.raises(DataError, match="damaged or changed"):
        read_evaluation(tmp_path / "folder")


def test_a_regular_file_is_opened_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    assert read_regular(tmp_path / "file", 3) == b"abc"
    with pytest.raises(BundleError, match="too large"):
        open_regular(tmp_path / "file", 2)
    for name in ("link", "pipe", "."):
        with pytest.raises(BundleError, match="not a regular file"):
            open_regular(tmp_path / name, 3)
    for name in ("none", "a\0b", "x" * 5000):
        with pytest.raises(OSError, match=r".+"):
            open_regular(tmp_path / name, 3)
    with pytest.raises(BundleError, match="not a regular file"):
        read_tensors(tmp_path / "pipe")
