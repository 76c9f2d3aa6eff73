"""How many updates fit into the minutes that a training may take."""

from collections.abc import Callable

from openwork.base.records import RecordWriter
from openwork.runs.file.settings import RunSettings
from openwork.runs.length import MinutesBudget
from openwork.runs.preflight.check import preflight
from openwork.runs.preflight.subject import PreflightContext


def within(budget: MinutesBudget, subject: PreflightContext, say: Callable[[str], None]) -> RunSettings:
    """The settings with as many updates as the budget allows, by the time that some take which are made on trial.

    The choice is written to the folder of the run, where it stays when the run is stopped and goes on.
    """
    say("measuring how long an update takes")
    found = preflight(subject)
    settings = budget.applied(subject.settings, found.updates.usual, found.validation.seconds)
    subject.out.rewrite(settings)  # first, for the record says that it is done
    with RecordWriter(subject.out.records) as records:
        records.write("budget", minutes=budget.minutes, steps=settings.training.steps)
    say(f"{settings.training.steps:,} updates fit into {budget.minutes:g} minutes")
    return settings
