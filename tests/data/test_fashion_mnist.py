"""Fashion-MNIST: its files are read within bounds, and its pictures divided by their content."""

import gzip
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from openwork.base.errors import DataError
from openwork.data.corpora import catalogue as corpora
from openwork.data.corpora import fashion_mnist
from openwork.data.corpora.fashion_mnist import KINDS, NAME, read_numbers

# Two pictures of 2 x 3 pixels: zeros, type 8 (bytes), 3 axes, and the sizes of the axes, the highest byte first.
WRITTEN = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3, *range(12)])


def test_numbers_by_hand(tmp_path: Path) -> None:
    (tmp_path / "numbers.gz").write_bytes(gzip.compress(WRITTEN))
    found = read_numbers(tmp_path / "numbers.gz", (2, 2, 3))
    assert found.tolist() == [[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no archive",
        gzip.compress(WRITTEN)[:-12],
        gzip.compress(WRITTEN[:-1]),
        gzip.compress(WRITTEN + b"\0"),
        gzip.compress(WRITTEN.replace(b"\2", b"\3", 1)),
        gzip.compress(WRITTEN[:16] + bytes(1 << 26)),
    ],
    ids=["empty", "no archive", "cut short", "too few", "too many", "another shape", "a bomb"],
)
def test_a_damaged_file_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "numbers.gz").write_bytes(content)
    with pytest.raises(DataError, match=r"numbers\.gz") as refused:
        read_numbers(tmp_path / "numbers.gz", (2, 2, 3))
    assert refused.value.code == "D167"


def test_without_its_files_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("OPENWORK_DATA", raising=False)
    monkeypatch.setattr(fashion_mnist, "DEBIAN", tmp_path)
    with pytest.raises(DataError) as refused:
        next(corpora.load(NAME, "train"))
    assert refused.value.code == "D062" and "apt install dataset-fashion-mnist" in refused.value.hint
    assert corpora.find(NAME).found(None) == "" and not (tmp_path / "openwork" / NAME).exists()


@pytest.mark.slow
def test_pictures_are_in_one_split_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The set's files with fewer pictures: all black, but for the first pixel."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(fashion_mnist, "PARTS", {"train": ("train", 200), "test": ("t10k", 20)})
    origin = tmp_path / "data" / NAME
    origin.mkdir(parents=True)
    monkeypatch.setenv("OPENWORK_DATA", str(tmp_path / "data"))
    for name, count in fashion_mnist.PARTS.values():
        pixels = np.zeros((count, 28, 28), np.uint8)
        pixels[:, 0, 0] = range(count)
        for part, values in (("images-idx3", pixels), ("labels-idx1", np.arange(count, dtype=np.uint8) % 10)):
            header = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">i4").tobytes()
            (origin / f"{name}-{part}-ubyte.gz").write_bytes(gzip.compress(header + values.tobytes()))
    splits = {split: list(corpora.load(NAME, split)) for split in ("train", "valid", "test")}
    assert len(splits["train"]) + len(splits["valid"]) == 200 and 5 <= len(splits["valid"]) <= 40
    assert Counter(pair.target for pair in splits["test"]) == dict.fromkeys(KINDS, 2)
    for pair in splits["train"] + splits["valid"]:
        picture = Path(pair.source).read_bytes()
        assert picture[:13] == b"P5\n28 28\n255\n" and len(picture) == 13 + 784
        assert KINDS.index(pair.target) == picture[13] % 10
    assert corpora.find(NAME).found(None) == str(tmp_path / "openwork" / NAME)
