"""Settings that nobody gave: chosen from the data, told, and overruled by whatever is given."""

import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

from openwork.base.config import Layer, read_run
from openwork.base.errors import UsageError
from openwork.data.batching import BatchPlan, BatchSettings
from openwork.data.corpora.catalogue import load
from openwork.data.records import Pair
from openwork.machine import card as card_module
from openwork.machine.card import Card, card_here
from openwork.runs.file.automatic import SIZES, CorpusSize, choose, choose_for_tuning, measure
from openwork.runs.file.resolve import resolve_layer, resolve_run
from openwork.runs.preflight.coverage import unknown_ids
from openwork.text.pair import train_pair
from openwork.text.settings import TextSettings
from training.cards import A100, GIB, H100, SMALL, be


def test_measure_counts_pairs_and_characters_of_both_sides():
    found = measure([Pair("ab", "c"), Pair("", "de")])
    assert (found.pairs, sum(side.total() for side in found.used), len(found.sample)) == (2, 5, 2)
    assert [dict(side) for side in found.used] == [{"a": 1, "b": 1}, {"c": 1, "d": 1, "e": 1}]


def corpus(pairs: int) -> CorpusSize:
    """As if there were so many pairs of about 60 letters a side."""
    words = [f"{chr(97 + number % 26)}{chr(97 + number // 26)}n" for number in range(60)]
    sample = tuple(Pair(" ".join(words[n % 7 : n % 60 + 9]), " ".join(words[: n % 23 + 7])) for n in range(200))
    used = tuple(Counter("".join(pair[side] for pair in sample)) for side in (0, 1))
    return CorpusSize(pairs, used, sample)


@pytest.mark.slow
@pytest.mark.parametrize("card", [None, H100, SMALL], ids=["processor", "H100", "6 GB"])
@pytest.mark.parametrize("pairs", [10, 2_000, 29_000, 200_000, 5_000_000])
def test_every_size_of_corpus_gives_a_run_that_builds(pairs: int, card: Card | None):
    sections, reasons = choose(corpus(pairs), card=card)
    layer = Layer({"data": {"source": "a", "target": "b"}, **sections})
    settings = resolve_run(layer)
    training = settings.training
    assert training.warmup + training.cooldown < training.steps
    assert training.validate_every * 5 <= training.steps
    assert len(reasons) >= 3


def test_more_pairs_never_give_a_smaller_vocabulary_or_more_dropout():
    for smaller, larger in pairwise(SIZES):
        assert smaller.pairs < larger.pairs
        assert smaller.vocabulary <= larger.vocabulary
        assert smaller.dropout >= larger.dropout


