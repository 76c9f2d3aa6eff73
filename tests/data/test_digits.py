"""Scikit-learn's digits as files: written once, divided by their content, and read as they were."""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from openwork.base.errors import DataError
from openwork.data.corpora import catalogue as corpora
from openwork.data.readers import file_lists
from openwork.data.readers.file_lists import PICTURES, read_list
from openwork.data.records import Pair
from openwork.signals.pictures import read_picture
from openwork.signals.settings import PictureSettings


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("OPENWORK_DATA", raising=False)
    return tmp_path / "openwork" / "digits"


@pytest.mark.slow
def test_every_digit_is_in_one_split(cache: Path) -> None:
    pytest.importorskip("PIL", reason="needs the extra vision")
    datasets = pytest.importorskip("sklearn.datasets", reason="needs the extra tasks")
    corpora.fetch("digits")
    splits = [list(corpora.load("digits", split)) for split in ("train", "valid", "test")]
    assert tuple(map(len, splits)) == corpora.find("digits").pairs and sum(map(len, splits)) == 1797
    known = datasets.load_digits()
    settings = PictureSettings(height=8, width=8, channels=1, patch=2)
    for pair in (split[0] for split in splits):
        number = int(Path(pair.source).stem)
        assert pair.target == str(known.target[number])
        expected = known.images[number] * 255 / 16
        np.testing.assert_allclose(read_picture(pair.source, settings)[:, :, 0], expected, atol=0.5)
    assert set(Counter(pair.target for pair in splits[2])) == set("0123456789")
    folder = [pair for pair in read_list(cache / "test", PICTURES) if isinstance(pair, Pair)]
    assert folder == splits[2]
    written = (cache / "train" / "0").stat().st_mtime_ns
    assert corpora.find("digits").found(None) == str(cache) and list(corpora.load("digits", "valid")) == splits[1]
    assert (cache / "train" / "0").stat().st_mtime_ns == written


def test_without_scikit_learn_it_says_what_to_install(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(DataError) as refused:
        list(corpora.load("digits", "train"))
    assert refused.value.code == "D151" and "pip install scikit-learn" in refused.value.hint
    assert not cache.exists()


def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(file_lists.Path, "iterdir", refuse)
    with pytest.raises(DataError) as refused:
        list(read_list(tmp_path, PICTURES))
    assert refused.value.code == "D149"
