"""Scores: right by hand on small corpora, with signature and interval."""

import math
import os
import subprocess
import sys

import pytest

from openwork.base.errors import ConfigError, DataError
from openwork.metrics.translation import bleu, chrf, lowercased_bleu

REFERENCE = ["the cat sat on the mat ."]
HYPOTHESIS = ["the cat sat on a mat ."]


def test_bleu_by_hand() -> None:
    # 7 words each. Right are 6 of 7 words; 4 of 6 pairs (the-cat, cat-sat, sat-on, mat-.); 2 of 5 triples
    # (the-cat-sat, cat-sat-on); 1 of 4 fours (the-cat-sat-on).
    expected = 100 * (6 / 7 * 4 / 6 * 2 / 5 * 1 / 4) ** 0.25
    assert bleu(HYPOTHESIS, REFERENCE).value == pytest.approx(expected)


def test_a_short_corpus_pays_the_brevity_penalty() -> None:
    # 5 of 7 words, all right: precision 1 everywhere, penalty exp(1 - 7/5).
    assert bleu(["the cat sat on the"], REFERENCE).value == pytest.approx(100 * math.exp(1 - 7 / 5))


def test_chrf_of_equal_and_foreign_texts() -> None:
    assert chrf(REFERENCE, REFERENCE).value == pytest.approx(100)
    assert chrf(["xyz"], ["abc"]).value == 0
    assert chrf(REFERENCE, REFERENCE).name == "chrF2"


def test_without_resamples_there_is_no_interval() -> None:
    for score in (bleu(["a b"], ["a b"]), chrf(["a b"], ["a b"])):
        assert score.low is None and score.high is None


@pytest.mark.slow
def test_signatures_say_how_it_was_done() -> None:
    assert bleu(HYPOTHESIS, REFERENCE).signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert "case:lc|eff:no|tok:moses-de" in lowercased_bleu(HYPOTHESIS, REFERENCE, language="de").signature
    assert "bs:100|seed:12345" in bleu(HYPOTHESIS, REFERENCE, bootstrap=100).signature


@pytest.mark.slow
def test_lowercased_bleu_ignores_case_and_splits_as_moses_does() -> None:
    reference = ["Ein Mann isst Brot, Käse & „Wurst“ z.B. um 12.30 Uhr."]
    assert lowercased_bleu([reference[0].upper().replace("SS", "ss")], reference, language="de").value > 99.9
    # Nothing is escaped: "&" stays one word on both sides, and sacreBLEU does not split "z.b." again.
    by_hand = ["ein mann isst brot , käse & „ wurst “ z.b. um 12.30 uhr ."]
    assert lowercased_bleu(reference, reference, language="de").value == pytest.approx(
        lowercased_bleu(by_hand, reference, language="de").value
    )
    assert bleu(["EIN MANN"], ["ein mann"]).value == 0


def test_the_interval_holds_the_score_and_is_the_same_again() -> None:
    references = [f"sentence number {number} of the small test set" for number in range(40)]
    hypotheses = [text if index % 3 else "something else entirely here" for index, text in enumerate(references)]
    for score in (bleu, chrf):
        plain, first = score(hypotheses, references), score(hypotheses, references, bootstrap=200)
        assert plain.low is None and plain.high is None
        assert first.low is not None and first.high is not None
        assert first.low < first.value < first.high
        assert first == score(hypotheses, references, bootstrap=200)


def test_resamples_without_any_match_can_be_averaged() -> None:
    """One sentence of two is wholly wrong: a quarter of the resamples scores a plain zero."""
    for score in (bleu, chrf):
        found = score(["a b c d e", "x"], ["a b c d e", "k l m n o"], bootstrap=100)
        assert found.low is not None and found.high is not None
        assert found.low < found.high


def test_the_seed_leaves_the_environment_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", "99")
    assert "seed:12345" in bleu(HYPOTHESIS, REFERENCE, bootstrap=10).signature
    assert os.environ["SACREBLEU_SEED"] == "99"
    monkeypatch.delenv("SACREBLEU_SEED")
    bleu(HYPOTHESIS, REFERENCE)
    assert "SACREBLEU_SEED" not in os.environ


def test_blank_translations_are_scored() -> None:
    assert bleu(["", "a b c d e"], ["x", "a b c d e"]).value > 0
    assert bleu([""], ["x"]).value == 0


@pytest.mark.slow
def test_what_cannot_be_scored_is_refused() -> None:
    with pytest.raises(DataError, match="2 outputs cannot be compared with 1 references"):
        bleu(["a", "b"], ["a"])
    with pytest.raises(DataError, match="nothing to score"):
        chrf([], [])
    with pytest.raises(ConfigError, match="not a language code"):
        lowercased_bleu(HYPOTHESIS, REFERENCE, language="../x")


def test_scorers_are_loaded_only_when_used() -> None:
    program = (
        "import sys, openwork.metrics.translation, openwork.metrics.ratio\n"
        "print({'sacrebleu', 'sacremoses', 'numpy', 'torch'} & sys.modules.keys())"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert run.stdout == "set()\n", run.stderr


def test_chrf_by_hand() -> None:
    """Of "abcdefgh" beside "abcdef", of n-grams of 1 to 6 characters 6/8, 5/7, 4/6, 3/5, 2/4 and 1/3 are right.

    The precision is the mean of these, the recall 1; F2 = 5 P R / (4 P + R). White space does not count.
    """
    precision = (6 / 8 + 5 / 7 + 4 / 6 + 3 / 5 + 2 / 4 + 1 / 3) / 6
    expected = 100 * 5 * precision / (4 * precision + 1)
    assert chrf(["abcdefgh"], ["abcdef"]).value == pytest.approx(expected)
    assert chrf(["abcdef"], ["abcdefgh"]).value == pytest.approx(100 * 5 * precision / (4 + precision))
    assert chrf(["ab cd efgh"], ["a bcd e f"]).value == pytest.approx(expected)
