"""Folders that are no whole bundle: exit code 4, one sentence, and nothing in them is ever run."""

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from journeys.command import Finished, told
from openwork.base.files import sha256_file
from openwork.base.folders import atomic_folder
from openwork.bundles import bundle as bundles

Call = Callable[..., Finished]
FILES = ("config.toml", "weights.safetensors", "golden.json", "card.md", "tokenizer.json")


def translate(call: Call, folder: Path) -> Finished:
    return call("translate", "--bundle", folder, stdin=b"a b c\n")


def change_manifest(folder: Path, **changes: object) -> None:
    path = folder / "bundle.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def sign(folder: Path) -> None:
    """Makes the checksums those of the files, as one would who means ill."""
    names = [path.name for path in folder.iterdir() if path.name != "bundle.json"]
    change_manifest(folder, sha256={name: sha256_file(folder / name) for name in names})


def test_whole_bundle_translates(call: Call, bundle_folder: Path):
    result = translate(call, bundle_folder)
    assert (result.code, len(result.lines), result.err) == (0, 1, "")


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_missing_file(call: Call, bundle_folder: Path, name: str):
    (bundle_folder / name).unlink()
    told(translate(call, bundle_folder), 4, f"{name} is missing", "copy the whole folder again")


@pytest.mark.parametrize("name", FILES)
def test_one_flipped_bit(call: Call, bundle_folder: Path, name: str):
    data = bytearray((bundle_folder / name).read_bytes())
    data[len(data) // 2] ^= 1
    (bundle_folder / name).write_bytes(data)
    told(translate(call, bundle_folder), 4, f"{name} is damaged or was changed", "checksum")


@pytest.mark.parametrize("name", FILES)
def test_file_cut_in_half(call: Call, bundle_folder: Path, name: str):
    data = (bundle_folder / name).read_bytes()
    (bundle_folder / name).write_bytes(data[: len(data) // 2])
    told(translate(call, bundle_folder), 4, f"{name} is damaged or was changed")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"format": "other", "version": 1, "sha256": {}}'])
def test_damaged_or_foreign_manifest(call: Call, bundle_folder: Path, content: str):
    (bundle_folder / "bundle.json").write_text(content)
    told(translate(call, bundle_folder), 4, "not an openwork bundle")


def test_newer_version(call: Call, bundle_folder: Path):
    change_manifest(bundle_folder, version=99, openwork="7.1")
    told(translate(call, bundle_folder), 4, "written in bundle version 99", "use openwork 7.1 or newer")


class Trap:
    """Unpickling it would make a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize("signed", [False, True], ids=["as found", "with its checksum"])
def test_pickle_posing_as_weights_is_never_run(call: Call, bundle_folder: Path, tmp_path: Path, signed: bool):
    sprung = tmp_path / "sprung"
    (bundle_folder / "weights.safetensors").write_bytes(pickle.dumps(Trap(sprung)))
    if signed:
        sign(bundle_folder)
    told(translate(call, bundle_folder), 4, "weights.safetensors", "damaged")
    assert not sprung.exists()
    pickle.loads((bundle_folder / "weights.safetensors").read_bytes())
    assert sprung.exists()  # the trap works; it was the bundle's reader that left it alone


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.toml", "[model]\nkind = 'transformer'\nwidth = 8\n"),
        ("config.toml", "[model]\nkind = 'perceptron'\n"),
        ("config.toml", "[["),
        ("golden.json", "[{}]"),
        ("golden.json", "7"),
        ("tokenizer.json", "{}"),
        ("card.md", b"\xff"),
    ],
)
def test_parts_that_do_not_fit_though_their_checksums_do(call: Call, bundle_folder: Path, name: str, content):
    (bundle_folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    sign(bundle_folder)
    told(translate(call, bundle_folder), 4)


def test_foreign_folder_a_file_and_nothing(call: Call, tmp_path: Path):
    told(
        translate(call, tmp_path),
        4,
        "not an openwork bundle",
        "without bundle.json",
        "name the folder that openwork train",
    )
    (tmp_path / "file").touch()
    told(translate(call, tmp_path / "file"), 4, "a file without bundle.json")
    told(translate(call, tmp_path / "none"), 4, "no such folder")


@pytest.mark.parametrize("command", ["evaluate", "tokenize"])
def test_the_other_commands_refuse_it_too(call: Call, tmp_path: Path, command: str):
    corpus = ("--corpus", "copy") if command == "evaluate" else ()
    told(call(command, "--bundle", tmp_path, *corpus), 4, "not an openwork bundle")
    told(call("info", tmp_path), 4, "not an openwork bundle")


def test_tokenizing_checks_the_bundle_too(call: Call, bundle_folder: Path):
    change_manifest(bundle_folder, version=99)
    told(call("tokenize", "--bundle", bundle_folder, stdin=b"a\n"), 4, "written in bundle version 99")


@pytest.mark.slow
def test_a_bundle_that_is_never_the_same_twice(call: Call, bundle_folder: Path, monkeypatch: pytest.MonkeyPatch):
    """Each reading ends with another bundle under the name: nobody can say which one was read."""
    read = bundles._read_bundle

    def and_replace(folder: Path) -> bundles.Bundle:
        found = read(folder)
        with atomic_folder(folder) as partial:
            shutil.copytree(folder, partial, dirs_exist_ok=True)
        return found

    monkeypatch.setattr(bundles, "_read_bundle", and_replace)
    told(call("translate", "--bundle", bundle_folder), 4, "replaced again and again", "wait until it is written")
