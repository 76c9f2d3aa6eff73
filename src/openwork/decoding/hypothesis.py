"""What a search returns."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """One target sequence that a search proposes.

    `tokens` leaves out the start and the end symbol. `log_probability` is log P(tokens, end | source) in nats; of an
    unfinished hypothesis, one that the length limit stopped before its end symbol, log P(tokens | source). `score`
    is that divided by the length penalty; hypotheses are ranked by it.
    """

    tokens: tuple[int, ...]
    log_probability: float
    score: float
    finished: bool
