"""Rounds of measurements, one process after another, each written down as soon as it is made."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.environments import CannotPrepare, prepare
from bench.measurement import OURS, Measurement
from bench.options import Options
from bench.plan import OUR_PYTHON
from bench.processes import Answer, ask
from bench.record import Record

Say = Callable[[str], None]


def missing(plan: Sequence[Measurement], record: Record, options: Options) -> list[tuple[int, Measurement]]:
    """What is still to be done, round by round: all measurements of a round come before any of the next.

    What failed once is not tried again.
    """
    todo = []
    for number in range(1, options.rounds + 1):
        for measurement in plan:
            known = record.rounds(measurement.key)
            wanted = measurement.rounds or options.rounds
            failed = any(result.get("failure") for result in known)
            if len(known) < number <= wanted and not failed:
                todo.append((number, measurement))
    return todo


def measure(plan: Sequence[Measurement], record: Record, options: Options, say: Say) -> int:
    """Makes what is missing, for as long as the options allow; gives back how much is left."""
    begin = time.monotonic()
    for number, measurement in missing(plan, record, options):
        if options.seconds and time.monotonic() - begin > options.seconds:
            break
        if any(result.get("failure") for result in record.rounds(measurement.key)):
            continue
        say(f"round {number}: {measurement.key}")
        result = _result_of(measurement, number, options, say)
        record.add(measurement.key, result)
        say(f"  {describe(result)}")
    return len(missing(plan, record, options))


def _result_of(measurement: Measurement, number: int, options: Options, say: Say) -> dict[str, Any]:
    try:
        python = _python_of(measurement.peer, options, say)
    except CannotPrepare as error:
        return {"failure": str(error)}
    request = measurement.request(number)
    answer = ask(python, measurement.script, request, threads=measurement.threads, limit=measurement.limit)
    return result_of(measurement, answer)


def result_of(measurement: Measurement, answer: Answer) -> dict[str, Any]:
    """The figures of one answer, with the memory and the versions; or why there are none."""
    common = {"peak_megabytes": answer.peak_megabytes, **({"facts": answer.facts} if answer.facts else {})}
    if answer.failure:
        return {"failure": answer.failure, **common}
    return {**measurement.result(answer), **common}


def _python_of(peer: str, options: Options, say: Say) -> Path:
    return OUR_PYTHON if peer == OURS else prepare(options.folder, peer, options.device, say).python


def describe(result: dict[str, Any]) -> str:
    """One result in a line."""
    if result.get("failure"):
        return f"failed: {result['failure']}"
    shown = {name: value for name, value in result.items() if name not in ("facts", "figures")}
    return ", ".join(f"{name} {value}" for name, value in shown.items())
