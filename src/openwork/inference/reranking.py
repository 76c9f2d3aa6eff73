"""Reranking by minimum Bayes risk with BLEU or chrF."""

from collections.abc import Sequence

from openwork.decoding.bayes_risk import expected_utilities
from openwork.metrics.translation import bleu_tokenisation, chrf_metric


def agreements(texts: Sequence[str], weights: Sequence[float], metric: str) -> list[float]:
    """The agreement of the other texts with each text by "chrf" or "bleu", from 0 to 100.

    BLEU takes the n-gram orders that a short sentence has (sacreBLEU's effective order).
    """
    from sacrebleu.metrics.bleu import BLEU

    used = chrf_metric() if metric == "chrf" else BLEU(tokenize=bleu_tokenisation(None, texts), effective_order=True)
    return expected_utilities(texts, weights, lambda text, other: used.sentence_score(text, [other]).score)
