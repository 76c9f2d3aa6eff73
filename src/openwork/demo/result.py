"""How the demo's model did on dates that it has never seen."""

from collections.abc import Sequence
from dataclasses import dataclass

from openwork.data.corpora.dates import DateExample
from openwork.metrics.ratio import Ratio


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
        return min(self.by_locale, key=lambda locale: self.by_locale[locale].value)
