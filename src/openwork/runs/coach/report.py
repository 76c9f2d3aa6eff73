"""What the coach found: lines for a person, values for a program."""

from collections.abc import Iterator, Sequence
from typing import Any

from openwork.base.phrases import AsIs, Joined, Padded, shown_width
from openwork.checks.check import CheckResult, Status
from openwork.checks.report import MARGIN, all_passed, place_line, status_line
from openwork.runs.coach.checks import LESSONS
from openwork.runs.coach.lesson import Lesson, Observation

SCHEMA_VERSION = 1
INDENT = " " * 8


def coach_lines(outcomes: Sequence[CheckResult]) -> Iterator[str]:
    """A line for each check with what was measured; where it failed, what that means, what to try and what to read."""
    width = max(shown_width(lesson.title) for lesson in LESSONS) + MARGIN
    for lesson, outcome in zip(LESSONS, outcomes, strict=True):
        found = outcome.finding
        told = found.measured if isinstance(found, Observation) else outcome.reason
        yield Joined(Padded(status_line(outcome.status), 8), Padded(lesson.title, width), told)
        if outcome.status is Status.FAILED:
            yield from (Joined(AsIs(INDENT), line) for line in _advice_lines(lesson, outcome))
    yield ""
    yield _summary_line(outcomes)


def coach_values(outcomes: Sequence[CheckResult]) -> dict[str, Any]:
    """The same for a program."""
    checks = [_values(lesson, outcome) for lesson, outcome in zip(LESSONS, outcomes, strict=True)]
    return {"version": SCHEMA_VERSION, "passed": all_passed(outcomes), "checks": checks}


def _advice_lines(lesson: Lesson, outcome: CheckResult) -> Iterator[str]:
    found = outcome.finding
    if isinstance(found, Observation):
        yield Joined("expected: ", found.expected)
        if found.wrong:
            yield found.wrong
        if found.spot is not None:
            yield place_line(found.spot)
    yield Joined("means: ", lesson.meaning)
    yield Joined("try: ", lesson.attempt)
    yield Joined("read: ", lesson.read)


def _values(lesson: Lesson, outcome: CheckResult) -> dict[str, Any]:
    found = outcome.finding
    is_seen = isinstance(found, Observation)
    return {
        "name": lesson.name,
        "title": lesson.title,
        "status": outcome.status.value,
        "measured": found.measured if is_seen else None,
        "expected": found.expected if is_seen else None,
        "reason": outcome.reason,
        "meaning": lesson.meaning,
        "try": lesson.attempt,
        "read": lesson.read,
        "seconds": round(outcome.seconds, 3),
    }


def _summary_line(outcomes: Sequence[CheckResult]) -> str:
    failed = sum(outcome.status is Status.FAILED for outcome in outcomes)
    if not failed:
        return "nothing found that would keep this run from learning"
    return f"{failed} of {len(outcomes)} checks failed: begin with the first"
