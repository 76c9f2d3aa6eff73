"""Corpora by name: built-in ones, and Multi30k from a folder, a cache, or its origin."""

import dataclasses
import gzip
import hashlib
import io
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openwork.base.errors import DataError
from openwork.data.corpora import catalogue as corpora
from openwork.data.corpora import download, parallel
from openwork.data.corpora.catalogue import CORPORA, find, load
from openwork.data.corpora.corpus import split_of
from openwork.data.records import Pair

SIZES = {"train": 29_000, "valid": 1_014, "test": 1_000}


@pytest.fixture(autouse=True)
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """No corpora here, no cache and no network, unless the test asks for the real corpora."""

    def no_network(request: urllib.request.Request, timeout: float) -> io.BytesIO:
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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dates", "copy", "reverse"])
def test_built_in_corpora_have_every_role_and_any_size(name: str) -> None:
    assert find(name).names == ("train", "valid", "test")
    for split in find(name).names:
        assert len(list(load(name, split, count=30))) == 30
    assert len(list(load(name, "valid"))) >= 500
    assert list(load(name, "train", count=10, seed=1)) != list(load(name, "train", count=10, seed=2))


@pytest.mark.parametrize(("kept", "times"), [(3, 1), (2, 2)])
def test_generated_pairs_stay_in_memory_up_to_a_number(monkeypatch: pytest.MonkeyPatch, kept: int, times: int) -> None:
    made: list[int] = []

    def generate(split: str, count: int, seed: int) -> Iterator[Pair]:
        made.append(count)
        return (Pair(f"{split} {number}", str(seed)) for number in range(count))

    monkeypatch.setattr(corpora, "KEPT", kept)
    monkeypatch.setitem(CORPORA, "copy", dataclasses.replace(CORPORA["copy"], generate=generate))
    first, again = (list(load("copy", "train", count=3, seed=7)) for _ in range(2))
    assert first == again == [Pair("train 0", "7"), Pair("train 1", "7"), Pair("train 2", "7")]
    assert made == [3] * times


def test_multi30k_has_every_direction() -> None:
    pairs = {"en-de", "de-en", "en-fr", "fr-en", "de-fr", "fr-de"}
    names = {name for name in CORPORA if name.startswith("multi30k-")}
    assert names == {f"multi30k-{pair}" for pair in pairs} | {f"multi30k-lowercased-{pair}" for pair in pairs}
    assert find("multi30k-en-de").names == ("train", "val", "test_2016_flickr")
    assert all(CORPORA[name].pairs == tuple(SIZES.values()) for name in names)


def test_the_real_multi30k(openwork_data: Callable[[str], Path]) -> None:
    folder = openwork_data("multi30k")
    for split, size in SIZES.items():
        assert sum(1 for _ in load("multi30k-en-de", split)) == size
    first = next(load("multi30k-en-de", "train"))
    assert first == next(load("multi30k-de-en", "train"))[::-1]
    assert first.source.startswith("Two young, White males")
    small = next(load("multi30k-lowercased-en-de", "train"))
    assert small == (first.source.lower(), first.target.lower()) != first
    for name, expected in parallel._SHA256.items():
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

    def urlopen(request: urllib.request.Request, timeout: float) -> io.BytesIO:
        asked.append(request.full_url)
        return io.BytesIO(gzip.compress(request.full_url.rpartition("/")[2].encode() + b"\n", mtime=0))

    sums = {
        name: hashlib.sha256(gzip.compress(name.encode() + b"\n", mtime=0)).hexdigest() for name in parallel._SHA256
    }
    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    monkeypatch.setattr(parallel, "_SHA256", sums)
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
    monkeypatch.setitem(parallel._SHA256, "val.en.gz", "0" * 64)
    with pytest.raises(DataError, match="not the expected one"):
        next(load("multi30k-en-fr", "valid"))
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_no_more_is_read_than_the_limit(tmp_path: Path, origin: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "MAX_BYTES", 10)
    with pytest.raises(DataError, match="not the expected one"):
        next(load("multi30k-en-fr", "valid"))


def test_fetch_brings_every_split_of_both_languages(tmp_path: Path, origin: list[str]) -> None:
    told: list[str] = []
    corpora.fetch("multi30k-de-fr", None, lambda name, done, total: told.append(name))
    brought = {f"{split}.{side}.gz" for split in find("multi30k-en-de").names for side in ("de", "fr")}
    assert {path.name for path in (tmp_path / "cache" / "openwork" / "multi30k").iterdir()} == brought == set(told)
    assert corpora.find("multi30k-de-fr").found(None) == str(tmp_path / "cache" / "openwork" / "multi30k")
    assert corpora.find("multi30k-de-en").found(None) == ""


@pytest.mark.parametrize(
    ("family", "languages", "ways"),
    [("tatoeba", "en de fr zh", 6), ("python-docs", "en zh", 2), ("hsk", "zh en", 2), ("wmt14", "en de fr", 4)],
)
def test_every_family_has_both_directions(family: str, languages: str, ways: int) -> None:
    names = {name.removeprefix(f"{family}-") for name in CORPORA if name.startswith(f"{family}-")}
    assert len(names) == ways and names == {"-".join(reversed(name.split("-"))) for name in names}
    for name in names:
        corpus = corpora.find(f"{family}-{name}")
        assert "-".join(corpus.languages) == name and set(corpus.languages) <= set(languages.split())
        assert corpus.terms and corpus.origin


