"""What a profile of a training says: as lines for a person, and as values for a program."""

from collections.abc import Iterator
from typing import Any

from openwork.base.phrases import AsIs, Joined, Padded, shown_width
from openwork.cost.cost import FORMULA
from openwork.runs.plan import duration
from openwork.runs.profile import StepProfile
from openwork.training.computing.operators import GROUPS, Group
from openwork.training.computing.time_division import Division

NAMED = 3  # operators that a line names


def profile_lines(profile: StepProfile) -> list[str]:
    """For a person."""
    timed, machine, training = profile.timed, profile.machine, profile.settings.training
    tokens, share = timed.target_tokens / len(timed.reports), profile.division.share("waiting for data")
    slower = profile.recorded.seconds / profile.recorded.target_tokens * profile.tokens_per_second - 1
    return [
        f"speed: {profile.tokens_per_second:,.0f} target tokens a second; {timed.seconds_each:.3g} seconds an update "
        f"of {tokens:,.0f} target tokens, padding not counted; {training.precision} on {machine.device}",
        f"operations: {profile.flops_per_second:.3g} a second ({FORMULA})",
        f"limit: {profile.share_of_limit:.0%} of the {machine.matrix_rate:.3g} operations a second that a product of "
        f"large matrices reaches here in {training.precision} with {machine.threads} thread(s)",
        f"waiting for data: {share:.1%} of the time",
        f"the whole run: {duration(timed.seconds_each * training.steps)} for {training.steps:,} updates at this speed, "
        "validations not counted",
        "",
        "where the time of an update goes:",
        *_table_lines(profile.division, len(profile.recorded.reports)),
        "",
        f"threads: all are recorded; while any computes, {profile.division.threads:.2f} do on average, and a moment is "
        "divided evenly among them",
        f"of {len(profile.recorded.reports)} updates under the profiler, which made them {slower:.0%} slower; matrix "
        "products: also those inside attention's projections and the loss; Python and the rest: also waiting for other "
        "threads",
    ]


def _table_lines(division: Division, updates: int) -> Iterator[str]:
    width = max(map(shown_width, GROUPS))
    for group in sorted(GROUPS, key=division.share, reverse=True):
        milliseconds = 1000 * division.seconds(group) / updates
        figures = AsIs(f"  {division.share(group):6.1%} {milliseconds:9.1f} ms  ")
        yield Joined(figures, Padded(group, width), AsIs(f"  {', '.join(_largest(division, group))}".rstrip()))


def _largest(division: Division, group: Group) -> list[str]:
    """The operators that took most, without the framework's prefix."""
    operators = division.operators.get(group, {})
    found = [name.removeprefix("aten::") for name in operators if name.startswith("aten::")]
    return sorted(found, key=lambda name: -operators[f"aten::{name}"])[:NAMED]


def profile_values(profile: StepProfile) -> dict[str, Any]:
    """For a program: seconds, shares from 0 to 1, operations a second."""
    division, updates = profile.division, len(profile.recorded.reports)
    return {
        "device": profile.machine.device,
        "threads": profile.machine.threads,
        "precision": profile.settings.training.precision,
        "updates": {"timed": len(profile.timed.reports), "recorded": updates},
        "seconds_an_update": {"timed": profile.timed.seconds_each, "recorded": profile.recorded.seconds_each},
        "target_tokens_per_second": profile.tokens_per_second,
        "flops_per_target_token": profile.cost.training_flops,
        "flops_per_second": profile.flops_per_second,
        "matrix_flops_per_second": profile.machine.matrix_rate,
        "share_of_limit": profile.share_of_limit,
        "share_waiting_for_data": division.share("waiting for data"),
        "threads_computing": division.threads,
        "groups": {
            group: {
                "share": division.share(group),
                "seconds_an_update": division.seconds(group) / updates,
                "operators": {name: spent / updates for name, spent in sorted(division.operators[group].items())},
            }
            for group in GROUPS
        },
    }
