"""Shows a run: a live block on a terminal, plain `key=value` lines elsewhere."""

import time
from dataclasses import dataclass, field

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from openwork.training.loop import LoopState, Observer
from openwork.training.progress import Validation, duration
from openwork.training.step import StepReport

SPARKS = "▁▂▃▄▅▆▇█"


def sparkline(values: list[float], width: int = 40) -> str:
    """The curve of some values in one line of block characters."""
    if not values:
        return ""
    size = min(width, len(values))
    picked = [values[round(i * (len(values) - 1) / max(size - 1, 1))] for i in range(size)]
    low, high = min(picked), max(picked)
    scale = (len(SPARKS) - 1) / (high - low) if high > low else 0.0
    return "".join(SPARKS[round((value - low) * scale)] for value in picked)


def printable(text: str) -> str:
    """The text with a space for each character that would move the cursor or command the terminal."""
    return "".join(character if character.isprintable() else " " for character in text)


@dataclass(eq=False)
class _ConsoleObserver(Observer):
    """Knows target tokens a second and seconds an update, over the last updates, validation left out."""

    console: Console
    speed: float = field(default=0.0, init=False)
    step_seconds: float = field(default=0.0, init=False)
    _last: float | None = field(default=None, init=False)

    def stepped(self, run: LoopState, report: StepReport) -> None:
        now = run.progress.seconds
        if self._last is not None:
            seconds = max(now - self._last, 1e-9)
            weight = 0.05 if self.step_seconds else 1.0
            self.step_seconds += weight * (seconds - self.step_seconds)
            self.speed += weight * (report.target_tokens / seconds - self.speed)
        self._last = now

    def remaining(self, run: LoopState) -> str:
        """The time until the last update, validations not counted."""
        return duration((run.settings.steps - run.progress.step) * self.step_seconds)


class LineObserver(_ConsoleObserver):
    """One plain line every `log_every` updates: nothing that a log file could not hold."""

    def _print(self, text: str) -> None:
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def stepped(self, run: LoopState, report: StepReport) -> None:
        super().stepped(run, report)
        if report.step % run.settings.log_every == 0:
            self._print(
                f"step={report.step} loss={report.loss:.4f} rate={report.learning_rate:.2e} "
                f"norm={report.gradient_norm:.2f} tokens_per_second={self.speed:.0f} "
                f"epoch={run.progress.epoch} remaining={self.remaining(run)}"
            )

    def validated(self, run: LoopState, validation: Validation) -> None:
        self._print(f"validation {describe(validation, ' ', '=')}")
        if validation.sample:
            source, reference, translation = validation.sample
            self._print(f"sample source={source!r} reference={reference!r} translation={translation!r}")

    def finished(self, run: LoopState) -> None:
        self._print(f"finished step={run.progress.step} reason={(run.stop_reason or 'all updates made')!r}")


def describe(validation: Validation, between: str, equals: str) -> str:
    figures = [
        ("step", validation.step, "d"),
        ("loss", validation.loss, ".4f"),
        ("perplexity", validation.perplexity, ".3f"),
        ("bleu", validation.bleu, ".2f"),
        ("chrf", validation.chrf, ".2f"),
        (validation.score_name, validation.score, ".2f"),
        ("exact", validation.exact, ".2%"),
        ("seconds", validation.seconds, ".1f"),
    ]
    return between.join(f"{name}{equals}{value:{form}}" for name, value, form in figures if value is not None)


@dataclass(eq=False)
class LiveObserver(_ConsoleObserver):
    """A block that is redrawn in place: progress, speed, loss curve, the last validation and a sample."""

    losses: list[float] = field(default_factory=list, init=False)
    _drawn: float = field(default=0.0, init=False)
    _live: Live | None = field(default=None, init=False)

    def started(self, run: LoopState) -> None:
        self._live = Live(console=self.console, auto_refresh=False, transient=False)
        self._live.start()

    def stepped(self, run: LoopState, report: StepReport) -> None:
        super().stepped(run, report)
        if not report.skipped:
            self.losses.append(report.loss)
        if time.perf_counter() - self._drawn > 0.25:
            self._draw(run, report)

    def validated(self, run: LoopState, validation: Validation) -> None:
        self._drawn = 0.0  # the next update shows it

    def finished(self, run: LoopState) -> None:
        if self._live is not None:
            self._draw(run, None)

    def closed(self, run: LoopState) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _draw(self, run: LoopState, report: StepReport | None) -> None:
        self._drawn = time.perf_counter()
        if self._live is not None:
            self._live.update(self._block(run, report), refresh=True)

    def _block(self, run: LoopState, report: StepReport | None) -> Group:
        steps, progress = run.settings.steps, run.progress
        table = Table.grid(padding=(0, 1))
        table.add_row("update", f"{progress.step:,} of {steps:,}", ProgressBar(steps, progress.step, width=30))
        left = f"about {self.remaining(run)} left, {progress.epoch} epochs done"
        table.add_row("speed", f"{self.speed:,.0f} tokens/s", left)
        if self.losses:
            recent = self.losses[-20:]
            table.add_row("loss", f"{sum(recent) / len(recent):.3f}", sparkline(self.losses))
        if report is not None:
            table.add_row("rate", f"{report.learning_rate:.2e}", f"gradient norm {report.gradient_norm:.2f}")
        if progress.validations:
            last = progress.validations[-1]
            table.add_row("held out", "", Text(describe(last, "  ", " ")))
            if last.sample:
                for name, text in zip(("source", "reference", "translation"), last.sample, strict=True):
                    table.add_row("", name, Text(printable(text), overflow="ellipsis", no_wrap=True))
        return Group(table)


def console_observer(console: Console) -> Observer:
    """The live block on a terminal, lines elsewhere."""
    return LiveObserver(console) if console.is_terminal and not console.is_dumb_terminal else LineObserver(console)