def test_for_a_gpu_more_passes_and_of_the_largest_corpora_the_papers_base_model():
    for pairs in (2_000, 200_000):
        (ours, _), (theirs, said) = choose(corpus(pairs)), choose(corpus(pairs), card=A100)
        assert [ours[key] for key in ("text", "batches", "model")] == [
            theirs[key] for key in ("text", "batches", "model")
        ]
        assert theirs["training"]["steps"] == pytest.approx(2 * ours["training"]["steps"], abs=100)
        assert any("for the GPU A100" in line for line in said)
    for card, tokens in ((H100, 25_000), (SMALL, 12_288), (replace(SMALL, memory=GIB // 2), 2_048)):
        sections, _ = choose(corpus(4_500_000), card=card)
        assert sections["model"] == {"preset": "paper-base", "dropout": 0.1}
        assert sections["batches"] == {"tokens": tokens} and sections["text"]["vocabulary_size"] == 32_000
        tuning, _ = choose_for_tuning(corpus(4_500_000), card=card)
        assert tuning["batches"] == {"tokens": tokens} and tuning["training"]["learning_rate"] == 7e-4 / 5


def test_a_machine_without_a_gpu_chooses_as_a_processor(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert card_here() is None
    be(A100, monkeypatch)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert card_here() is A100
    monkeypatch.delitem(sys.modules, "torch")  # not asked for a GPU that no driver is there for
    monkeypatch.setattr(card_module, "DRIVERS", ())
    monkeypatch.setenv("PATH", "")
    assert card_here() is None


def test_what_is_given_overrules_what_is_chosen():
    layer = read_run(
        None,
        ["training.steps=321", "training.cooldown=10", "model.width=64"],
        {"data": {"corpus": "copy", "count": 500}},
    )
    said: list[str] = []
    settings = resolve_layer(layer, said.append, choose_rest=True).settings
    assert settings.training.steps == 321
    assert settings.model.width == 64
    assert any("500 pairs" in line for line in said)


def test_without_data_it_says_what_to_give():
    with pytest.raises(UsageError) as caught:
        resolve_layer(Layer({}), print, choose_rest=True)
    assert "--source" in caught.value.hint


def chinese(pairs: int, characters: int = 900) -> list[Pair]:
    """Sources of 4 to 12 of so many Han characters, the lower ones oftener; targets a word for each."""
    draw = Random(1)
    found = []
    for _ in range(pairs):
        numbers = [int(characters * draw.random() ** 2) for _ in range(draw.randrange(4, 13))]
        words = [f"{'bcdfghjklm'[number % 10]}{'aeiou'[number // 10 % 5]}{number // 50}" for number in numbers]
        found.append(Pair("".join(chr(0x4E00 + number) for number in numbers), " ".join(words)))
    return found


def told_passes(reasons: list[str]) -> int:
    (found,) = re.findall(r"about (\d+) passes", " ".join(reasons))
    return int(found)


def passes_made(sections: dict[str, Any], pairs: list[Pair]) -> float:
    """With the vocabulary and the batches that a training makes of these pairs."""
    sides = [pair.source for pair in pairs], [pair.target for pair in pairs]
    tokenizers = train_pair(*sides, TextSettings(**sections["text"]))
    ids = [tokenizers.source.encode_batch(sides[0]), tokenizers.target.encode_batch(sides[1])]
    lengths = [np.array([len(row) for row in rows]) for rows in ids]
    plan = BatchPlan(*lengths, BatchSettings(**sections["batches"]), seed=3)
    return sections["training"]["steps"] / len(plan.epoch(2))


@pytest.mark.slow
def test_the_passes_that_are_told_are_made_whatever_the_script():
    pairs = chinese(4000)
    sections, reasons = choose(measure(pairs))
    assert told_passes(reasons) == pytest.approx(passes_made(sections, pairs), rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("count", [8_000, 27_000])
def test_the_passes_that_are_told_are_made_on_real_pairs(openwork_data: Callable[[str], Path], count: int):
    openwork_data("tatoeba-en-zh")
    data = {"corpus": "tatoeba-en-zh", "count": count, "valid_corpus": "copy"}
    pairs = list(load("tatoeba-en-zh", "train", count=count))
    said: list[str] = []
    settings = resolve_layer(Layer({"data": data}), said.append, choose_rest=True).settings
    sections = {key: getattr(settings, key).model_dump() for key in ("text", "batches", "training")}
    assert told_passes(said) == pytest.approx(passes_made(sections, pairs), rel=0.15)


def test_a_held_out_part_is_no_part_of_a_pass():
    whole = corpus(100_000)
    (all_sections, all_reasons), (part, reasons) = choose(whole), choose(replace(whole, trained=0.5))
    ways = [(all_sections, all_reasons), (part, reasons)]
    first, second = (found["training"]["steps"] / told_passes(why) for found, why in ways)
    assert first == pytest.approx(2 * second, rel=0.1)


@pytest.mark.slow
def test_the_vocabulary_has_the_characters_of_the_script():
    pairs = chinese(3000)
    sections, reasons = choose(measure(pairs))
    text = TextSettings(**sections["text"])
    assert text.vocabulary_size > 2000 and any("different characters" in line for line in reasons)
    tokenizer = train_pair(*([pair[side] for pair in pairs] for side in (0, 1)), text).source
    ids = [number for pair in pairs for number in tokenizer.encode(pair.source)]
    assert sum(number in unknown_ids(tokenizer) for number in ids) < 0.02 * len(ids)


def test_few_letters_leave_the_vocabulary_as_it_is():
    sections, _ = choose(corpus(10_000))
    assert sections["text"] == {"vocabulary_size": 2000, "placeholders": 10, "placeholder_share": 0.1}


@pytest.mark.parametrize(
    "given",
    [{"vocabulary_size": 300}, {"shared": False, "target_kind": "labels"}],
)
def test_no_placeholders_where_they_cannot_be(given: dict[str, Any]):
    sections, _ = choose(corpus(500), given)
    assert "placeholders" not in sections["text"]


def test_nor_with_a_vocabulary_from_a_file_nor_without_sources(tmp_path: Path):
    file = tmp_path / "tokenizer.json"
    train_pair(["a b c"] * 5, ["a"], TextSettings(vocabulary_size=300)).source.save(file)
    sections, _ = choose(corpus(500), {"source_file": str(file)})
    assert "placeholders" not in sections["text"]
    sections, _ = choose(measure([Pair("", "ab")] * 10))
    assert "placeholders" not in sections["text"]
