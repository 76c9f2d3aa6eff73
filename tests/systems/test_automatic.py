"""Settings that nobody gave: chosen from the data, told, and overruled by whatever is given."""

from itertools import pairwise

import pytest

from openwork.base.config import Layer
from openwork.base.errors import UsageError
from openwork.data.records import Pair
from openwork.systems.automatic import SIZES, Corpus, choose, measure, resolve
from openwork.systems.run_file import read_run, resolve_run


def test_measure_counts_pairs_and_characters_of_both_sides():
    assert measure([Pair("ab", "c"), Pair("", "de")]) == Corpus(2, 5)


@pytest.mark.parametrize("pairs", [10, 2_000, 29_000, 200_000, 5_000_000])
def test_every_size_of_corpus_gives_a_run_that_builds(pairs):
    sections, reasons = choose(Corpus(pairs, pairs * 120))
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


def test_what_is_given_overrules_what_is_chosen():
    layer = read_run(
        None, ["training.steps=321", "training.cooldown=10", "model.width=64"], {"data": {"corpus": "copy"}}
    )
    said: list[str] = []
    settings = resolve(layer, said.append, choose_rest=True)
    assert settings.training.steps == 321
    assert settings.model.width == 64
    assert any("20,000 pairs" in line for line in said)


def test_without_data_it_says_what_to_give():
    with pytest.raises(UsageError) as caught:
        resolve(Layer({}), print, choose_rest=True)
    assert "--source" in caught.value.hint