def test_the_variable_may_name_a_corpus_itself_but_no_folder_of_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """train.en lies in many corpora: a stranger's must not pass for this one's."""
    for folder in ("tatoeba-en-de", "other"):
        put(tmp_path / folder, folder, "train.en", "train.de")
    monkeypatch.setenv("OPENWORK_DATA", str(tmp_path / "tatoeba-en-de"))
    assert next(load("tatoeba-en-de", "train")).source == "tatoeba-en-de train.en"
    monkeypatch.setenv("OPENWORK_DATA", str(tmp_path / "other"))
    with pytest.raises(DataError, match=r"train\.en\.gz is not on this machine"):
        load("tatoeba-en-de", "train")


def test_tatoeba_is_read_both_ways_and_says_that_test_is_kept_apart(tmp_path: Path) -> None:
    put(tmp_path / "tatoeba-en-zh", "line", "train.en.gz", "train.zh.gz", "valid.en", "valid.zh")
    assert list(load("tatoeba-en-zh", "train", tmp_path)) == [("line train.en.gz", "line train.zh.gz")]
    assert list(load("tatoeba-zh-en", "valid", tmp_path)) == [("line valid.zh", "line valid.en")]
    # an export is split in another way: its test pairs may be these training pairs
    (tmp_path / "tatoeba-en-zh" / "cmn.txt").write_text("".join(f"{n}\t{n}\n" for n in range(200)))
    with pytest.raises(DataError, match="there is no test split here") as caught:
        load("tatoeba-zh-en", "test", tmp_path)
    assert "test.zh.gz" in caught.value.hint
    put(tmp_path / "tatoeba-en-zh", "line", "test.en", "test.zh")
    assert list(load("tatoeba-zh-en", "test", tmp_path)) == [("line test.zh", "line test.en")]


def test_tatoeba_splits_an_export_by_content(tmp_path: Path) -> None:
    home = tmp_path / "tatoeba-en-de"
    home.mkdir()
    lines = [f"Word {number}.\tWort  {number}.\tCC-BY 2.0 (France) #{number}" for number in range(400)]
    lines += [lines[0], "Cafe\u0301\tKaffee"]
    (home / "deu.txt").write_text("\n".join(lines) + "\n")
    found = {split: list(load("tatoeba-en-de", split, tmp_path)) for split in corpora.ROLES}
    assert sum(map(len, found.values())) == 401
    assert all(split_of(pair.source, 100) == split for split, pairs in found.items() for pair in pairs)
    every = {pair for pairs in found.values() for pair in pairs}
    assert ("Word 0.", "Wort 0.") in every and ("Caf\u00e9", "Kaffee") in every and all(found.values())
    assert list(load("tatoeba-de-en", "valid", tmp_path)) == [pair[::-1] for pair in found["valid"]]
    assert corpora.find("tatoeba-de-en").found(tmp_path) == str(home)
    (home / "deu.txt").write_text("Word\tWort\nno tab\n")
    with pytest.raises(DataError, match=r"deu\.txt:2: one column where two"):
        list(parallel.read_export(home / "deu.txt"))


def test_tatoeba_without_a_file_says_what_to_fetch_by_hand() -> None:
    with pytest.raises(DataError, match="is not on this machine") as caught:
        load("tatoeba-fr-en", "train")
    assert "https://www.manythings.org/anki/fra-eng.zip" in caught.value.hint and "fra.txt" in caught.value.hint


def test_python_docs_are_split_without_a_shared_paragraph(tmp_path: Path) -> None:
    home = tmp_path / "python-docs-en-zh"
    home.mkdir()
    for language, word in (("en", "Return {}."), ("zh", "返回{}。")):
        (home / f"python-docs.{language}").write_text("".join(word.format(n) + "\n" for n in range(2000)))
    found = {split: list(load("python-docs-en-zh", split, tmp_path)) for split in corpora.ROLES}
    assert sum(map(len, found.values())) == 2000 and len(found["valid"]) > 20 and len(found["test"]) > 20
    assert not {pair.source for pair in found["train"]} & {pair.source for pair in found["valid"] + found["test"]}
    for split, pairs in found.items():
        assert list(load("python-docs-zh-en", split, tmp_path)) == [pair[::-1] for pair in pairs]
    with pytest.raises(DataError, match=r"python-docs\.en is not on this machine"):
        load("python-docs-zh-en", "train")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CORPORA if name.startswith(("tatoeba", "python-docs"))])
def test_the_real_corpora_have_the_pairs_that_the_table_says(name: str, openwork_data: Callable[[str], Path]) -> None:
    corpus = corpora.find(name)
    other = next(language for language in corpus.languages if language != "en")
    openwork_data(f"{name.rsplit('-', 2)[0]}-en-{other}")
    for split, size in zip(corpora.ROLES, corpus.pairs, strict=True):
        assert size is None or sum(1 for _ in load(name, split)) == size


def test_unknown_names_get_the_nearest() -> None:
    with pytest.raises(DataError, match="date: no such corpus") as caught:
        load("date", "train")
    assert "did you mean dates?" in caught.value.hint
    with pytest.raises(DataError, match="validation: the corpus multi30k-en-de has no such split") as caught:
        load("multi30k-en-de", "validation")
    assert "valid, test, val, test_2016_flickr" in caught.value.hint
