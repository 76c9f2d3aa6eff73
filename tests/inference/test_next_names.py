"""Names that come next: ranked by a language model, and scored, by hand and beside counts."""

from math import log2
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from openwork.base.errors import UsageError
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.bundles.settings import BundleSettings, tokenizers_for_task
from openwork.cli.main import app
from openwork.data.records import Pair
from openwork.evaluation.baselines import text_baseline
from openwork.evaluation.evaluate import EvaluationSet
from openwork.evaluation.label_scores import label_scores
from openwork.evaluation.labels import evaluate_next
from openwork.evaluation.saved import compare, read_output, write_evaluation
from openwork.inference.next_names import NextNameRanker
from openwork.inference.scorer import Scorer
from openwork.metrics.significance import Effort
from openwork.models.build import build_model
from openwork.models.settings import DecoderSettings
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.kinds import KINDS
from openwork.text.pieces.words import Labels

NAMES = ["one", "two", "three", "four", "five", "six"]


def bundle(kind: str = "labels") -> Bundle:
    names = Labels.of(NAMES) if kind == "labels" else KINDS["words"].learn([" ".join(NAMES)] * 3, 400)
    tokenizers = tokenizers_for_task(TokenizerPair(names, names), "language-model")
    settings = DecoderSettings(width=8, heads=2, feedforward_width=8, layers=1, maximum_length=8, positions="learned")
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = build_model(settings, names.vocabulary_size, names.vocabulary_size)
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(torch.randn_like(weight))  # so that names differ
    return Bundle(BundleSettings(model=settings), tokenizers, model.eval())


def test_the_ranking_is_that_of_the_probabilities() -> None:
    """Two ways, one answer: the ranking in a batch, and the probability of each name alone."""
    model = bundle()
    sources = ["one two", "three", "six five four two"]
    ranked = NextNameRanker(model).rank(sources, 10)
    scorer = Scorer(model.model, model.tokenizers)
    for source, names in zip(sources, ranked, strict=True):
        left = [name for name in NAMES if name not in source.split()]
        first = {name: scorer.score([(source, name)])[0].log_probabilities[0] for name in left}
        assert names == sorted(left, key=lambda name: -first[name])


def test_of_a_long_sequence_the_end_is_read() -> None:
    """The model reads eight positions: the start, six names and the next one."""
    long = "six three one two three four one two"
    whole, end = NextNameRanker(bundle()).rank([long, " ".join(long.split()[-6:])], 6)
    assert whole == [name for name in end if name != "six"] and len(whole) == 1


def test_another_model_is_refused() -> None:
    with pytest.raises(UsageError, match="pieces of words") as refused:
        NextNameRanker(bundle("words"))
    assert refused.value.code == "U116"


def test_scores_by_hand() -> None:
    ten = " ".join(f"n{number}" for number in range(1, 11))
    scores = {one.name: one.value for one in label_scores("next", ["n1", "n3", "none", "n1"], [ten, ten, ten, "n2"])}
    assert scores == pytest.approx(
        {"hit@1": 25, "hit@10": 50, "NDCG@10": 25 * (1 + 1 / log2(4)), "MRR@10": 25 * (1 + 1 / 3)}
    )


def test_baselines_by_hand() -> None:
    train = EvaluationSet([Pair("a", "b c b d"), Pair("b", "d"), Pair("e", "b c")], "train")
    tested = EvaluationSet([Pair("a b", "d"), Pair("x", "b")], "test")
    # after b came c twice and d once or twice: b c, b d | b d | b c
    _, popular = text_baseline("popular", train, tested)
    assert popular.translations == ["c d e", "b c d a e"]
    _, markov = text_baseline("markov", train, tested)
    assert markov.translations == ["c d e", "b c d a e"]
    (after_a,) = text_baseline("markov", train, EvaluationSet([Pair("d a", "b")], "test"))[1].translations
    assert after_a == "b c e"


def test_saved_rankings_are_compared(tmp_path: Path) -> None:
    model, folder = bundle(), tmp_path / "model"
    write_bundle(folder, model)
    tested = EvaluationSet([Pair("one two", "three"), Pair("three", "six"), Pair("five", "one")], "test")
    result, saved = evaluate_next(model, tested, lambda count: None)
    assert [score.name for score in result.scores] == ["hit@1", "hit@10", "NDCG@10", "MRR@10"]
    assert result.scores[1].value == 100.0  # all six names are ranked
    write_evaluation(tmp_path / "model-scored", saved)
    write_evaluation(tmp_path / "counts", text_baseline("popular", tested, tested)[1])
    outputs = [read_output(tmp_path / name) for name in ("model-scored", "counts")]
    compared = compare(*outputs, None, None, Effort(50, 50))
    assert compared.task == "next" and len(compared.to_json()["metrics"]) == 4
    (tmp_path / "source").write_text("one two\nthree\n")
    (tmp_path / "reference").write_text("three\nsix\n")
    files = ["--source", str(tmp_path / "source"), "--reference", str(tmp_path / "reference")]
    done = CliRunner().invoke(app, ["evaluate", str(folder), "--next", *files])
    assert done.exit_code == 0 and "NDCG@10" in done.output
