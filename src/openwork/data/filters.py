"""Filters of training pairs, and a report of what they leave out and why."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from openwork.base.config import Settings
from openwork.base.fields import option
from openwork.base.limits import LENGTH, RATIO
from openwork.base.messages import msg
from openwork.data.records import Pair

_EXAMPLES = 5
_SHORT = 20  # characters; so short greetings and headings pass the ratio


class FilterSettings(Settings):
    """Which pairs are left out of training. The defaults drop what is almost surely an accident."""

    maximum_characters: int = option(2000, "the longest a side may be", gt=0, le=LENGTH)
    maximum_ratio: float = option(
        9.0, "how many times longer than the other a side may be, in characters; under 20 counts as 20", ge=1, le=RATIO
    )
    drop_blank: bool = option(True, "leave out pairs with nothing but white space on a side")
    drop_identical: bool = option(False, "leave out pairs whose sides are equal")


@dataclass
class Dropped:
    """How many pairs one rule has dropped, and the line numbers (from 1) of the first few."""

    count: int = 0
    first_lines: list[int] = field(default_factory=list)

    def add(self, line: int) -> None:
        self.count += 1
        if len(self.first_lines) < _EXAMPLES:
            self.first_lines.append(line)


@dataclass
class FilterReport:
    """What a filter kept and dropped; complete once the kept pairs have been read to the end.

    `unit`: what the places of dropped pairs count, "line", or "pair" where a pair is not a line of its file.
    """

    kept: int = 0
    dropped: dict[str, Dropped] = field(default_factory=dict)
    unit: str = "line"

    @property
    def dropped_pairs(self) -> int:
        return sum(reason.count for reason in self.dropped.values())

    def lines(self) -> list[str]:
        """The report as text: one line of totals, one for each rule that dropped something."""
        total = self.kept + self.dropped_pairs
        lines = [msg(f"kept {self.kept:,} of {total:,} pairs")]
        for reason, dropped in sorted(self.dropped.items(), key=lambda item: -item[1].count):
            numbers = ", ".join(str(number) for number in dropped.first_lines)
            rest = ", ..." if dropped.count > len(dropped.first_lines) else ""
            places = f"{self.unit if dropped.count == 1 else f'{self.unit}s'} {numbers}{rest}"
            lines.append(msg(f"dropped {dropped.count:,}: {reason} ({places})"))
        return lines


def apply(
    pairs: Iterable[Pair], settings: FilterSettings, unit: str = "line", *, alone: bool = False
) -> tuple[Iterator[Pair], FilterReport]:
    """The pairs that pass, as a stream, and the report that fills while they are read.

    A pair's line number is its position in `pairs`, from 1; `unit` is what the report calls it. `alone`: the pairs are
    targets without sources. For training only: in validation and translation every line counts.
    """
    report = FilterReport(unit=unit)

    def passing() -> Iterator[Pair]:
        for line, pair in enumerate(pairs, start=1):
            reason = _drop_reason(pair, settings, alone)
            if reason is None:
                report.kept += 1
                yield pair
            else:
                report.dropped.setdefault(reason, Dropped()).add(line)

    return passing(), report


def _drop_reason(pair: Pair, settings: FilterSettings, alone: bool) -> str | None:
    shorter, longer = sorted((len(pair.source), len(pair.target)))
    if settings.drop_blank:
        match pair.source.strip(), pair.target.strip():
            case "", "":
                return msg("blank") if alone else msg("blank on both sides")
            case "", _ if not alone:
                return msg("source is blank")
            case _, "":
                return msg("target is blank")
    if longer > settings.maximum_characters:
        return msg(f"longer than {settings.maximum_characters:,} characters")
    if alone:
        return None
    if max(longer, _SHORT) > settings.maximum_ratio * max(shorter, _SHORT):
        return msg(f"one side more than {settings.maximum_ratio:g} times the other")
    if settings.drop_identical and pair.source == pair.target:
        return msg("source and target are the same")
    return None
