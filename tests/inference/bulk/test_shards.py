"""Which files of a folder are shards."""

import os
from pathlib import Path

import pytest

from openwork.base.errors import ConfigError, DataError
from openwork.data.readers import series
from openwork.inference.bulk.shards import find_shards


def test_shards_are_the_files_in_the_order_of_their_names(tmp_path: Path):
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    for name in ("b.txt", "a.txt.gz", "10", "9", "_SUCCESS", ".hidden", "_translated.jsonl"):
        (source / name).touch()
    found = find_shards(source, tmp_path / "out")
    assert [shard.name for shard in found.shards] == ["10", "9", "a.txt.gz", "b.txt"]
    assert found.shards[0].target == tmp_path / "out" / "10"
    assert found.passed_over == ("inner",)


def test_paths_are_absolute_for_workers_in_other_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "a").touch()
    monkeypatch.chdir(tmp_path)
    (one,) = find_shards(Path("source"), Path("out")).shards
    assert one.source == tmp_path / "source" / "a" and one.target == tmp_path / "out" / "a"


def test_a_folder_without_shards_is_refused(tmp_path: Path):
    with pytest.raises(DataError, match="no such folder of shards"):
        find_shards(tmp_path / "none", tmp_path / "out")
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="no such folder of shards"):
        find_shards(tmp_path / "file", tmp_path / "out")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "_SUCCESS").touch()
    with pytest.raises(DataError, match="the folder has no shards"):
        find_shards(tmp_path / "source", tmp_path / "out")


def test_parquet_files_without_pyarrow_are_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(series, "find_spec", lambda name: None)
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "a.txt").touch()
    assert find_shards(tmp_path / "source", tmp_path / "out").shards
    (tmp_path / "source" / "b.PARQUET").touch()
    with pytest.raises(ConfigError, match="pyarrow, which is not installed") as refused:
        find_shards(tmp_path / "source", tmp_path / "out")
    assert "the extra scale" in refused.value.hint


def test_a_pipe_is_passed_over_and_a_link_to_nothing_is_a_bad_shard(tmp_path: Path):
    """Reading the one would wait for ever; leaving out the other would lose it."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "a").touch()
    os.mkfifo(source / "pipe")
    (source / "link").symlink_to(tmp_path / "nothing")
    found = find_shards(source, tmp_path / "out")
    assert [shard.name for shard in found.shards] == ["a", "link"] and found.passed_over == ("pipe",)
