"""The card of a bundle: what it is, in words that a person reads."""

from collections.abc import Sequence
from datetime import UTC, datetime

from openwork import __version__
from openwork.base.config import to_toml
from openwork.data.corpora import catalogue as corpora
from openwork.data.filters import FilterReport
from openwork.runs.file.settings import RunSettings
from openwork.training.progress import Progress, Validation


def write_card(
    settings: RunSettings, report: FilterReport, chosen: Validation, progress: Progress, history: Sequence[str] = ()
) -> str:
    """Markdown: data, training, validation scores, all settings."""
    data = settings.data
    origin = ", ".join(
        part.corpus or part.file or part.text or f"{part.source} and {part.target}" for part in data.parts
    )
    scores = [f"- loss {chosen.loss:.4f} nats per token, perplexity {chosen.perplexity:.3f}"]
    if chosen.bleu is not None:
        scores.append(f"- BLEU {chosen.bleu:.2f} (greedy search; {chosen.signature or 'sacreBLEU'})")
    if chosen.chrf is not None:
        scores.append(f"- chrF2 {chosen.chrf:.2f}")
    if chosen.score is not None:
        scores.append(f"- {chosen.score_name} {chosen.score:.2f}")
    if chosen.exact is not None:
        scores.append(f"- exact matches {100 * chosen.exact:.2f} %")
    return "\n".join(
        [
            f"# {settings.model.kind} trained on {origin}",
            "",
            f"Written by openwork {__version__} on {datetime.now(UTC):%Y-%m-%d}.",
            "",
            "## Data",
            *report.lines(),
            *dict.fromkeys(_terms(part.corpus) for part in data.parts),
            "",
            "## Training",
            f"{progress.step:,} updates, {progress.target_tokens:,} target tokens, "
            f"{progress.seconds / 60:.1f} minutes.",
            *_end(progress.step, settings.training.steps),
            *history,
            "",
            "## Scores on the validation pairs (weights were chosen on them)",
            *scores,
            "",
            "## Settings",
            "```toml",
            to_toml(settings).strip(),
            "```",
            "",
        ]
    )


def _end(made: int, steps: int) -> list[str]:
    return [f"The run ended early: its settings ask for {steps:,} updates."] if made < steps else []


def _terms(corpus: str | None) -> str:
    """Where the data come from and on what terms, as far as it is known."""
    if corpus is None:
        return "Files of your own: their terms are known to you. Mind them before you pass this folder on."
    return f"Terms of the corpus: {corpora.find(corpus).terms}."
