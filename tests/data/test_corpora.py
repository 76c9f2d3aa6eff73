"""Corpora by name: built-in ones, and Multi30k from a folder, a cache, or its origin."""

import gzip
import hashlib
import io
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from openwork.base.errors import DataError
from openwork.data import download, multi30k
from openwork.data.corpora import CORPORA, load, splits

SIZES = {"train": 29_000, "valid": 1_014, "test": 1_000}


@pytest.fixture(autouse=True)
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """No corpora here, no cache and no network, unless the test asks for the real corpora."""

    def no_network(url: str, timeout: float) -> io.BytesIO:
        raise urllib.error.URLError(OSError("Network is unreachable"))

    if "openwork_data" not in request.fixturenames:
        monkeypatch.delenv("OPENWORK_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(urllib.request, "urlopen", no_network)


def put(folder: Path, text: str, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        data = f"{text} {name}\n".encode()
        (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)


@pytest.mark.parametrize("name", ["dates", "copy", "reverse"])
def test_built_in_corpora_have_every_role_and_any_size(name: str) -> None:
    assert splits(name) == ("train", "valid", "test")
    for split in splits(name):
        assert len(list(load(name, split, count=30))) == 30
    assert len(list(load(name, "valid"))) >= 500
    assert list(load(name, "train", count=10, seed=1)) != list(load(name, "train", count=10, seed=2))


def test_multi30k_has_every_direction() -> None:
    pairs = {"en-de", "de-en", "en-fr", "fr-en", "de-fr", "fr-de"}
    assert {name.removeprefix("multi30k-") for name in CORPORA if name.startswith("multi30k-")} == pairs
    assert splits("multi30k-en-de") == ("train", "val", "test_2016_flickr")


def test_the_real_multi30k(openwork_data: Callable[[str], Path]) -> None:
    folder = openwork_data("multi30k")
    for split, size in SIZES.items():
        assert sum(1 for _ in load("multi30k-en-de", split)) == size
    first = next(load("multi30k-en-de", "train"))
    assert first == next(load("multi30k-de-en", "train"))[::-1]
    assert first.source.startswith("Two young, White males")
    for name, expected in multi30k._SHA256.items():
        if (folder / name).is_file():
            assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == expected


def test_roles_and_own_names_are_the_same_split(tmp_path: Path) -> None:
    put(tmp_path, "text", "val.en", "val.de", "test_2016_flickr.en.gz", "test_2016_flickr.de.gz")
    for role, own_name in (("valid", "val"), ("test", "test_2016_flickr")):
        found = list(load("multi30k-de-en", role, tmp_path))
        assert found == list(load("multi30k-de-en", own_name, tmp_path))
        assert found[0].source.startswith(f"text {own_name}.de")
    assert list(load("multi30k-de-en", "valid", tmp_path, count=0)) == []


def test_a_given_folder_comes_before_the_variable_and_that_before_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("train.en.gz", "train.de.gz")
    put(tmp_path / "set" / "multi30k", "variable", *names)
    put(tmp_path / "given" / "multi30k", "folder", *names)
    put(tmp_path / "cache" / "openwork" / "multi30k", "cache", *names)
    monkeypatch.setenv("OPENWORK_DATA", str(tmp_path / "set"))
    assert next(load("multi30k-en-de", "train")).source == "variable train.en.gz"
    assert next(load("multi30k-en-de", "train", tmp_path / "given")).source == "folder train.en.gz"


def test_without_a_network_one_sentence_says_where_to_put_the_file() -> None:
    with pytest.raises(DataError, match=r"train\.en\.gz: cannot be fetched") as caught:
        next(load("multi30k-en-de", "train"))
    assert caught.value.why == "Network is unreachable"
    assert "OPENWORK_DATA=FOLDER" in caught.value.hint


@pytest.fixture
def origin(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An origin that serves one line for each file; the list of what was asked for."""
    asked: list[str] = []

    def urlopen(url: str, timeout: float) -> io.BytesIO:
        asked.append(url)
        return io.BytesIO(gzip.compress(url.rpartition("/")[2].encode() + b"\n", mtime=0))

    sums = {
        name: hashlib.sha256(gzip.compress(name.encode() + b"\n", mtime=0)).hexdigest() for name in multi30k._SHA256
    }
    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    monkeypatch.setattr(multi30k, "_SHA256", sums)
    return asked


def test_files_are_fetched_once_and_fetched_again_when_the_cache_is_damaged(tmp_path: Path, origin: list[str]) -> None:
    for _ in range(2):
        assert list(load("multi30k-en-fr", "valid")) == [("val.en.gz", "val.fr.gz")]
    root = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/"
    assert origin == [f"{root}val.en.gz", f"{root}val.fr.gz"]
    (tmp_path / "cache" / "openwork" / "multi30k" / "val.en.gz").write_bytes(b"half")
    assert list(load("multi30k-en-fr", "valid")) == [("val.en.gz", "val.fr.gz")]
    assert origin[2:] == [f"{root}val.en.gz"]


def test_other_bytes_than_expected_are_refused_and_not_kept(
    tmp_path: Path, origin: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(multi30k._SHA256, "val.en.gz", "0" * 64)
    with pytest.raises(DataError, match="not the file that was expected"):
        next(load("multi30k-en-fr", "valid"))
    assert not (tmp_path / "cache").exists()


def test_no_more_is_read_than_the_limit(tmp_path: Path, origin: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "MAX_BYTES", 10)
    with pytest.raises(DataError, match="not the file that was expected"):
        next(load("multi30k-en-fr", "valid"))


def test_unknown_names_get_the_nearest() -> None:
    with pytest.raises(DataError, match="date: no such corpus") as caught:
        load("date", "train")
    assert "did you mean dates?" in caught.value.hint
    with pytest.raises(DataError, match="validation: the corpus multi30k-en-de has no such split") as caught:
        load("multi30k-en-de", "validation")
    assert "valid, test, val, test_2016_flickr" in caught.value.hint
