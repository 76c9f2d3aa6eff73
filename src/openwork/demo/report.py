"""The result of the demo on dates that its model has never seen, and the report of it."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from openwork.base.messages import find_language, msg
from openwork.base.pages import render
from openwork.data.corpora.dates import LOCALES, DateExample
from openwork.inspection.attention_view import AttentionMap
from openwork.inspection.plots import Chart, Figures, Series
from openwork.metrics.ratio import Ratio
from openwork.runs.file.settings import RunSettings

SAMPLES = 24
Records = Sequence[dict[str, Any]]
Facts = tuple[tuple[str, str], ...]
"""What is shown as a name beside its value: ("updates", "2,000")."""


class Sample(NamedTuple):
    """A date, the output, and the reference; none for a date of the user's, which is neither right nor wrong.

    The language is a tag such as "de" or "zh-Hans", which helps a browser to choose fonts and voices.
    """

    source: str
    translation: str
    reference: str = ""
    right: bool | None = None
    source_language: str = ""
    note: str = ""


@dataclass(frozen=True)
class DemoResult:
    """The held-out dates, what the model made of them, and the share that is exactly right."""

    examples: Sequence[DateExample]
    translations: Sequence[str]
    by_locale: dict[str, Ratio]
    seconds: float  # for translating all examples

    @property
    def total(self) -> Ratio:
        return sum(self.by_locale.values(), Ratio())

    @property
    def worst_locale(self) -> str:
        return min(self.by_locale, key=lambda locale: self.by_locale[locale].value)


def demo_page(
    result: DemoResult,
    settings: RunSettings,
    records: Records,
    attention: Sequence[AttentionMap],
    given: Sequence[tuple[str, str]],
) -> str:
    """A single HTML file that opens from the disk and loads nothing, from measured values alone."""
    worst = result.worst_locale
    return render(
        "report.html",
        find_language(os.environ),
        title=msg("A Transformer learns to read dates"),
        summary=msg(
            f"Trained from nothing on {settings.data.count:,} dates as people write them in {len(result.by_locale)} "
            f"locales and {len({LOCALES[locale] for locale in result.by_locale})} scripts, to write them as ISO 8601. "
            "None of the dates below was seen in training."
        ),
        headline=(
            (msg("exactly right"), f"{100 * result.total.value:.2f} %"),
            (msg("worst locale"), f"{worst}, {100 * result.by_locale[worst].value:.1f} %"),
            (msg("held-out dates"), f"{result.total.count:,}"),
        ),
        settings=_settings(settings),
        curves=_curves(records),
        scores=_locales(result),
        samples=_samples(result, given),
        attention=attention,
        machine=_machine(result, records),
        next_steps=(
            (msg("Translate a date of your own"), "openwork demo '14. März 2031'"),
            (msg("Use it as a filter"), "openwork translate openwork-demo < dates.txt"),
            (
                msg("Train a translator on your own two files, line for line"),
                "openwork train --source your.en --target your.de --out en-de",
            ),
        ),
    )


def _settings(settings: RunSettings) -> Facts:
    model, training = settings.model.model_dump(exclude_none=True), settings.training
    return (
        *((key.replace("_", " "), str(value)) for key, value in model.items()),
        (msg("updates"), f"{training.steps:,}"),
        (msg("tokens a batch"), f"{settings.batches.tokens:,}"),
        (msg("peak learning rate"), f"{training.learning_rate:g}"),
        (msg("label smoothing"), f"{training.label_smoothing}"),
    )


def _curves(records: Records) -> tuple[Chart, ...]:
    steps = [record for record in records if record["kind"] == "step"]
    validations = [record for record in records if record["kind"] == "validation"]
    likelihood = Series(msg("training"), [(record["step"], record["likelihood"]) for record in steps])
    held_out = Series(msg("held out"), [(record["step"], record["loss"]) for record in validations])
    exact = Series(msg("held out"), [(record["step"], 100 * record["exact"]) for record in validations])
    rate = Series(msg("rate"), [(record["step"], record["learning_rate"]) for record in steps])
    return (
        Chart(msg("Loss"), msg("update"), msg("nats per token"), (likelihood, held_out), log_y=True),
        Chart(msg("Exactly right"), msg("update"), msg("per cent"), (exact,)),
        Chart(msg("Learning rate"), msg("update"), msg("rate"), (rate,)),
    )


def _locales(result: DemoResult) -> Figures:
    rows = tuple(
        (locale, LOCALES[locale], f"{ratio.total:.0f} of {ratio.count}", f"{100 * ratio.value:.1f} %")
        for locale, ratio in sorted(result.by_locale.items(), key=lambda item: (item[1].value, item[0]))
    )
    return Figures(
        msg("Locale by locale, the worst first"), (msg("locale"), msg("script"), msg("right"), msg("share")), rows
    )


def _samples(result: DemoResult, given: Sequence[tuple[str, str]]) -> tuple[Sample, ...]:
    pairs = list(zip(result.examples, result.translations, strict=True))
    wrong = [pair for pair in pairs if pair[0].iso != pair[1]]
    right = [pair for pair in pairs if pair[0].iso == pair[1]]
    own = [Sample(source, translation, note=msg("yours")) for source, translation in given]
    held_out = [
        Sample(
            example.expression, translation, example.iso, right=example.iso == translation,
            source_language=example.locale.replace("_", "-"),
        )
        for example, translation in [*wrong[: SAMPLES // 2], *right[: SAMPLES - len(wrong[: SAMPLES // 2])]]
    ]  # fmt: skip
    return (*own, *held_out)


def _machine(result: DemoResult, records: Records) -> Facts:
    finished = [record for record in records if record["kind"] == "finished"]
    trained = f"{finished[-1]['seconds']:.0f} s in updates" if finished else ""
    return (
        (msg("processor"), f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores"),
        (msg("Python and torch"), f"{platform.python_version()}, {torch.__version__}"),
        (msg("training"), trained),
        (msg("translating the held-out dates"), f"{result.seconds:.1f} s"),
    )
