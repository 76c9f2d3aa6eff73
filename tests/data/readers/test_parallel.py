"""Two aligned files: what good files give, and what each bad file is told."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.base.errors import DataError
from openwork.data.readers.lines import read_parallel

LINES = st.lists(st.text(st.characters(exclude_characters="\n\r\0\ufeff", exclude_categories=["Cs"])), max_size=8)


def write(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def read(folder: Path, source: bytes | str, target: bytes | str) -> list[tuple[str, str]]:
    return [tuple(pair) for pair in read_parallel(write(folder / "text.en", source), write(folder / "text.de", target))]


@pytest.mark.slow
@given(source=LINES, target=LINES)
def test_line_n_meets_line_n_whatever_the_text(
    tmp_path_factory: pytest.TempPathFactory, source: list[str], target: list[str]
) -> None:
    count = min(len(source), len(target))
    source, target = source[:count], target[:count]
    found = read(tmp_path_factory.mktemp("any"), "".join(f"{x}\n" for x in source), "".join(f"{x}\n" for x in target))
    assert found == list(zip(source, target, strict=True))


def test_a_blank_line_is_a_blank_line_never_a_shift(tmp_path: Path) -> None:
    assert read(tmp_path, "a\n\nc\n\n", "A\nB\n\n\n") == [("a", "A"), ("", "B"), ("c", ""), ("", "")]


def test_line_ends_of_windows_and_a_missing_last_end(tmp_path: Path) -> None:
    assert read(tmp_path, "a\r\nb\r\n", "A\nB") == [("a", "A"), ("b", "B")]


@pytest.mark.parametrize("inside", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\r"])
def test_other_separators_do_not_end_a_line(tmp_path: Path, inside: str) -> None:
    assert read(tmp_path, f"one{inside}two\n", "eins\n") == [(f"one{inside}two", "eins")]


def test_compressed_and_plain_files_mix(tmp_path: Path) -> None:
    assert read(tmp_path, gzip.compress(b"a\nb\n"), "A\nB\n") == [("a", "A"), ("b", "B")]


def test_two_empty_files_give_no_pairs(tmp_path: Path) -> None:
    assert read(tmp_path, "", "") == []


def test_a_very_long_line_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, "x" * 100_000 + "\n", "y\n") == [("x" * 100_000, "y")]


@pytest.mark.parametrize(
    ("source", "target", "counts", "shorter"),
    [
        ("a\nb\nc\n", "A\n", ("3 lines", "1 line"), "text.de"),
        ("", "A\nB\n", ("0 lines", "2 lines"), "text.en"),
        ("\n", "", ("1 line", "0 lines"), "text.de"),
    ],
)
def test_unequal_counts_are_both_named(
    tmp_path: Path, source: str, target: str, counts: tuple[str, str], shorter: str
) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, source, target)
    assert f"text.en has {counts[0]}, " in caught.value.what
    assert caught.value.what.endswith(f"text.de has {counts[1]}")
    assert f"{shorter} ends after line" in caught.value.why
    assert "blank line" in caught.value.hint


def test_pairs_before_the_fault_are_given_as_a_stream(tmp_path: Path) -> None:
    pairs = read_parallel(write(tmp_path / "s", "a\nb\n"), write(tmp_path / "t", "A\n"))
    assert next(pairs) == ("a", "A")
    with pytest.raises(DataError):
        next(pairs)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (b"good\ncaf\xe9\n", "text.de:2: invalid UTF-8"),
        (b"good\nb\0d\n", "text.de:2: .*NUL"),
        (gzip.compress(b"good\nbetter\n" * 5000)[:-9], "text.de: the gzip archive is damaged"),
    ],
)
def test_the_faults_of_one_file_name_it_and_the_line(tmp_path: Path, bad: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, "one\ntwo\n" * 5000, bad)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    good = write(tmp_path / "good", "a\n")
    with pytest.raises(DataError, match="nowhere: no such file"):
        list(read_parallel(good, tmp_path / "nowhere"))
    with pytest.raises(DataError, match="this is a folder"):
        list(read_parallel(tmp_path, good))
