"""Predicts updates a second on several processes from measurements on one, and compares with real trainings.

    PYTHONPATH=benchmarks python -m scale RUN [--processes 1 2 4] [--predict 8 64] [--updates 60] [--out RESULTS.json]

RUN is a run file or a recipe's name. Measured on one process: updates of three sizes of batches, from which the time of
any share of a batch follows, and as many such trainings at once as there are processes, which shows what they take from
each other. Measured between processes: gloo's all-reduce. Everything else is calculated. Run it on an idle machine.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from machine import describe_machine
from openwork.base.config import read_run
from openwork.cost.communication import Network
from openwork.cost.sharding import layer_counts, update_traffic
from openwork.runs.file.recipes import find_run_file
from openwork.runs.file.resolve import resolve_run
from scale import gloo
from scale.computing import ComputingTime, fit
from scale.replay import Simulation, simulate
from scale.training import WARM_UP, Timed, finish, start, train

SIZES = (1, 2, 4)  # what the batches are divided by where one process is measured


def calibrate(run: Path, folder: Path, updates: int) -> tuple[ComputingTime, Timed]:
    """The time of a share of a batch, from trainings on one process with batches of several sizes; and the first."""
    tokens = resolve_run(read_run(run, [], {})).batches.tokens
    timed: list[Timed] = []
    for size in SIZES:
        settings = [f"batches.tokens={tokens // size}", *(same_precision(timed[0]) if timed else [])]
        timed.append(train(run, folder / f"one-{size}", 1, updates, *settings))
    shares = [update[0] for one in timed for update in one.updates(1)[WARM_UP:]]
    return fit(shares, [seconds for one in timed for seconds in one.seconds[WARM_UP:]]), timed[0]


def same_precision(first: Timed) -> list[str]:
    """The setting with which all trainings compute in the precision that the first one chose."""
    return [f"training.precision={first.settings.training.precision}"]


def slowdown(run: Path, folder: Path, copies: int, updates: int, alone: Timed) -> float:
    """How many times as long an update takes while as many trainings on one process run at once."""
    if copies == 1:
        return 1.0
    folders = [folder / f"at-once-{copies}-{number}" for number in range(copies)]
    running = [start(run, out, 1, updates, *same_precision(alone)) for out in folders]
    seconds = [finish(one, out).seconds_an_update for one, out in zip(running, folders, strict=True)]
    return sum(seconds) / copies / alone.seconds_an_update


def predict(timed: Timed, processes: int, computing: ComputingTime, network: Network | None) -> Simulation:
    """The updates that `timed` made, on so many processes."""
    units = sum(layer_counts(timed.settings.model).values()) + 1
    traffic = update_traffic("none", timed.weights, processes, units)
    return simulate(timed.updates(processes)[WARM_UP:], computing, traffic, network)


def measure(run: Path, folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """Predictions and measurements for each number of processes."""
    computing, one = calibrate(run, folder, asked.updates)
    found: list[dict[str, Any]] = []
    factor, network = 1.0, None
    for processes in asked.processes:
        factor = slowdown(run, folder, processes, asked.updates, one)
        network = gloo.fit(gloo.measure(processes), processes) if processes > 1 else network
        predicted = predict(one, processes, replace(computing, slowdown=factor), network)
        real = train(run, folder / f"real-{processes}", processes, asked.updates, *same_precision(one))
        found.append(_row(predicted, factor, network, 1 / real.seconds_an_update))
        print(json.dumps(found[-1]), flush=True)
    for processes in asked.predict:
        predicted = predict(one, processes, replace(computing, slowdown=factor), network)
        found.append(_row(predicted, factor, network, None))
        print(json.dumps(found[-1]), flush=True)
    rates = dict(zip(ComputingTime.WORK, computing.rates, strict=True))
    return {"run": asked.run, "updates": asked.updates, "seconds_for_one": rates, "processes": found}


def _row(predicted: Simulation, factor: float, network: Network | None, measured: float | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "processes": predicted.processes,
        "predicted_updates_per_second": predicted.updates_per_second,
        "imbalance": predicted.imbalance,
        "slowdown": factor,
        "waiting_seconds": sum(predicted.waiting) / len(predicted.waiting),
    }
    if network is not None:
        row |= {"latency": network.latency, "bandwidth": network.bandwidth}
    if measured is not None:
        row |= {
            "measured_updates_per_second": measured, "error": predicted.updates_per_second / measured - 1
        }  # fmt: skip
    return row


def write_results(path: Path, found: dict[str, Any]) -> None:
    """Beside what other measurements have written there."""
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    results = {**before, "simulator": {**found, "machine": describe_machine()}}
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", help="a run file, or a recipe's name")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4], help="predicted and measured")
    parser.add_argument("--predict", type=int, nargs="*", default=[], help="predicted, with what was measured before")
    parser.add_argument("--updates", type=int, default=60, help="of each training")
    parser.add_argument("--folder", type=Path, help="for the trainings; by itself one that is removed")
    parser.add_argument("--out", type=Path, help="the results, under the key simulator")
    asked = parser.parse_args(arguments)
    run = find_run_file(Path(asked.run)).resolve()
    with tempfile.TemporaryDirectory(prefix="openwork-") as scratch:
        found = measure(run, asked.folder or Path(scratch), asked)
    if asked.out is not None:
        write_results(asked.out, found)


if __name__ == "__main__":
    main(sys.argv[1:])
