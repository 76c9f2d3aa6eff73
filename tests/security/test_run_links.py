"""Continuing a run's folder changes and removes nothing outside it, wherever its links lead."""

import os
from pathlib import Path

import pytest

from fuzz.folders import _checkpoints
from openwork.base.errors import OpenworkError
from openwork.base.records import RecordWriter
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder
from openwork.training.checkpoint import checkpoints

SETTINGS = RunSettings.model_validate({"data": {"corpus": "copy"}})
PLACES = (
    "run.toml", "records.jsonl", "tokenizers", "stores", "checkpoints", "tensorboard", "bad-batch.jsonl", "bundle",
    ".lock", "tokenizers/tokenizer.json", "stores/train", "stores/train/header.json", "checkpoints/step-00000002",
)  # fmt: skip


def claim(folder: Path) -> None:
    with RunFolder(folder).locked(SETTINGS):
        pass


@pytest.fixture
def run(tmp_path: Path) -> Path:
    claim(tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize("kind", ["file", "folder", "nothing", "pipe"])
@pytest.mark.parametrize("place", PLACES)
def test_no_link_or_pipe_in_a_run(run: Path, place: str, kind: str) -> None:
    outside, path = run.parent / "outside", run / place
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "file":
        outside.write_bytes(b"one\ntwo")
    elif kind == "folder":
        _checkpoints(outside)
    before = sorted(outside.rglob("*")) if kind == "folder" else None
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(outside)
    with pytest.raises(OpenworkError) as refused:
        claim(run)
    assert refused.value.hint
    if before is not None:
        assert sorted(outside.rglob("*")) == before
    else:
        assert outside.exists() == (kind == "file")
        assert kind != "file" or outside.read_bytes() == b"one\ntwo"


def test_a_link_of_the_users_own_and_a_run_reached_by_a_link(run: Path) -> None:
    (run / "notes").symlink_to(run.parent)
    (run.parent / "name").symlink_to(run)
    claim(run.parent / "name")


def test_records_keep_the_last_line_of_another_file(tmp_path: Path) -> None:
    """It was cut off as a record that is half written."""
    other = tmp_path / "other"
    other.write_bytes(b"one\ntwo")
    (tmp_path / "records.jsonl").symlink_to(other)
    with pytest.raises(OpenworkError, match="the record cannot be written"):
        RecordWriter(tmp_path / "records.jsonl")
    assert other.read_bytes() == b"one\ntwo"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OpenworkError, match="the record cannot be written"):
        RecordWriter(tmp_path / "pipe")


def test_a_linked_checkpoint_is_none(tmp_path: Path) -> None:
    """Older checkpoints are removed, and its state was removed with them."""
    _checkpoints(tmp_path / "other")
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    (folder / "step-00000001").symlink_to(tmp_path / "other/step-00000001")
    (folder / "step-²").mkdir()
    assert checkpoints(folder) == []
    assert len(checkpoints(tmp_path / "other")) == 2
