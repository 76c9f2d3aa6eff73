"""How far a training has come: everything that is neither weight nor optimiser state, and fits on a page."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Metric = Literal["loss", "bleu", "chrf", "exact", "score"]


@dataclass(frozen=True)
class Validation:
    """The figures of one validation on held-out pairs.

    `loss`: nats per token without smoothing; `perplexity`: its exponential; then scores of translations. Models that
    label have a `score` instead, from 0 to 100, that of their task: `score_name` says which.
    """

    step: int
    loss: float
    perplexity: float
    bleu: float | None = None
    exact: float | None = None
    seconds: float = 0.0
    sample: tuple[str, str, str] | None = None  # source, reference, translation
    chrf: float | None = None
    signature: str = ""  # how BLEU was computed
    score: float | None = None
    score_name: str = ""

    def figure(self, metric: Metric) -> float:
        """The figure to compare by; higher is better for each metric."""
        value = -self.loss if metric == "loss" else getattr(self, metric)
        if value is None:
            raise ValueError(f"this validation has no {metric}: no sentences were translated")
        return value


@dataclass
class Progress:
    """The place of a run. `epoch` and `batch` name the next batch; `step` counts the updates that were made.

    `skipped`: how many of the last ones were skipped, in a row; `returns`: how often the weights of a checkpoint came
    back; `rate_scale`: what is left of the schedule's rate since then (`observers/control.py`). `divisions`: into how
    many parts a worker's share of a batch is divided, for want of memory. `seconds` on the clock, without validations;
    `processor_seconds` of all threads of this process, with them.
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    target_tokens: int = 0
    seconds: float = 0.0
    validations: list[Validation] = field(default_factory=list)
    skipped: int = 0
    returns: int = 0
    rate_scale: float = 1.0
    divisions: int = 1
    processor_seconds: float = 0.0

    def best(self, metric: Metric) -> Validation | None:
        """The best validation so far; of equal figures the one with the lower loss, then the earlier."""
        return max(self.validations, key=lambda validation: (validation.figure(metric), -validation.loss), default=None)

    def since_best(self, metric: Metric) -> int:
        """Validations since the best one."""
        best = self.best(metric)
        return 0 if best is None else len(self.validations) - 1 - self.validations.index(best)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Progress":
        found: list[dict[str, Any]] = [
            {**item, "sample": item["sample"] and tuple(item["sample"])} for item in values["validations"]
        ]
        fields: dict[str, Any] = {**values, "validations": [Validation(**item) for item in found]}
        return cls(**fields)


def duration(seconds: float) -> str:
    """41s, 3m05s, 1h02m."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
