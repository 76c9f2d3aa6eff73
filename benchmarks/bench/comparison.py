"""Ratios of ours to theirs, beside what the project wants of them.

Rounds are interleaved, so a ratio is taken within each round: a slow moment of the machine hits both sides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench import ceilings, training
from bench.measurement import OURS, Middle, middle
from bench.options import Options
from bench.translating import BEAMS, key

Results = dict[str, list[dict[str, Any]]]
AT_MOST, AT_LEAST = "at most", "at least"
GREEDY, BEAM = BEAMS


@dataclass(frozen=True)
class Wanted:
    """A target: ours over theirs, by round."""

    claim: str
    ours: Sequence[float]
    theirs: Sequence[float]
    target: float
    direction: str = AT_LEAST

    @property
    def ratio(self) -> Middle | None:
        """None where one side was not measured."""
        pairs = zip(self.ours, self.theirs, strict=False)
        return middle(one / other for one, other in pairs if other)

    def to_json(self) -> dict[str, Any]:
        ratio = self.ratio
        known = {"claim": self.claim, "target": self.target, "direction": self.direction}
        if ratio is None:
            return known
        met = ratio.median <= self.target if self.direction == AT_MOST else ratio.median >= self.target
        return {**known, **ratio.to_json(), "met": met}


def values(results: Results, name: str, figure: str) -> list[float]:
    """One figure of a measurement, a value a round; rounds that failed have none."""
    return [result[figure] for result in results.get(name, []) if figure in result]


def speeds(results: Results, name: str) -> dict[str, list[float]]:
    """Sentences a second of a translating measurement by setting, a value a round."""
    found: dict[str, list[float]] = {}
    for result in results.get(name, []):
        for setting, speed in result.get("sentences_per_second", {}).items():
            found.setdefault(setting, []).append(speed)
    return found


def best(results: Results, beginning: str) -> tuple[str, list[float]]:
    """The fastest setting of all measurements whose names begin so, and its speeds by round."""
    candidates = [
        (f"{name.removeprefix(beginning).strip('/')}, {setting}".strip(", "), by_round)
        for name in results
        if f"{name}/".startswith(f"{beginning}/")
        for setting, by_round in speeds(results, name).items()
    ]
    return max(candidates, key=lambda one: sorted(one[1])[len(one[1]) // 2], default=("", []))


def quickest(results: Results, beginning: str) -> tuple[str, list[float]]:
    """The lowest p50 of all measurements of single sentences whose names begin so."""
    candidates = [
        (name.removeprefix(beginning).strip("/"), times)
        for name in results
        if f"{name}/".startswith(f"{beginning}/") and (times := values(results, name, "p50"))
    ]
    return min(candidates, key=lambda one: sorted(one[1])[len(one[1]) // 2], default=("", []))


def wanted(results: Results, options: Options) -> list[Wanted]:
    """Everything that the project wants of these figures."""
    claims = _training(results, options)
    for count in options.sentences:
        claims += _translating(results, count)
    return [*claims, *_single(results)]


def tokens(results: Results, peer: str, precision: str, batches: str = training.GIVEN) -> list[float]:
    """Training speed by round."""
    return values(results, training.key(peer, precision, batches), "tokens_per_second")


def shares(results: Results, options: Options, peer: str, precision: str, batches: str = training.GIVEN) -> list[float]:
    """Training speed by round as a share of what the matrix products of that number type would allow."""
    limits = values(results, ceilings.key(precision, options.threads), "gflops")
    found = []
    for result, limit in zip(results.get(training.key(peer, precision, batches), []), limits, strict=False):
        if "tokens_per_second" in result:
            found.append(result["tokens_per_second"] * result["flops_per_token"] / (1e9 * limit))
    return found


def _training(results: Results, options: Options) -> list[Wanted]:
    ours = tokens(results, OURS, "bfloat16")
    marian = tokens(results, "marian", "float32", training.OWN)
    joeynmt = {batches: tokens(results, "joeynmt", "float32", batches) for batches in (training.OWN, training.GIVEN)}
    share = shares(results, options, OURS, "bfloat16")
    return [
        Wanted("training bf16 / Hugging Face bf16", ours, tokens(results, "huggingface", "bfloat16"), 3.0),
        Wanted("training bf16 / Marian fp32", ours, marian, 4.0),
        Wanted("training bf16 / JoeyNMT fp32", ours, joeynmt[training.OWN], 10.0),
        Wanted("training bf16 / JoeyNMT fp32, given our batches", ours, joeynmt[training.GIVEN], 10.0),
        Wanted("training bf16 / its matrix limit", share, [1.0] * len(share), 0.8),
        Wanted("training fp32 / Marian fp32", tokens(results, OURS, "float32"), marian, 1.0),
    ]


def _translating(results: Results, count: int) -> list[Wanted]:
    claims = []
    for beam in BEAMS:
        kind = f"translating/{count}"
        name = "greedy" if beam == GREEDY else f"beam {beam}"
        _, own = best(results, key(kind, beam, OURS))
        title = f"{count:,} sentences, {name}"
        _, fastest = best(results, key(kind, beam, "ctranslate2"))
        claims.append(Wanted(f"{title} / CTranslate2's best", own, fastest, 1.2))
        for precision, factor in (("float32", 8.0), ("bfloat16", 5.0)):
            _, theirs = best(results, key(kind, beam, "huggingface", precision))
            claims.append(Wanted(f"{title} / Hugging Face {precision}", own, theirs, factor))
    return claims


def _single(results: Results) -> list[Wanted]:
    claims = []
    for beam in BEAMS:
        name = "greedy" if beam == GREEDY else f"beam {beam}"
        _, own = quickest(results, key("single", beam, OURS))
        _, theirs = quickest(results, key("single", beam, "ctranslate2"))
        claims.append(Wanted(f"one sentence, {name}, p50 / CTranslate2's best", own, theirs, 1.0, AT_MOST))
    return claims
