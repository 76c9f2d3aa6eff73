"""A penalty for tokens that the target holds already."""

from openwork.decoding.rules import Prefixes, TokenRule
from openwork.nn.shapes import Logits


class RepetitionPenalty(TokenRule):
    """The log-probability of a token that the target holds already counts `strength` times: p becomes p^strength.

    Keskar et al. 2019 (CTRL, section 4.1) divide the logit; but logits have no zero of their own, so that the effect
    of that depends on a constant which changes no probability. On log-probabilities, as searches in common use have
    it, the penalty means the same for every model.
    """

    def __init__(self, strength: float) -> None:
        self.strength = strength

    def lower(self, log_probabilities: Logits, prefixes: Prefixes) -> Logits:
        written = prefixes.tokens[:, 1:]
        return log_probabilities.scatter(1, written, log_probabilities.gather(1, written) * self.strength)
