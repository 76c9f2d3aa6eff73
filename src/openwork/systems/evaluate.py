"""How good a translator is: scores of its translations against references, with signatures and intervals."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from openwork.base.errors import DataError
from openwork.metrics.accuracy import exact_match
from openwork.metrics.translation import Score, bleu, chrf, lowercased_bleu

BOOTSTRAP = 1000  # resamplings for the 95 % intervals


@dataclass(frozen=True)
class Evaluation:
    """The scores of one set of translations."""

    sentences: int
    scores: tuple[Score, ...]
    exact: float

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"sentences": self.sentences, "scores": [asdict(score) for score in self.scores], "exact": self.exact}

    def lines(self) -> list[str]:
        """For a person: one line a score, its signature below."""
        lines = []
        for score in self.scores:
            interval = f"  (95 %: {score.low:.2f} to {score.high:.2f})" if score.low is not None else ""
            lines += [f"{score.name:<8} {score.value:6.2f}{interval}", f"         {score.signature}"]
        lines.append(f"{'exact':<8} {100 * self.exact:6.2f} % of {self.sentences:,} sentences")
        return lines


def evaluate(
    hypotheses: Sequence[str], references: Sequence[str], language: str, bootstrap: int = BOOTSTRAP
) -> Evaluation:
    """BLEU and chrF of sacreBLEU, lc-BLEU as the Multi30k papers have it, and exact matches."""
    if len(hypotheses) != len(references):
        raise DataError(f"{len(hypotheses):,} translations against {len(references):,} references")
    if not references:
        raise DataError("there is nothing to evaluate", why="the corpus is empty")
    scores = (
        bleu(hypotheses, references, bootstrap=bootstrap),
        chrf(hypotheses, references, bootstrap=bootstrap),
        lowercased_bleu(hypotheses, references, language=language, bootstrap=bootstrap),
    )
    return Evaluation(len(references), scores, exact_match(hypotheses, references).value)
