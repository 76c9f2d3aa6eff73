"""Digits as codes: by hand, there and back, and as scikit-learn has them."""

from pathlib import Path

import numpy as np
import pytest

from openwork.data.corpora import catalogue as corpora
from openwork.data.corpora.digits import codes_of, pixels_of


def test_codes_by_hand() -> None:
    """Levels are quarters of 256; a code has the two pixels of its upper row before those of the lower one."""
    pixels = np.zeros((8, 8), np.uint8)
    pixels[0, :3] = 64, 128, 255
    pixels[1, 1] = 63
    pixels[7, 7] = 192
    codes = codes_of(pixels)
    assert codes == ["bcaa", "daaa", *["aaaa"] * 13, "aaad"]
    back = pixels_of(codes)
    assert back[0, :4].tolist() == [96, 160, 224, 32] and back[7, 7] == 224


def test_codes_come_back() -> None:
    levels = np.random.default_rng(1).integers(0, 4, (8, 8))
    pixels = (levels * 64 + 32).astype(np.uint8)
    np.testing.assert_array_equal(pixels_of(codes_of(pixels)), pixels)


@pytest.mark.parametrize("codes", [["aaaa"] * 15, ["aaaa"] * 17, ["aaae", *["aaaa"] * 15], ["aaa", *["aaaa"] * 15], []])
def test_what_is_no_picture_is_refused(codes: list[str]) -> None:
    with pytest.raises(ValueError, match="codes"):
        pixels_of(codes)


@pytest.mark.slow
def test_the_same_digits_as_pictures_and_as_codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn.datasets", reason="needs the extra tasks")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("OPENWORK_DATA", raising=False)
    pictures = {pair.source: pair.target for pair in corpora.load("digits", "test")}
    coded = list(corpora.load("digit-codes", "test"))
    assert len(coded) == len(pictures) == corpora.find("digit-codes").pairs[2]
    assert {pair.source for pair in coded} == {
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
    }  # fmt: skip
    assert all(len(pixels_of(pair.target.split())) == 8 for pair in coded)
