"""The end of an experiment: which test set, and the scores that its sentences are compared by."""

from pathlib import Path

import pytest

from experiments.samples import HEAD, begun, write_experiment
from openwork.base.errors import ConfigError
from openwork.experiments.file import read_experiment
from openwork.experiments.final import set_scores
from openwork.experiments.final import test_set as read_test_set
from openwork.metrics.translation import bleu, chrf
from openwork.metrics.two_way_bootstrap import corpus_metric

LINES = ["a b c d e", "f g h i", "k l m n o p"]
REFERENCES = ["a b c d f", "f g h i", "k l n m o p"]


def factors(more: str) -> str:
    return HEAD.format(kind="factors", more=more) + '[[variants]]\nname = "one"\n'


def test_a_split_of_the_corpus(tmp_path: Path):
    tested = read_test_set(begun(tmp_path, factors('test = "test"'))[0])
    assert tested is not None and len(tested.pairs) == 500


def test_files_in_place_of_a_split(tmp_path: Path):
    for name in ("a.en", "a.de"):
        (tmp_path / name).write_text(f"one {name}\ntwo\n", encoding="utf-8")
    text = factors(f'test_source = "{tmp_path}/a.en"\ntest_target = "{tmp_path}/a.de"')
    tested = read_test_set(begun(tmp_path, text)[0])
    assert tested is not None and list(tested.references) == ["one a.de", "two"]


def test_no_test_set_is_no_mistake(tmp_path: Path):
    assert read_test_set(begun(tmp_path, factors(""))[0]) is None


def test_a_split_needs_a_corpus(tmp_path: Path):
    base = '[data]\nsource = "a.en"\ntarget = "a.de"\n[model]\npreset = "nano"\n'
    experiment = read_experiment(write_experiment(tmp_path, factors('test = "test"'), base))
    with pytest.raises(ConfigError, match=r'test = "test" is a split of a corpus') as refused:
        read_test_set(experiment)
    assert refused.value.code == "C142" and "test_source" in str(refused.value.hint)


@pytest.mark.parametrize("metric", ["bleu", "chrf"])
def test_statistics_of_the_sentences_make_the_score_of_the_whole(metric: str):
    found = set_scores(LINES, REFERENCES, metric, None)
    whole = {"bleu": bleu, "chrf": chrf}[metric](LINES, REFERENCES)
    assert found.scores[metric] == whole.value and found.signature == whole.signature
    sums = [sum(column) for column in zip(*found.statistics, strict=True)]
    assert corpus_metric(metric).score([sums])[0] == pytest.approx(whole.value)
    assert found.sentences[1] == pytest.approx(100) and len(found.sentences) == 3
    assert 0 < found.sentences[0] < 100


def test_exact_matches():
    found = set_scores(LINES, REFERENCES, "exact", None)
    assert found.sentences == (0, 100, 0) and found.scores["exact"] == pytest.approx(100 / 3)
    assert found.signature == "exact" and found.statistics == ()
