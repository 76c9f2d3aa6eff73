"""Predicts updates a second on several processes from measurements on one, and compares with real trainings.

    PYTHONPATH=benchmarks python -m scale RUN [--processes 1 2 4] [--predict 8 64] [--updates 60] [--out RESULTS.json]

RUN is a run file or a recipe's name. Measured on one process: updates of three sizes of batches, from which the time of
any share of a batch follows, and as many such trainings at once as there are processes, which shows what they take from
each other and how late the slowest is. Measured between processes: gloo's all-reduce. Everything else is calculated.
Run it on an idle machine.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
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

SIZES = (1, 2, 4)  # what the batches are divided by where one process is measured: the numbers of processes


def calibrate(run: Path, folder: Path, updates: int) -> tuple[ComputingTime, dict[int, Timed]]:
    """The time of a share of a batch, from trainings on one process with shares of several sizes; and these."""
    timed: dict[int, Timed] = {}
    for size in SIZES:
        timed[size] = train(run, folder / f"one-{size}", 1, updates, *share(run, size), *same_precision(timed))
    shares = [update[0] for one in timed.values() for update in one.updates(1)[WARM_UP:]]
    return fit(shares, [seconds for one in timed.values() for seconds in one.seconds[WARM_UP:]]), timed


def share(run: Path, size: int) -> list[str]:
    """The setting with which a training on one process has batches of the size that `size` processes have."""
    return [f"batches.tokens={resolve_run(read_run(run, [], {})).batches.tokens // size}"]


def same_precision(timed: Mapping[int, Timed]) -> list[str]:
    """The setting with which all trainings compute in the precision that the first one chose."""
    return [f"training.precision={timed[1].settings.training.precision}"] if timed else []


def slowdown(run: Path, folder: Path, copies: int, updates: int, timed: Mapping[int, Timed]) -> float:
    """How many times as long the slowest of so many processes computes while the others compute too.

    Measured with trainings on one process, which have nothing to say to each other, on batches of the size of a share:
    where there are more processes than cores, the slowest is later than the mean.
    """
    if copies == 1:
        return 1.0
    folders = [folder / f"at-once-{copies}-{number}" for number in range(copies)]
    settings = [*share(run, copies), *same_precision(timed)]
    running = [start(run, out, 1, updates, *settings) for out in folders]
    seconds = [finish(one, out).seconds[WARM_UP:] for one, out in zip(running, folders, strict=True)]
    slowest = [max(update) for update in zip(*seconds, strict=True)]
    return sum(slowest) / len(slowest) / timed[copies].seconds_an_update


def real_seconds(run: Path, folder: Path, processes: int, updates: int, timed: Mapping[int, Timed]) -> float:
    """Seconds of an update of a training on so many processes: the faster of two, since others may use the machine."""
    folders = [folder / f"real-{processes}-{number}" for number in range(2)]
    return min(train(run, out, processes, updates, *same_precision(timed)).seconds_an_update for out in folders)


def predict(timed: Timed, processes: int, computing: ComputingTime, network: Network | None) -> Simulation:
    """The updates that `timed` made, on so many processes."""
    units = sum(layer_counts(timed.settings.model).values()) + 1
    traffic = update_traffic("none", timed.weights, processes, units)
    return simulate(timed.updates(processes)[WARM_UP:], computing, traffic, network)


def measure(run: Path, folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """Predictions and measurements for each number of processes."""
    computing, timed = calibrate(run, folder, asked.updates)
    one = timed[1]
    found: list[dict[str, Any]] = []
    factor, network = 1.0, None
    for processes in asked.processes:
        factor = slowdown(run, folder, processes, asked.updates, timed)
        network = gloo.fit(gloo.measure(processes), processes) if processes > 1 else network
        predicted = predict(one, processes, replace(computing, slowdown=factor), network)
        found.append(_row(predicted, factor, network, 1 / real_seconds(run, folder, processes, asked.updates, timed)))
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


def write_results(path: Path, key: str, found: dict[str, Any]) -> None:
    """Under a key of its own, beside what other measurements have written there."""
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    results = {**before, key: {**found, "machine": describe_machine()}}
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", help="a run file, or a recipe's name")
    parser.add_argument("--processes", type=int, nargs="+", default=SIZES, choices=SIZES, help="predicted and measured")
    parser.add_argument("--predict", type=int, nargs="*", default=[], help="predicted, with what was measured before")
    parser.add_argument("--updates", type=int, default=60, help="of each training")
    parser.add_argument("--folder", type=Path, help="for the trainings; by itself one that is removed")
    parser.add_argument("--out", type=Path, help="the results, under the key simulator")
    asked = parser.parse_args(arguments)
    run = find_run_file(Path(asked.run)).resolve()
    with tempfile.TemporaryDirectory(prefix="openwork-") as scratch:
        found = measure(run, asked.folder or Path(scratch), asked)
    if asked.out is not None:
        write_results(asked.out, "simulator", found)


if __name__ == "__main__":
    main(sys.argv[1:])
