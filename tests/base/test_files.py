"""Files: strangers' text is read strictly, and no crash or full disk spoils what was there."""

import errno
import gzip
import hashlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from openwork.base import files
from openwork.base.errors import DataError, OpenworkError
from openwork.base.files import (
    atomic_file,
    atomic_write_bytes,
    atomic_write_text,
    open_binary,
    read_lines,
    sha256_file,
)
from openwork.base.folders import atomic_folder


def written(folder: Path, data: bytes, name: str = "corpus.txt") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def test_lines_end_at_line_feeds_only(tmp_path: Path) -> None:
    text = "one\u2028still one\x0b\x0c\x85\x1c\ntwo\r\n\n \r\r\nlast"
    path = written(tmp_path, text.encode())
    assert list(read_lines(path)) == ["one\u2028still one\x0b\x0c\x85\x1c", "two", "", " \r", "last"]


@pytest.mark.parametrize(("data", "lines"), [(b"", []), (b"\n", [""]), (b"a", ["a"]), (b"a\n", ["a"])])
def test_the_last_line_end_is_optional(tmp_path: Path, data: bytes, lines: list[str]) -> None:
    assert list(read_lines(written(tmp_path, data))) == lines


def test_a_byte_order_mark_is_dropped_at_the_start_only(tmp_path: Path) -> None:
    assert list(read_lines(written(tmp_path, "\ufeffone\n\ufefftwo\n".encode()))) == ["one", "\ufefftwo"]


def test_compression_is_told_by_content_not_by_name(tmp_path: Path) -> None:
    packed = gzip.compress(b"one\n") + gzip.compress("zwei €\n".encode())  # two members, as `cat a.gz b.gz` makes
    assert list(read_lines(written(tmp_path, packed, "plain.txt"))) == ["one", "zwei €"]
    assert list(read_lines(written(tmp_path, b"plain\n", "not.gz"))) == ["plain"]


