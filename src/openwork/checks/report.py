"""The results of the checks as a table for a person and as JSON for a program."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from openwork.base.phrases import AsIs, Joined, Padded, shown_width
from openwork.checks.check import CheckResult, Status
from openwork.checks.context import Spot
from openwork.inspection.parting import SOURCE

SCHEMA_VERSION = 1
MARGIN = 2  # columns between the parts of a line


def all_passed(outcomes: Sequence[CheckResult]) -> bool:
    """Whether none has failed."""
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
    summary = f"passed: {counts[Status.PASSED]}, failed: {counts[Status.FAILED]}, skipped: {counts[Status.SKIPPED]}"
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
    """The status of a check in a word."""
    return "pass" if status is Status.PASSED else "FAIL" if status is Status.FAILED else "skip"


def place_line(spot: Spot) -> str:
    """The first place where two computations differ, in words."""
    parts = ["first at "]
    if spot.module:
        parts.append(AsIs(spot.module))
    if spot.module and spot.sentence:
        parts.append(", ")
    if spot.sentence:
        place = f"source position {spot.position}" if spot.side == SOURCE else f"target position {spot.position}"
        parts += [f"sentence {spot.sentence}", ", ", place, ": ", AsIs(repr(spot.piece))]
    return Joined(*parts)
