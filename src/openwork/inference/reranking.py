"""Minimum Bayes risk: of several targets the one that the others agree with most (Kumar and Byrne 2004).

The expected utility of a target is the mean of its utility against each of them as if it were the reference. For
samples the mean is plain, since the more probable come more often (Eikema and Aziz 2020); for the distinct targets of
a beam it is weighted by their probabilities.
"""

from collections.abc import Callable, Sequence

from openwork.metrics.translation import bleu_tokenisation, chrf_metric

Utility = Callable[[str, str], float]
"""How good the first text is if the second is right."""


def expected_utilities(texts: Sequence[str], weights: Sequence[float], utility: Utility) -> list[float]:
    """The expected utility of each text; the weights are those of the same texts as references, and sum to 1."""
    distinct = list(dict.fromkeys(texts))
    shares = dict.fromkeys(distinct, 0.0)
    for text, weight in zip(texts, weights, strict=True):
        shares[text] += weight
    found = {one: sum(share * utility(one, other) for other, share in shares.items()) for one in distinct}
    return [found[text] for text in texts]


def agreements(texts: Sequence[str], weights: Sequence[float], metric: str) -> list[float]:
    """The agreement of the other texts with each text by "chrf" or "bleu", from 0 to 100.

    BLEU takes the n-gram orders that a short sentence has (sacreBLEU's effective order).
    """
    from sacrebleu.metrics.bleu import BLEU

    used = chrf_metric() if metric == "chrf" else BLEU(tokenize=bleu_tokenisation(None, texts), effective_order=True)
    return expected_utilities(texts, weights, lambda text, other: used.sentence_score(text, [other]).score)
