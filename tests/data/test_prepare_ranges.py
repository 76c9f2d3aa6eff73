"""A corpus prepared in ranges, by this process or by workers of Ray, is the same files."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from journeys.command import Finished, openwork, told, tree
from openwork.base.errors import DataError, OpenworkError
from openwork.data.corpora import catalogue as corpora
from openwork.data.corpora.prepare import prepare
from openwork.data.filters import FilterSettings
from openwork.machine.pool import OneProcess, Pool, Results

Call = Callable[..., Finished]
NAME = "tatoeba-en-de"
PAIRS = [
    ("A dog.", "Ein Hund."),
    ("", "Leer."),
    ("A cat.", "Eine Katze."),
    ("x" * 300, "kurz"),
    ("", ""),
    ("End.", "Ende."),
]


class Backwards:
    """Finishes the last item first."""

    def run(self, start: Callable[[], Callable[[Any], Any]], items: Sequence[Any]) -> Results[Any, Any]:
        work = start()
        for item in reversed(items):
            yield item, work(item)


class Dying:
    """Its workers die at every item."""

    def run(self, start: Callable[[], Callable[[Any], Any]], items: Sequence[Any]) -> Results[Any, Any]:
        for item in items:
            yield item, OpenworkError("3 workers died at it", code="E041")


@pytest.fixture(autouse=True)
def own_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six pairs to train with, of which the catalogue expects as many, and two to validate with."""
    home = tmp_path / "corpora" / NAME
    home.mkdir(parents=True)
    for side, name in enumerate(("en", "de")):
        (home / f"train.{name}").write_text("".join(f"{pair[side]}\n" for pair in PAIRS))
        (home / f"valid.{name}").write_text("A dog.\n\n")
    monkeypatch.setenv("OPENWORK_DATA", str(tmp_path / "corpora"))
    monkeypatch.setitem(corpora.CORPORA, NAME, replace(corpora.CORPORA[NAME], pairs=(len(PAIRS), 2, None)))
    return home


def prepared(out: Path, pool: Pool, shards: int, name: str = NAME) -> dict[str, bytes]:
    list(prepare(name, out, FilterSettings(), pool=pool, shards=shards))
    return tree(out)


@pytest.mark.slow
@pytest.mark.parametrize("pool", [OneProcess(), Backwards()], ids=["in turn", "backwards"])
@pytest.mark.parametrize("shards", [1, 2, 3, 6, 7, 40])
def test_any_number_of_ranges_makes_the_same_files(tmp_path: Path, pool: Pool, shards: int):
    """The record too: the reasons in it keep the order in which they occur. Nothing else is left in the folder."""
    whole = prepared(tmp_path / "whole", OneProcess(), 1)
    assert whole["train.en"] == b"A dog.\nA cat.\nEnd.\n" and set(whole) == {
        "prepared.json", "train.de", "train.en", "valid.de", "valid.en",
    }  # fmt: skip
    assert prepared(tmp_path / "ranges", pool, shards) == whole


@pytest.mark.parametrize("expected", [2, 100])
def test_the_last_range_ends_where_the_corpus_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: int):
    """The catalogue's figure divides the ranges and nothing more: a corpus may have grown or shrunk."""
    whole = prepared(tmp_path / "whole", OneProcess(), 1)
    monkeypatch.setitem(corpora.CORPORA, NAME, replace(corpora.CORPORA[NAME], pairs=(expected, 2, None)))
    assert prepared(tmp_path / "ranges", OneProcess(), 3) == whole


def test_splits_come_in_their_order(tmp_path: Path):
    found = list(prepare(NAME, tmp_path / "out", FilterSettings(), pool=Backwards(), shards=2))
    assert [split.name for split in found] == ["train", "valid", "test"]
    assert [split.pairs for split in found] == [3, 2, 0] and "no test split" in found[2].absent
    again = list(prepare(NAME, tmp_path / "out", FilterSettings(), pool=Backwards(), shards=2))
    assert [split.kept for split in again] == [True, True, False]


def test_a_bad_line_or_a_missing_corpus_is_raised(tmp_path: Path, own_corpus: Path):
    (own_corpus / "train.de").write_bytes(b"a\nb\xff\n")
    with pytest.raises(DataError, match=r"train\.de:2: invalid UTF-8"):
        prepared(tmp_path / "out", OneProcess(), 3)
    assert list((tmp_path / "out").iterdir()) == []
    (own_corpus / "train.de").unlink()
    with pytest.raises(DataError, match=r"train\.en\.gz is not on this machine"):
        prepared(tmp_path / "out", OneProcess(), 3)


def test_a_dead_worker_is_an_error(tmp_path: Path):
    with pytest.raises(OpenworkError, match="3 workers died"):
        prepared(tmp_path / "out", Dying(), 2)
    assert list((tmp_path / "out").iterdir()) == []


def test_options_of_ray_need_ray(call: Call, tmp_path: Path):
    out = tmp_path / "out"
    told(call("data", "prepare", NAME, "--out", out, "--shards", "2"), 2, "--shards goes with --on ray")
    told(call("data", "prepare", NAME, "--out", out, "--workers", "2"), 2, "--workers goes with --on ray")
    assert not out.exists()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra scale")
def test_ray_writes_the_same_files(tmp_path: Path):
    for out, options in (("alone", ()), ("ray", ("--on", "ray", "--workers", "2", "--shards", "3"))):
        done = openwork(
            "data", "prepare", "copy", "--out", tmp_path / out, "--set", "filters.maximum_characters=20", *options
        )
        assert done.code == 0, done.err
    assert tree(tmp_path / "ray") == tree(tmp_path / "alone")
    assert 0 < (tmp_path / "ray" / "train.source").read_text().count("\n") < 20_000
