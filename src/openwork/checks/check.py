"""A check of a trained model: its definition, its result, and how it is run."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from openwork.base.errors import OpenworkError
from openwork.base.phrases import AsIs, Joined
from openwork.checks.context import Spot, VerifyContext


class Status(Enum):
    """The outcome of a check."""

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


def error_reason(error: OpenworkError) -> str:
    """An error as one line."""
    return Joined(error.what, ": ", error.why) if error.why else error.what
