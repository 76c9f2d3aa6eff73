"""Minimum Bayes risk: of several targets the one that the others agree with most (Kumar and Byrne 2004).

The expected utility of a target is the mean of its utility against each of them as if it were the reference. For
samples the mean is plain, since the more probable come more often (Eikema and Aziz 2020); for the distinct targets of
a beam it is weighted by their probabilities.
"""

from collections.abc import Callable, Sequence

import torch

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


def equal_weights(count: int) -> list[float]:
    """For samples."""
    return [1 / count] * count


def probability_weights(log_probabilities: Sequence[float]) -> list[float]:
    """For the distinct hypotheses of a beam: their probabilities, made to sum to 1."""
    return torch.tensor(log_probabilities, dtype=torch.float64).softmax(0).tolist()
