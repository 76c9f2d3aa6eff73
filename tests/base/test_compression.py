"""Compressed files: told by content, read to the last stream, and never more memory than is theirs."""

import lzma
import os
import struct
import sys
import threading
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.base.compression import compression_of
from openwork.base.errors import DataError
from openwork.base.files import open_binary, read_lines


def read(folder: Path, data: bytes) -> bytes:
    (folder / "file").write_bytes(data)
    with open_binary(folder / "file") as file:
        return file.read()


@pytest.mark.slow
@given(parts=st.lists(st.binary(max_size=200), min_size=1, max_size=4), padding=st.integers(0, 3))
def test_streams_of_xz_follow_each_other_with_padding(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], padding: int
) -> None:
    data = b"".join(lzma.compress(part) + bytes(4 * padding) for part in parts)
    assert read(tmp_path_factory.mktemp("any"), data) == b"".join(parts)


def test_padding_longer_than_a_read_is_padding_still(tmp_path: Path) -> None:
    assert read(tmp_path, lzma.compress(b"a") + bytes(300_000) + lzma.compress(b"b") + bytes(200_000)) == b"ab"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[:-1],
        lambda data: data[:20],
        lambda data: data[:6],
        lambda data: data[:60] + b"\0\0\0\0" + data[64:],
        lambda data: data + b"more",
        lambda data: data + lzma.compress(b"x")[:-3],
    ],
    ids=[
        "without its end",
        "its beginning",
        "its magic alone",
        "changed within",
        "followed",
        "cut in the second stream",
    ],
)
def test_damaged_xz_is_refused(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    with pytest.raises(DataError, match="the xz archive is damaged or cut short") as caught:
        read(tmp_path, spoil(lzma.compress(os.urandom(5000))))
    assert "xz -t" in caught.value.hint


@pytest.mark.slow
def test_a_large_file_in_a_small_one_is_unpacked_piece_by_piece(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(lzma.compress(bytes(100_000_000), preset=0))
    tracemalloc.start()
    with open_binary(tmp_path / "file") as file:
        assert len(file.read(1000)) == 1000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


def test_an_archive_that_asks_for_gigabytes_is_refused(tmp_path: Path) -> None:
    data = bytearray(lzma.compress(b"hello" * 100))
    size = (data[12] + 1) * 4  # the header of the first block: size, flags, filter, one property, padding, CRC
    data[16] = 40  # a window of 4 GiB
    data[12 + size - 4 : 12 + size] = struct.pack("<I", zlib.crc32(data[12 : 12 + size - 4]))
    with pytest.raises(DataError, match="the xz archive is damaged") as caught:
        read(tmp_path, bytes(data))
    assert "Memory usage limit" in caught.value.why


def test_xz_through_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    feeder = threading.Thread(target=pipe.write_bytes, args=(lzma.compress(b"a\nb\n"),))
    feeder.start()
    assert list(read_lines(pipe)) == ["a", "b"]
    feeder.join()


def test_text_is_not_taken_for_an_archive() -> None:
    assert compression_of(b"") is None
    assert compression_of(b"7zXZ") is None
    assert compression_of("ý7zXZ".encode()) is None


def test_where_python_cannot_read_xz_the_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(lzma.compress(b"a"))
    monkeypatch.setitem(sys.modules, "lzma", None)
    with pytest.raises(DataError, match="file: xz files cannot be read here") as refused:
        open_binary(tmp_path / "file")
    assert "lzma" in refused.value.why and refused.value.hint == "unpack the file first"
