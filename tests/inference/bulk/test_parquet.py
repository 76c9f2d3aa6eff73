"""Parquet: one column becomes another beside it, batch by batch."""

from pathlib import Path
from typing import Any

import pytest

from inference.bulk.folders import capitals
from openwork.base.lines import MOST_LINES
from openwork.inference.bulk import parquet as shards
from openwork.inference.bulk.shards import Shard
from openwork.inference.bulk.work import ShardResult, ShardTask

pyarrow = pytest.importorskip("pyarrow", reason="needs the extra scale")
parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra scale")


def translated(folder: Path, table: Any, column: str | None = None, **options: Any) -> tuple[ShardResult, Path]:
    """The result for a file with this table, and the place of its translation."""
    parquet.write_table(table, folder / "a.parquet", **options)
    out = folder / "out" / "a.parquet"
    return capitals()(ShardTask(Shard(folder / "a.parquet", out, column))), out


def test_a_column_is_added_and_the_others_stay(tmp_path: Path):
    """A line end in a text is a space; null stays null, a blank text blank."""
    texts = ["a", None, "", "b\r\nc\nd", "你好"]
    table = pyarrow.table({"number": [1, 2, 3, 4, None], "text": texts, "source": ["x"] * 5})
    result, out = translated(tmp_path, table)
    found = parquet.read_table(out)
    assert found.column("translation").to_pylist() == ["A", None, "", "B C D", "你好"]
    assert found.drop_columns("translation").equals(table)
    assert result.sums is not None and result.sums.lines == 5


@pytest.mark.parametrize(
    "kind", [pyarrow.string(), pyarrow.large_string(), pyarrow.dictionary(pyarrow.int32(), pyarrow.string())], ids=str
)
def test_texts_of_each_type_are_read(tmp_path: Path, kind: Any):
    table = pyarrow.table({"source": pyarrow.array(["a", None, "b", "a"]).cast(kind)})
    _, out = translated(tmp_path, table)
    assert parquet.read_table(out).column("translation").to_pylist() == ["A", None, "B", "A"]
    assert parquet.read_table(out).schema.field("source").type == kind


def test_a_file_without_rows_stays_one(tmp_path: Path):
    result, out = translated(tmp_path, pyarrow.table({"text": pyarrow.array([], pyarrow.string())}))
    assert result.sums is not None and result.sums.lines == 0
    assert parquet.read_table(out).column_names == ["text", "translation"] and parquet.read_table(out).num_rows == 0


def test_a_long_file_is_written_in_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Neither all rows nor a group for each batch."""
    monkeypatch.setattr(shards, "ROWS", 2 * MOST_LINES)
    count = 5 * MOST_LINES + 3
    result, out = translated(tmp_path, pyarrow.table({"text": [f"t{number}" for number in range(count)]}))
    assert result.sums is not None and result.sums.lines == count
    metadata = parquet.read_metadata(out)
    sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    assert sizes == [2 * MOST_LINES, 2 * MOST_LINES, MOST_LINES + 3]
    assert parquet.read_table(out).column("translation").to_pylist() == [f"T{number}" for number in range(count)]


@pytest.mark.parametrize("codec", ["NONE", "GZIP", "ZSTD", "SNAPPY", "LZ4"])
def test_the_compression_is_that_of_the_source(tmp_path: Path, codec: str):
    _, out = translated(tmp_path, pyarrow.table({"text": ["a"] * 9}), compression=codec)
    kinds = [parquet.read_metadata(path).row_group(0).column(0).compression for path in (tmp_path / "a.parquet", out)]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize(
    ("columns", "wanted", "code", "words"),
    [
        ({"txt": ["a"]}, None, "D129", "no column text or source"),
        ({"text": ["a"]}, "texts", "D129", "no column texts"),
        ({"text": [1]}, None, "D130", "holds no text, but int64"),
        ({"text": ["a"], "translation": ["b"]}, None, "D131", "has a column 'translation' already"),
    ],
)
def test_what_is_no_text_is_named(tmp_path: Path, columns: dict[str, list], wanted: str | None, code: str, words: str):
    result, out = translated(tmp_path, pyarrow.table(columns), wanted)
    assert result.problem is not None and result.problem.code == code and result.problem.hint
    assert words in result.problem.what and not out.exists()


def test_the_named_column_is_taken(tmp_path: Path):
    _, out = translated(tmp_path, pyarrow.table({"text": ["a"], "title": ["b"]}), "title")
    assert parquet.read_table(out).column("translation").to_pylist() == ["B"]


@pytest.mark.parametrize("cut", [0, 40, -1])
def test_a_damaged_file_is_named(tmp_path: Path, cut: int):
    parquet.write_table(pyarrow.table({"text": ["a"] * 99}), tmp_path / "whole")
    (tmp_path / "a.parquet").write_bytes((tmp_path / "whole").read_bytes()[:cut])
    result = capitals()(ShardTask(Shard(tmp_path / "a.parquet", tmp_path / "out" / "a.parquet")))
    assert result.problem is not None and result.problem.code == "D132"
    assert not (tmp_path / "out" / "a.parquet").exists()


def test_damage_inside_of_a_file_is_named(tmp_path: Path):
    """The end of the file, with its schema, is whole; the pages are not."""
    table = pyarrow.table({"text": [f"text number {number}" for number in range(5000)]})
    parquet.write_table(table, tmp_path / "a.parquet", compression="gzip", use_dictionary=False)
    data = bytearray((tmp_path / "a.parquet").read_bytes())
    data[200:400] = bytes(200)
    (tmp_path / "a.parquet").write_bytes(bytes(data))
    result = capitals()(ShardTask(Shard(tmp_path / "a.parquet", tmp_path / "out" / "a.parquet")))
    assert result.problem is not None and result.problem.code == "D132"
    assert not (tmp_path / "out" / "a.parquet").exists()
