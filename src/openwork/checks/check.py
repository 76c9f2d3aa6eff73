"""A check of a trained model: its definition, how it is run, and its result as a table and as JSON."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

from openwork.base.errors import OpenworkError
from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined, Padded, shown_width
from openwork.checks.context import Spot, VerifyContext
from openwork.inspection.parting import SOURCE


class Status(Enum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class NotApplicable(Exception):
    """Raised by a check that cannot be made of this bundle; the sentence says why."""


@dataclass(frozen=True)
class LargestDifference:
    """The largest difference between two computations, and the tolerance.

    `spot` is the first place where they differ. `wrong` is a sentence about a fault that is not a number.
    """

    difference: float
    tolerance: float
    spot: Spot | None = None
    wrong: str = ""

    @property
    def passed(self) -> bool:
        return self.difference <= self.tolerance and not self.wrong


@dataclass
class Differences:
    """The largest of several differences, and the first place where one exceeds the tolerance."""

    tolerance: float
    largest: float = 0.0
    spot: Spot | None = None

    def add(self, difference: float, spot: Callable[[], Spot]) -> None:
        """`spot` is called for the first difference above the tolerance."""
        if self.spot is None and difference > self.tolerance:
            self.spot = spot()
        self.largest = max(self.largest, difference)

    def result(self, wrong: str = "") -> LargestDifference:
        return LargestDifference(self.largest, self.tolerance, self.spot, wrong)


@dataclass(frozen=True)
class Check:
    """One line of the table of checks.

    `after`: names of checks that this one relies on. It is skipped where one of them failed: it would report the same
    fault again.
    """

    name: str
    title: str
    run: Callable[[VerifyContext], LargestDifference]
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckResult:
    """The result of a check; `finding` is None where nothing was compared, and `reason` says why."""

    name: str
    title: str
    status: Status
    finding: LargestDifference | None = None
    reason: str = ""
    seconds: float = field(default=0.0, compare=False)


def run_check(check: Check, context: VerifyContext, before: Mapping[str, CheckResult]) -> CheckResult:
    """Runs one check, after those in `before`. A check that raises an error has failed; the others go on."""
    start = time.perf_counter()
    status, finding, reason = Status.SKIPPED, None, ""
    failed = [name for name in check.after if name in before and before[name].status is Status.FAILED]
    if failed:
        reason = Joined("skipped because this check failed: ", before[failed[0]].title)
    else:
        try:
            finding = check.run(context)
            status = Status.PASSED if finding.passed else Status.FAILED
        except NotApplicable as why:
            reason = str(why)
        except OpenworkError as error:
            status, reason = Status.FAILED, error_reason(error)
        except Exception as error:  # a broken model can raise anything
            status = Status.FAILED
            reason = Joined("it broke off: ", AsIs(f"{type(error).__name__}: {error}"))
    return CheckResult(check.name, check.title, status, finding, reason, time.perf_counter() - start)


def run_checks(checks: Iterable[Check], context: VerifyContext) -> list[CheckResult]:
    done: dict[str, CheckResult] = {}
    for check in checks:
        done[check.name] = run_check(check, context, done)
    return list(done.values())


def error_reason(error: OpenworkError) -> str:
    """An error as one line."""
    return Joined(error.what, ": ", error.why) if error.why else error.what


SCHEMA_VERSION = 1
MARGIN = 2  # columns between the parts of a line


def all_passed(outcomes: Sequence[CheckResult]) -> bool:
    return all(outcome.status is not Status.FAILED for outcome in outcomes)


def table_lines(outcomes: Sequence[CheckResult]) -> list[str]:
    """A line for each check with its largest difference and tolerance; below a failed one the reason and the place."""
    width = max(shown_width(outcome.title) for outcome in outcomes) + MARGIN
    lines: list[str] = []
    for outcome in outcomes:
        found, numbers, reason = outcome.finding, "", outcome.reason
        if found:
            sign = "<=" if found.difference <= found.tolerance else "> "
            numbers, reason = f"{found.difference:8.1e} {sign} {found.tolerance:.1e}", ""
        lines.append(
            Joined(Padded(status_line(outcome.status), 8), Padded(outcome.title, width), AsIs(numbers), reason)
        )
        if found and not found.passed:
            wrong = [found.wrong, place_line(found.spot) if found.spot else ""]
            lines += [Joined(AsIs(" " * 8), line) for line in wrong if line]
    counts = {status: sum(outcome.status is status for outcome in outcomes) for status in Status}
    summary = msg(
        f"passed: {counts[Status.PASSED]}, failed: {counts[Status.FAILED]}, skipped: {counts[Status.SKIPPED]}"
    )
    return [*lines, "", summary]


def to_json(path: str, outcomes: Sequence[CheckResult]) -> dict[str, Any]:
    """The results as JSON values; infinity is null."""
    return {
        "version": SCHEMA_VERSION,
        "bundle": path,
        "passed": all_passed(outcomes),
        "checks": [_check_values(outcome) for outcome in outcomes],
    }


def _check_values(outcome: CheckResult) -> dict[str, Any]:
    found = outcome.finding
    return {
        "name": outcome.name,
        "title": outcome.title,
        "status": outcome.status.value,
        "difference": None if found is None or math.isinf(found.difference) else found.difference,
        "tolerance": found.tolerance if found else None,
        "place": asdict(found.spot) if found and found.spot else None,
        "reason": (found.wrong if found else "") or outcome.reason,
        "seconds": round(outcome.seconds, 3),
    }


def status_line(status: Status) -> str:
    return msg("pass") if status is Status.PASSED else msg("FAIL") if status is Status.FAILED else msg("skip")


def place_line(spot: Spot) -> str:
    """The first place where two computations differ, in words."""
    parts = [msg("first at ")]
    if spot.module:
        parts.append(AsIs(spot.module))
    if spot.module and spot.sentence:
        parts.append(", ")
    if spot.sentence:
        place = (
            msg(f"source position {spot.position}") if spot.side == SOURCE else msg(f"target position {spot.position}")
        )
        parts += [msg(f"sentence {spot.sentence}"), ", ", place, ": ", AsIs(repr(spot.piece))]
    return Joined(*parts)
