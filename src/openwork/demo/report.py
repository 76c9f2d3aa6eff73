"""The result of the demo on dates that its model has never seen, and the report of it."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from openwork.base.messages import msg
from openwork.base.pages import render
from openwork.base.phrases import AsIs
from openwork.data.corpora.dates import LOCALES, DateExample
from openwork.inspection.attention_view import PHONE, AttentionMap
from openwork.inspection.plots import Chart, Figures, Series
from openwork.metrics.ratio import Ratio
from openwork.runs.file.settings import RunSettings

RIGHT, WRONG = 9, 5
"""How many held-out dates are shown, of those that are right and those that are not, at most."""
WORST = 5
"""How many of the locales that are not all right are shown, at most; all are in a table that opens."""
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


class Samples(NamedTuple):
    """What is shown, and how it was chosen."""

    shown: Sequence[Sample]
    choice: str


class LocaleScores(NamedTuple):
    """The worst locales that are not all right, a sentence on all others (empty where none is), and all of them."""

    worst: Figures
    others: str
    all: Figures


@dataclass(frozen=True)
class DemoResult:
    """The held-out dates, what the model made of them, and the share that is exactly right."""

    examples: Sequence[DateExample]
    translations: Sequence[str]
    by_locale: dict[str, Ratio]
    seconds: float  # for translating all examples

    @property
    def total(self) -> Ratio:
        """Over all locales."""
        return sum(self.by_locale.values(), Ratio())

    @property
    def worst_locale(self) -> str:
        """Where it errs most."""
        return self.ranked[0][0]

    @property
    def ranked(self) -> list[tuple[str, Ratio]]:
        """The locales from the worst to the best, by name where they are equal."""
        return sorted(self.by_locale.items(), key=lambda item: (item[1].value, item[0]))


def demo_page(
    result: DemoResult,
    settings: RunSettings,
    records: Records,
    attention: Sequence[AttentionMap],
    given: Sequence[tuple[str, str]],
    language: str,
) -> str:
    """A single HTML file that opens from the disk and loads nothing, from measured values alone."""
    worst = result.worst_locale
    return render(
        "report.html",
        language,
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
        locales=locale_scores(result),
        samples=_samples(result, given),
        attention=attention,
        phone=PHONE,
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
        *((AsIs(key.replace("_", " ")), AsIs(value)) for key, value in model.items()),
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


def locale_scores(result: DemoResult) -> LocaleScores:
    """The locales for the report: the worst ones, a sentence on the others, and all of them."""
    ranked = result.ranked
    worst = [(locale, ratio) for locale, ratio in ranked if ratio.value < 1][:WORST]
    rest = [ratio for _, ratio in ranked[len(worst) :]]
    total = sum(rest, Ratio())
    if total.value == 1:
        others = msg(f"{len(rest)} locales: all of their {total.count:,} dates right")
    else:
        others = msg(f"{len(rest)} other locales: {total.total:,.0f} of their {total.count:,} dates right")
    columns = msg("locale"), msg("script"), msg("right"), msg("share")

    def figures(title: str, chosen: Sequence[tuple[str, Ratio]]) -> Figures:
        rows = tuple(
            (locale, LOCALES[locale], f"{ratio.total:.0f} / {ratio.count}", f"{100 * ratio.value:.1f} %")
            for locale, ratio in chosen
        )
        return Figures(title, columns, rows)

    return LocaleScores(
        figures(msg("The worst locales"), worst),
        others if rest else "",
        figures(msg("Locale by locale, the worst first"), ranked),
    )


def _samples(result: DemoResult, given: Sequence[tuple[str, str]]) -> Samples:
    pairs = list(zip(result.examples, result.translations, strict=True))
    right, wrong = ([pair for pair in pairs if (pair[0].iso == pair[1]) is is_right] for is_right in (True, False))
    own = [Sample(source, translation) for source, translation in given]
    held_out = [
        Sample(
            example.expression, translation, example.iso, right=example.iso == translation,
            source_language=example.locale.replace("_", "-"),
        )
        for example, translation in [*right[:RIGHT], *wrong[:WRONG]]
    ]  # fmt: skip
    first, last = min(len(right), RIGHT), min(len(wrong), WRONG)
    if wrong:
        choice = msg(
            f"The first {first} of {len(right):,} right ones and the first {last} of {len(wrong):,} wrong ones."
        )
    else:
        choice = msg(f"The first {first} of {len(right):,} dates, all of which are right.")
    return Samples((*own, *held_out), choice)


def _machine(result: DemoResult, records: Records) -> Facts:
    finished = [record for record in records if record["kind"] == "finished"]
    trained = msg(f"{finished[-1]['seconds']:.0f} s in updates") if finished else ""
    return (
        (msg("processor"), msg(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores")),
        (msg("Python and torch"), f"{platform.python_version()}, {torch.__version__}"),
        (msg("training"), trained),
        (msg("translating the held-out dates"), f"{result.seconds:.1f} s"),
    )
