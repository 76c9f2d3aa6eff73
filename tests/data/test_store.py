"""The token store: what goes in comes out, whatever the lengths; damage is named."""

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openwork.base.errors import DataError, OpenworkError
from openwork.data.store import TokenStore, write_store

PAIRS = [([5, 6, 7], [8]), ([], [9, 10]), ([11], []), ([4], [12, 13, 14, 15])]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_store(tmp_path / "store", PAIRS, vocabulary_size=100, fingerprint="abc")
    return tmp_path / "store"


def test_a_store_gives_back_what_was_written(folder: Path) -> None:
    store = TokenStore.open(folder)
    assert len(store) == 4
    assert [(source.tolist(), target.tolist()) for source, target in map(store.pair, range(4))] == PAIRS
    assert store.source.lengths.tolist() == [3, 0, 1, 1]
    assert store.target.lengths.tolist() == [1, 2, 0, 4]
    assert store.source.lengths.dtype == np.int32
    assert store.fingerprint == "abc"
    assert store.pair(-1)[0].tolist() == [4]
    with pytest.raises(IndexError):
        store.pair(4)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(pairs=st.lists(st.tuples(*[st.lists(st.integers(0, 70_000), max_size=6)] * 2), max_size=20))
def test_any_pairs_survive_also_in_32_bits(tmp_path_factory: pytest.TempPathFactory, pairs: list) -> None:
    store = write_store(tmp_path_factory.mktemp("any") / "store", pairs, vocabulary_size=70_001)
    assert [tuple(side.tolist() for side in store.pair(index)) for index in range(len(store))] == pairs
    store.verify()


@pytest.mark.parametrize(("vocabulary_size", "width"), [(65_535, 2), (65_536, 4)])
def test_ids_take_16_bits_while_they_fit(tmp_path: Path, vocabulary_size: int, width: int) -> None:
    write_store(tmp_path / "store", [([vocabulary_size - 1], [1, 2])], vocabulary_size=vocabulary_size)
    assert (tmp_path / "store" / "target.tokens").stat().st_size == 2 * width


@pytest.mark.parametrize("wrong", [-1, 100])
def test_an_id_outside_the_vocabulary_names_its_pair_and_leaves_nothing(tmp_path: Path, wrong: int) -> None:
    with pytest.raises(DataError, match=rf"pair 5: token id {wrong} on the target side"):
        write_store(tmp_path / "store", [*PAIRS, ([1], [2, wrong])], vocabulary_size=100)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_keeps_the_old_store(folder: Path) -> None:
    def failing() -> Iterator[tuple[list[int], list[int]]]:
        yield [1], [2]
        raise RuntimeError("the reader broke")

    with pytest.raises(RuntimeError):
        write_store(folder, failing(), vocabulary_size=100)
    assert len(TokenStore.open(folder)) == 4
    write_store(folder, [([1], [2])], vocabulary_size=100)
    assert len(TokenStore.open(folder)) == 1


def test_a_full_disk_is_said_and_the_old_store_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def full(path: Path, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if path.suffix == ".tokens" and mode == "wb":
            return opened(Path("/dev/full"), mode, 0)
        return opened(path, mode, *rest, **named)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(OpenworkError, match="the disk is full"):
        write_store(folder, [([1], [2])], vocabulary_size=100)
    assert len(TokenStore.open(folder)) == 4
    assert [path.name for path in folder.parent.iterdir()] == ["store"]


def test_a_folder_with_other_things_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(DataError, match="not a token store"):
        write_store(tmp_path, PAIRS, vocabulary_size=100)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("name", ["source.tokens", "source.offsets", "target.tokens", "target.offsets"])
def test_a_cut_or_missing_file_is_named(folder: Path, name: str) -> None:
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(DataError, match=f"{name}: the token store is damaged") as caught:
        TokenStore.open(folder)
    assert f"instead of {len(data)}" in caught.value.why
    (folder / name).unlink()
    with pytest.raises(DataError, match=name):
        TokenStore.open(folder)


def test_changed_bytes_of_the_right_size_are_found_by_verify(folder: Path) -> None:
    data = bytearray((folder / "target.tokens").read_bytes())
    data[0] ^= 1
    (folder / "target.tokens").write_bytes(data)
    with pytest.raises(DataError, match=r"target\.tokens"):
        TokenStore.open(folder).verify()


def test_the_id_that_is_wrong_is_named_and_not_the_lowest_right_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="pair 1: token id -1 on the source side"):
        write_store(tmp_path / "store", [([0, 5, -1], [1])], vocabulary_size=10)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("{", "damaged"),
        ("[]", "not a token store"),
        ('{"format": "something else"}', "not a token store"),
        ('{"format": "openwork token store", "version": 99}', "not a token store"),
        ('{"format": "openwork token store", "version": 1}', "damaged"),
    ],
)
def test_a_foreign_header_is_refused_in_a_sentence(folder: Path, header: str, message: str) -> None:
    (folder / "header.json").write_text(header)
    with pytest.raises(DataError, match=message):
        TokenStore.open(folder)


def test_offsets_that_disagree_with_the_pair_count_are_refused(folder: Path) -> None:
    header = json.loads((folder / "header.json").read_text())
    (folder / "header.json").write_text(json.dumps(header | {"pairs": 3}))
    with pytest.raises(DataError, match="damaged"):
        TokenStore.open(folder)


def test_a_header_without_checksums_is_refused(folder: Path) -> None:
    """Found by `make fuzz`: it was opened, and only `verify` missed them."""
    header = (folder / "header.json").read_text().replace('"sha256"', '"sha265"')
    (folder / "header.json").write_text(header)
    with pytest.raises(DataError, match="damaged"):
        TokenStore.open(folder)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere: not a token store"):
        TokenStore.open(tmp_path / "nowhere")


@pytest.mark.slow
def test_writing_takes_the_same_memory_for_ten_times_the_pairs(tmp_path: Path) -> None:
    def peak(pairs: int) -> int:
        tracemalloc.start()
        write_store(tmp_path / str(pairs), (([7], [8, 9]) for _ in range(pairs)), vocabulary_size=100)
        try:
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1)
    assert peak(200_000) < 1.2 * peak(20_000)