def test_a_pipe_is_read_line_by_line(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    feeder = threading.Thread(target=pipe.write_bytes, args=(gzip.compress(b"a\nb\n"),))
    feeder.start()
    assert list(read_lines(pipe)) == ["a", "b"]
    feeder.join()


@pytest.mark.parametrize(
    ("data", "line", "said"),
    [
        (b"good\nbad \xe9t\xe9\n", 2, "invalid UTF-8 (byte 0xE9, byte 5 of the line)"),
        (b"\xed\xa0\x80\n", 1, "invalid UTF-8"),  # a lone surrogate written as bytes
        (b"a\nb\nc\x00d\n", 3, "NUL"),
        ("héllo\n".encode("utf-16"), 1, "UTF-16"),
        (b"ok\n" + b"x" * 21 + b"\n", 2, "longer than 20 characters"),
        (b"x" * 5000, 1, "longer than 20 characters"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, data: bytes, line: int, said: str) -> None:
    path = written(tmp_path, data)
    with pytest.raises(DataError) as caught:
        list(read_lines(path, max_line_characters=20))
    assert caught.value.what.startswith(f"{path}:{line}: ")
    assert said in caught.value.what
    assert caught.value.hint


def test_the_limit_counts_characters_not_bytes(tmp_path: Path) -> None:
    path = written(tmp_path, ("\U0001f600" * 20 + "\r\n").encode())
    assert list(read_lines(path, max_line_characters=20)) == ["\U0001f600" * 20]


def test_a_line_of_100_000_characters_is_read_by_default(tmp_path: Path) -> None:
    assert list(read_lines(written(tmp_path, b"x" * 100_000 + b"\n"))) == ["x" * 100_000]


@pytest.mark.parametrize("cut", [5, 40, -1])
def test_a_damaged_archive_is_named(tmp_path: Path, cut: int) -> None:
    packed = gzip.compress(os.urandom(1000).hex().encode() + b"\n")
    path = written(tmp_path, packed[:cut])
    with pytest.raises(DataError, match="damaged or cut short") as caught:
        list(read_lines(path))
    assert str(path) in caught.value.what
    assert f"line {2 if cut == -1 else 1} or later" in caught.value.why  # at -1 the text is whole, its checksum is not


def test_an_archive_with_a_flipped_bit_is_refused(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(os.urandom(1000).hex().encode() + b"\n"))
    packed[len(packed) // 2] ^= 1
    with pytest.raises(DataError, match="damaged"):
        list(read_lines(written(tmp_path, bytes(packed))))


def test_a_missing_file_gets_the_nearest_name(tmp_path: Path) -> None:
    written(tmp_path, b"", "train.en.gz")
    with pytest.raises(DataError, match="no such file") as caught:
        open_binary(tmp_path / "train.en")
    assert caught.value.hint.endswith("train.en.gz?")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    for read in (open_binary, sha256_file):
        with pytest.raises(DataError, match="this is a folder"):
            read(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, b"secret")
    path.chmod(0)
    with pytest.raises(DataError, match="may not be read"):
        open_binary(path)


def test_sha256_is_of_the_bytes_on_disk(tmp_path: Path) -> None:
    packed = gzip.compress(b"abc")
    assert sha256_file(written(tmp_path, packed)) == hashlib.sha256(packed).hexdigest()


# ------------------------------------------------------------------------------------------------ writing


def test_text_is_written_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.txt"
    atomic_write_text(path, "é\r\n")
    assert path.read_bytes() == b"\xc3\xa9\r\n"
    assert os.listdir(path.parent) == ["file.txt"]


def test_mode_and_link_of_an_old_file_are_kept(tmp_path: Path) -> None:
    path = written(tmp_path, b"old")
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(path)
    atomic_write_bytes(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640


def full_disk(_: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, b"old")
    monkeypatch.setattr(files.os, "fsync", full_disk)
    with pytest.raises(OpenworkError, match="the disk is full") as caught:
        atomic_write_bytes(path, b"new")
    assert str(path) in caught.value.what
    assert "unchanged" in caught.value.why
    assert caught.value.hint
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="needs a limit on file sizes")
def test_a_write_that_the_system_stops_half_way_leaves_the_old_file(tmp_path: Path) -> None:
    path = written(tmp_path, b"old")
    program = (
        "import resource, signal, sys; from openwork.base.files import *; from openwork.base.errors import *\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: atomic_write_bytes(sys.argv[1], bytes(5000))\n"
        "except OpenworkError as error: print(error.what)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, env=environment)
    assert result.stdout == f"{path}: cannot be written\n", result.stderr
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [path.name]


def test_an_error_of_the_caller_passes_and_leaves_nothing(tmp_path: Path) -> None:
    for opened in (atomic_file(tmp_path / "a"), atomic_folder(tmp_path / "b")):
        with pytest.raises(FileNotFoundError), opened:
            (tmp_path / "missing").read_bytes()
    assert os.listdir(tmp_path) == []


def test_the_remains_of_a_killed_process_are_cleared(tmp_path: Path) -> None:
    program = (
        "import os, sys; from openwork.base.files import *\n"
        "with atomic_file(sys.argv[1]) as new: new.write_bytes(b'half'); os.kill(os.getpid(), 9)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    path = tmp_path / "checkpoint"
    subprocess.run([sys.executable, "-c", program, path], env=environment)
    assert len(os.listdir(tmp_path)) == 1
    atomic_write_bytes(path, b"whole")
    assert os.listdir(tmp_path) == ["checkpoint"]


# ------------------------------------------------------------------------------------------------ refused by the system


def test_a_file_that_leads_to_itself(tmp_path: Path) -> None:
    path = tmp_path / "loop"
    path.symlink_to(path)
    with pytest.raises(DataError, match="the file cannot be read") as refused:
        open_binary(path)
    assert refused.value.why and refused.value.hint


def test_a_file_of_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the system says it to everybody but root."""

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match="the file may not be read") as refused:
        open_binary(tmp_path / "secret")
    assert "chmod +r" in refused.value.hint


def test_a_name_that_the_system_does_not_take(tmp_path: Path) -> None:
    with pytest.raises(OpenworkError, match="cannot be written") as refused:
        atomic_write_text(tmp_path / ("a" * 300), "text")
    assert refused.value.why and refused.value.hint and os.listdir(tmp_path) == []
