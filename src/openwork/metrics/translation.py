"""Scores of translations, all computed by sacreBLEU, with its signature and bootstrap intervals.

sacreBLEU and sacremoses are imported where they are used, so that a command that scores nothing does not wait.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from openwork.base.errors import ConfigError, DataError
from openwork.metrics.languages import bleu_tokenisation

_SEED_VARIABLE = "SACREBLEU_SEED"


@dataclass(frozen=True)
class Score:
    """A corpus score from 0 to 100; `low` and `high` bound it with 95 % confidence where it was resampled."""

    name: str
    value: float
    low: float | None
    high: float | None
    signature: str

    @property
    def interval(self) -> tuple[float, float] | None:
        """`low` and `high`, where it was resampled."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def line(self, width: int = 8) -> str:
        """A line of a report: the name in so many columns, the value and its interval."""
        interval = f"  (95 %: {self.low:.2f} to {self.high:.2f})" if self.interval else ""
        return f"{self.name:<{width}} {self.value:6.2f}{interval}"

    def __str__(self) -> str:
        return " ".join(self.line().split())


def bleu(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    language: str | None = None,
    bootstrap: int = 0,
    seed: int = 12345,
) -> Score:
    """BLEU as WMT reports it: cased, sacreBLEU's tokenisation 13a, or that of Chinese, Japanese or Korean.

    `language` is the code of the target language; without one, the writing of the references tells those three.
    `bootstrap` is the number of resamples, 0 for none. Papineni et al. (2002); Post, "A Call for Clarity in Reporting
    BLEU Scores" (2018).
    """
    metric = bleu_metric(bleu_tokenisation(language, references))
    return _score("BLEU", metric, hypotheses, references, bootstrap, seed)


def bleu_metric(tokenisation: str) -> Any:
    """sacreBLEU's metric object."""
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize=tokenisation, force=True)


def chrf_metric() -> Any:
    """sacreBLEU's metric object; white space does not count, so that Chinese needs no other."""
    from sacrebleu.metrics.chrf import CHRF

    return CHRF()


def chrf(hypotheses: Sequence[str], references: Sequence[str], *, bootstrap: int = 0, seed: int = 12345) -> Score:
    """chrF2: F-score of character n-grams up to 6. Popović (2015)."""
    return _score("chrF2", chrf_metric(), hypotheses, references, bootstrap, seed)


def lowercased_bleu(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    language: str,
    bootstrap: int = 0,
    seed: int = 12345,
) -> Score:
    """ "lc-BLEU" of the Multi30k papers: both sides lower-cased and tokenised by Moses' rules for the target language.

    `language` is the code of the target language ("de"). Nothing is escaped, and sacreBLEU does not split again.
    """
    from sacremoses import MosesTokenizer

    if not language.isalpha() or len(language) > 3:
        raise ConfigError(
            f"{language!r} is not a language code", hint='give two letters, for example "de"', code="C033"
        )
    moses = MosesTokenizer(lang=language)

    def prepared(lines: Sequence[str]) -> list[str]:
        return [str(moses.tokenize(line.lower(), return_str=True, escape=False)) for line in lines]

    score = _score("lc-BLEU", bleu_metric("none"), prepared(hypotheses), prepared(references), bootstrap, seed)
    signature = score.signature.replace("case:mixed", "case:lc").replace("tok:none", f"tok:moses-{language}")
    return Score(score.name, score.value, score.low, score.high, signature)


def _score(
    name: str, metric: Any, hypotheses: Sequence[str], references: Sequence[str], bootstrap: int, seed: int
) -> Score:
    check_aligned(hypotheses, references)
    give_plain_numbers(metric)
    with seeded(seed):
        result = metric.corpus_score(list(hypotheses), [list(references)], n_bootstrap=max(bootstrap, 1))
    low = high = None
    if bootstrap > 1:
        low, high = float(result._mean - result._ci), float(result._mean + result._ci)
    return Score(name, float(result.score), low, high, str(metric.get_signature()))


def check_aligned(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """DataError unless there is at least one line, and as many translations as references."""
    if len(hypotheses) != len(references):
        raise DataError(
            f"{len(hypotheses):,} translations cannot be scored against {len(references):,} references",
            hint="give one reference line for each translation, in the same order",
            code="D069",
        )
    if not references:
        raise DataError(
            "there is nothing to score", why="the test set is empty", hint="give at least one line", code="D070"
        )


def give_plain_numbers(metric: Any) -> None:
    """sacreBLEU resamples to numbers of numpy, but to a plain 0.0 where nothing matches, and fails to average both."""
    compute = metric._compute_score_from_stats

    def compute_plain(stats: list[int]) -> Any:
        score = compute(stats)
        score.score = float(score.score)
        return score

    metric._compute_score_from_stats = compute_plain


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """sacreBLEU takes the seed of its resampling from the environment, and from nowhere else."""
    before = os.environ.get(_SEED_VARIABLE)
    os.environ[_SEED_VARIABLE] = str(seed)
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SEED_VARIABLE]
        else:
            os.environ[_SEED_VARIABLE] = before
