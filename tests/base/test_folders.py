"""Folders: the old one or the new one, never half; and what others put there stays."""

import errno
import os
from pathlib import Path

import pytest

from journeys.command import tree
from openwork.base import folders
from openwork.base.errors import OpenworkError
from openwork.base.folders import atomic_folder, blocked_name, holds_only

OWN = ("mark", "weights", "left-out", "inner/part")


def write(path: Path, content: bytes, own: tuple[str, ...] = OWN) -> None:
    with atomic_folder(path, own) as new:
        (new / "inner").mkdir()
        for name in ("mark", "weights", "inner/part"):
            (new / name).write_bytes(content)


def whole(content: bytes) -> dict[str, bytes]:
    return dict.fromkeys(("mark", "weights", "inner/part"), content)


def put_strange_things(folder: Path) -> dict[str, bytes]:
    strange = {".ssh/id": b"key", "thesis.tex": b"years", "inner/notes": b"mine", "Weights": b"not those"}
    for name, content in strange.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    return strange


def test_a_folder_replaces_the_old_one_whole(tmp_path: Path) -> None:
    path = tmp_path / "bundle"
    for name in ("first", "second"):
        with atomic_folder(path, ("inner/first", "inner/second")) as new:
            (new / "inner").mkdir()
            (new / "inner" / name).touch()
            assert not (path / "inner" / name).exists()
    assert os.listdir(path / "inner") == ["second"]
    assert os.listdir(tmp_path) == ["bundle"]


def test_what_others_put_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "bundle"
    write(path, b"old")
    (path / "left-out").write_bytes(b"of an older version")
    strange = put_strange_things(path)
    (path / "link").symlink_to("thesis.tex")
    (path / "empty").mkdir()
    write(path, b"new")
    assert tree(path) == {**whole(b"new"), **strange, "link": b"years"}
    assert (path / "link").is_symlink() and (path / "empty").is_dir() and os.listdir(tmp_path) == ["bundle"]


def test_without_names_only_those_of_the_new_files_are_replaced(tmp_path: Path) -> None:
    write(tmp_path / "bundle", b"old", ())
    (tmp_path / "bundle/left-out").write_bytes(b"perhaps mine")
    write(tmp_path / "bundle", b"new", ())
    assert tree(tmp_path / "bundle") == {**whole(b"new"), "left-out": b"perhaps mine"}


@pytest.mark.parametrize("where", [".", "inner"])
def test_a_folder_in_which_one_stands_stays_the_same_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    path = tmp_path / "bundle"
    (path / where).mkdir(parents=True, exist_ok=True)
    before = path.stat().st_ino
    monkeypatch.chdir(path / where)
    for content in (b"old", b"new"):
        write(path, content)
        assert path.stat().st_ino == before and tree(path) == whole(content)
    assert os.path.samefile(path / where, ".")


def test_a_link_under_an_own_name_leads_nowhere(tmp_path: Path) -> None:
    """Files of a folder behind a link are not replaced, and a link to a file goes without its file."""
    elsewhere, path = tmp_path / "elsewhere", tmp_path / "bundle"
    elsewhere.mkdir()
    path.mkdir()
    (elsewhere / "part").write_bytes(b"mine")
    (path / "weights").symlink_to(elsewhere / "part")
    (path / "thesis.tex").write_bytes(b"years")
    write(path, b"new")
    assert tree(elsewhere) == {"part": b"mine"} and tree(path) == {**whole(b"new"), "thesis.tex": b"years"}
    (path / "inner/part").unlink()
    (path / "inner").rmdir()
    (path / "inner").symlink_to(elsewhere)
    with pytest.raises(OpenworkError, match="inner: a folder or a link stands where a file should be written"):
        write(path, b"newer")
    assert tree(elsewhere) == {"part": b"mine"} and (path / "weights").read_bytes() == b"new"


def test_a_folder_under_an_own_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bundle"
    (path / "weights").mkdir(parents=True)
    (path / "weights/thesis.tex").write_bytes(b"years")
    with pytest.raises(OpenworkError, match="weights: a folder or a link stands where"):
        write(path, b"new")
    assert tree(path) == {"weights/thesis.tex": b"years"}


@pytest.mark.parametrize("operation", range(8))
def test_a_crash_while_files_are_replaced_mixes_no_old_and_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: int
) -> None:
    """What is there then lacks files, says by its mark that it is openwork's, and the next writing completes it."""
    path, done = tmp_path / "bundle", []
    write(path, b"old")
    strange = put_strange_things(path)
    replace, unlink = os.replace, os.unlink

    def counted(act):  # type: ignore[no-untyped-def]
        def acting(*arguments, **options):  # type: ignore[no-untyped-def]
            if len(done) == operation:
                raise KeyboardInterrupt
            done.append(arguments)
            return act(*arguments, **options)

        return acting

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(folders.os, "replace", counted(replace))
        patch.setattr(folders.os, "unlink", counted(unlink))
        write(path, b"new")
        raise KeyboardInterrupt  # where there are fewer operations
    found = tree(path)
    assert {name: found.pop(name) for name in strange} == strange
    assert found.pop("mark") in (b"old", b"new")
    assert len(set(found.values())) <= 1 and (
        operation < 5 or found == dict.fromkeys(("weights", "inner/part"), b"new")
    )
    write(path, b"newest")
    assert tree(path) == {**whole(b"newest"), **strange}


def test_a_full_disk_leaves_the_old_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "bundle"
    write(path, b"old")
    strange = put_strange_things(path)
    monkeypatch.setattr(folders.os, "fsync", full_disk)
    with pytest.raises(OpenworkError, match="the disk is full"):
        write(path, b"new")
    assert tree(path) == {**whole(b"old"), **strange}
    assert os.listdir(tmp_path) == ["bundle"]


def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"precious")
    with pytest.raises(OpenworkError, match="a file stands where a folder"), atomic_folder(path):
        pass
    assert path.read_bytes() == b"precious"


def test_a_folder_that_had_stepped_aside_comes_back(tmp_path: Path) -> None:
    """A process killed between the two renames leaves the old folder under its other name."""
    path = tmp_path / "bundle"
    write(path, b"old")
    path.rename(tmp_path / ".bundle.openwork.old")
    with pytest.raises(RuntimeError), atomic_folder(path):
        assert tree(path) == whole(b"old")
        raise RuntimeError
    assert tree(path) == whole(b"old")


def test_hidden_neighbours_with_like_names_stay(tmp_path: Path) -> None:
    """Only names that openwork itself gives are cleared up."""
    neighbours = {".bundle.old/thesis.tex": b"years", ".bundle.99999999.notes.partial": b"mine"}
    for name, content in neighbours.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    write(tmp_path / "bundle", b"new")
    assert {name: content for name, content in tree(tmp_path).items() if name[0] == "."} == neighbours


def test_what_holds_more_and_what_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b").touch()
    assert holds_only(tmp_path, {"a/b", "c"}) and not holds_only(tmp_path, {"a", "b"})
    assert blocked_name(tmp_path, ["c", "a/b"]) is None and blocked_name(tmp_path, ["c", "a"]) == tmp_path / "a"
    assert blocked_name(tmp_path, ["a/b/c"]) == tmp_path / "a/b"
