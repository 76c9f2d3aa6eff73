"""The translation of one shard: line for line, whole or not at all, once."""

import gzip
from pathlib import Path

import pytest

from inference.bulk.folders import CAPITALS, TEXTS, capitals, plain, shard, write_shards
from openwork.base.errors import OpenworkError
from openwork.base.lines import MOST_LINES
from openwork.inference.bulk.work import MOST_NOTES, ShardTask


@pytest.mark.parametrize("name", TEXTS)
def test_a_shard_is_translated_line_for_line(tmp_path: Path, name: str):
    """Blank lines stay, a last line without an end is one, Windows' line ends become those of Unix."""
    result = capitals()(ShardTask(shard(write_shards(tmp_path / "in"), tmp_path, name)))
    assert plain(tmp_path / name) == CAPITALS[name]
    assert result.sums is not None and result.sums.lines == CAPITALS[name].count("\n")
    assert result.problem is None and not result.is_kept


def test_the_compression_follows_the_content_and_has_no_date(tmp_path: Path):
    """A gzip file without the ending stays one; equal texts become equal files."""
    folder = write_shards(tmp_path / "in", {"a": gzip.compress(b"x\n", mtime=1), "b": gzip.compress(b"x\n", mtime=2)})
    for name in ("a", "b"):
        capitals()(ShardTask(shard(folder, tmp_path, name)))
    assert gzip.decompress((tmp_path / "a").read_bytes()) == b"X\n"
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_long_shard_is_read_in_batches(tmp_path: Path):
    count = 2 * MOST_LINES + 1
    folder = write_shards(tmp_path / "in", {"a": b"x\n" * count})
    sizes: list[int] = []
    translator = capitals()
    run = translator._lines.run
    object.__setattr__(
        translator._lines, "run", lambda texts, requests: sizes.append(len(texts)) or run(texts, requests)
    )
    result = translator(ShardTask(shard(folder, tmp_path, "a")))
    assert result.sums is not None and result.sums.lines == count
    assert sizes == [MOST_LINES, MOST_LINES, 1]
    assert (tmp_path / "a").read_bytes() == b"X\n" * count


@pytest.mark.parametrize(
    ("data", "words"),
    [(gzip.compress(b"one\n" * 99)[:-12], "damaged or cut short"), (None, "no such file")],
    ids=["cut", "missing"],
)
def test_a_shard_that_cannot_be_read_leaves_nothing(tmp_path: Path, data: bytes | None, words: str):
    folder = write_shards(tmp_path / "in", {} if data is None else {"a.gz": data})
    out = tmp_path / "out"
    result = capitals()(ShardTask(shard(folder, out, "a.gz")))
    assert result.sums is None and result.problem is not None
    assert words in result.problem.what and str(folder / "a.gz") in result.problem.what
    assert not out.exists() or list(out.iterdir()) == []


def test_a_translation_that_cannot_be_written_ends_the_work(tmp_path: Path):
    (tmp_path / "out").touch()
    with pytest.raises(OpenworkError, match="cannot be written"):
        capitals()(ShardTask(shard(write_shards(tmp_path / "in"), tmp_path / "out", "a.txt")))


def test_a_finished_shard_is_done_again_only_if_one_of_its_files_has_changed(tmp_path: Path):
    folder = write_shards(tmp_path / "in")
    one = shard(folder, tmp_path, "a.txt")
    seen: list[str] = []
    work = capitals(seen)
    before = work(ShardTask(one)).sums
    assert before is not None and seen == ["one", "two"]
    again = work(ShardTask(one, before))
    assert again.is_kept and again.sums == before and seen == ["one", "two"]
    (tmp_path / "a.txt").write_text("spoilt")
    assert not work(ShardTask(one, before)).is_kept and (tmp_path / "a.txt").read_text() == "ONE\nTWO\n"
    (tmp_path / "a.txt").unlink()
    assert not work(ShardTask(one, before)).is_kept and (tmp_path / "a.txt").read_text() == "ONE\nTWO\n"
    one.source.write_text("three\n")
    changed = work(ShardTask(one, before))
    assert not changed.is_kept and changed.sums != before and (tmp_path / "a.txt").read_text() == "THREE\n"


def test_of_many_notes_the_first_are_kept_and_all_are_counted(tmp_path: Path):
    folder = write_shards(tmp_path / "in", {"a": b"x\n" + b"?\n" * 9 + b"\xff\n"})
    result = capitals()(ShardTask(shard(folder, tmp_path, "a")))
    assert result.noted == 10 and len(result.notes) == MOST_NOTES
    assert result.notes[:2] == ("line 11: invalid UTF-8 at byte 1, replaced", "line 2: a question")
