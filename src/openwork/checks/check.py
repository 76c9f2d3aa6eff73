"""What a check is, what it finds, and how it is carried out."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from openwork.base.errors import OpenworkError
from openwork.base.phrases import AsIs, Joined
from openwork.checks.subject import Spot, VerifyContext


class Status(Enum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class NotApplicable(Exception):
    """A check has nothing to look at here; the sentence says why."""


@dataclass(frozen=True)
class LargestDifference:
    """The largest difference between two ways, and how much is allowed.

    `spot` is the first place where they part. `wrong` is a sentence: what is wrong besides, or instead, of a size.
    """

    difference: float
    tolerance: float
    spot: Spot | None = None
    wrong: str = ""

    @property
    def passed(self) -> bool:
        return self.difference <= self.tolerance and not self.wrong


@dataclass(frozen=True)
class Check:
    """One line of the table.

    `after`: names of checks that must not have failed, because this one compares by means of what they are about: it
    would only say the same fault again, in another place.
    """

    name: str
    title: str
    look: Callable[[VerifyContext], LargestDifference]
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckResult:
    """What became of a check; `finding` is None where nothing was compared, and `reason` says why."""

    name: str
    title: str
    status: Status
    finding: LargestDifference | None = None
    reason: str = ""
    seconds: float = field(default=0.0, compare=False)


def examine(check: Check, subject: VerifyContext, before: Mapping[str, CheckResult]) -> CheckResult:
    """Carries out one check, after those in `before`. A check that breaks off has failed, and the others go on."""
    begun = time.perf_counter()
    status, finding, reason = Status.SKIPPED, None, ""
    failed = [name for name in check.after if name in before and before[name].status is Status.FAILED]
    if failed:
        reason = _failed_before_reason(before[failed[0]].title)
    else:
        try:
            finding = check.look(subject)
            status = Status.PASSED if finding.passed else Status.FAILED
        except NotApplicable as why:
            reason = str(why)
        except OpenworkError as error:
            status, reason = Status.FAILED, error_reason(error)
        except Exception as error:  # what a broken model does is not known beforehand
            status, reason = Status.FAILED, _broken_off_reason(error)
    return CheckResult(check.name, check.title, status, finding, reason, time.perf_counter() - begun)


def error_reason(error: OpenworkError) -> str:
    """An error as one line."""
    return Joined(error.what, ": ", error.why) if error.why else error.what


def _failed_before_reason(title: str) -> str:
    return Joined("tells nothing as long as this fails: ", title)


def _broken_off_reason(error: Exception) -> str:
    return Joined("it broke off: ", AsIs(f"{type(error).__name__}: {error}"))
