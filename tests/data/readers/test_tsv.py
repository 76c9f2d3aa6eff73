"""Tab-separated pairs: two columns exactly, no quoting, faults named by line."""

import gzip
from pathlib import Path

import pytest

from openwork.base.errors import DataError
from openwork.data.readers.lines import read_tsv


def read(folder: Path, data: bytes) -> list[tuple[str, str]]:
    (folder / "pairs.tsv").write_bytes(data)
    return [tuple(pair) for pair in read_tsv(folder / "pairs.tsv")]


def test_two_columns_in_order(tmp_path: Path) -> None:
    assert read(tmp_path, b"a\tA\r\n\tB\nc\t\n") == [("a", "A"), ("", "B"), ("c", "")]


def test_quotation_marks_and_other_separators_are_text(tmp_path: Path) -> None:
    assert read(tmp_path, '"a\t"A\u2028""\n'.encode()) == [('"a', '"A\u2028""')]


def test_compressed_and_empty_files(tmp_path: Path) -> None:
    assert read(tmp_path, gzip.compress(b"a\tA\n")) == [("a", "A")]
    assert read(tmp_path, b"") == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\tA\nb\n", "pairs.tsv:2: one column"),
        (b"a\tA\n\nc\tC\n", "pairs.tsv:2: one column"),
        (b"a\tA\tx\n", "pairs.tsv:1: 3 columns"),
        (b"a\tA\nb\t\xff\n", "pairs.tsv:2: invalid UTF-8"),
        (b"a\tA\nb\t\0\n", "pairs.tsv:2: .*NUL"),
        (gzip.compress(b"a\tA\n" * 9000)[:-9], "pairs.tsv: the gzip archive is damaged"),
    ],
)
def test_faults_name_the_line(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, data)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        list(read_tsv(tmp_path / "nowhere.tsv"))
    with pytest.raises(DataError, match="this is a folder"):
        list(read_tsv(tmp_path))
