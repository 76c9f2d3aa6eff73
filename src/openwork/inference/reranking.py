"""Reranking by minimum Bayes risk with BLEU or chrF."""

from collections.abc import Sequence

from openwork.decoding.bayes_risk import Utility, expected_utilities
from openwork.metrics.languages import bleu_tokenisation
from openwork.metrics.translation import chrf_metric


def _chrf(texts: Sequence[str]) -> Utility:
    metric = chrf_metric()
    return lambda text, reference: metric.sentence_score(text, [reference]).score


def _bleu(texts: Sequence[str]) -> Utility:
    """BLEU with the n-gram orders that a short sentence has (sacreBLEU's effective order)."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(tokenize=bleu_tokenisation(None, texts), effective_order=True)
    return lambda text, reference: metric.sentence_score(text, [reference]).score


UTILITIES = {"chrf": _chrf, "bleu": _bleu}


def agreements(texts: Sequence[str], weights: Sequence[float], metric: str) -> list[float]:
    """The agreement of the other texts with each text, from 0 to 100."""
    return expected_utilities(texts, weights, UTILITIES[metric](texts))
