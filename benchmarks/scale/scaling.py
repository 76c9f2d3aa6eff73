"""Updates a second on two cores: one thread, two threads of one process, and two processes.

    PYTHONPATH=benchmarks python -m scale.scaling RUN [--updates 60] [--passes 3] [--out RESULTS.json]

All ways make the same updates. They take turns, several times, so that a change of the machine's pace concerns all of
them; each figure is the median of its passes, and the ratio that of the passes that stand side by side. Run it on an
idle machine.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from openwork.runs.file.recipes import find_run_file
from scale.__main__ import same_precision, write_results
from scale.training import Timed, train

WAYS = {  # processes, and the parts of a batch, each computed by a thread or process of its own
    "one thread": (1, 1),
    "two threads of one process": (1, 2),
    "two processes": (2, 2),
}


def measure(run: Path, folder: Path, updates: int, passes: int) -> dict[str, Any]:
    """The seconds of an update in each way and pass, and how much faster two processes are than two threads."""
    found: dict[str, list[float]] = {name: [] for name in WAYS}
    first: dict[int, Timed] = {}
    for number in range(passes):
        for place, (name, (processes, parts)) in enumerate(WAYS.items()):
            settings = [f"training.workers={parts}", *same_precision(first)]
            timed = train(run, folder / f"{number}-{place}", processes, updates, *settings)
            first.setdefault(1, timed)
            found[name].append(timed.seconds_an_update)
            print(f"{name}: {timed.seconds_an_update:.4f} s an update", flush=True)
    threads, several = found["two threads of one process"], found["two processes"]
    return {
        "updates": updates,
        "seconds_an_update": {name: median(seconds) for name, seconds in found.items()},
        "passes": found,
        "processes_to_threads": median(one / other for one, other in zip(threads, several, strict=True)),
    }


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scale.scaling", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", help="a run file, or a recipe's name")
    parser.add_argument("--updates", type=int, default=60, help="of each training")
    parser.add_argument("--passes", type=int, default=3, help="of each way")
    parser.add_argument("--out", type=Path, help="the results, under the key scaling")
    asked = parser.parse_args(arguments)
    run = find_run_file(Path(asked.run)).resolve()
    with tempfile.TemporaryDirectory(prefix="openwork-") as scratch:
        found = {"run": asked.run, **measure(run, Path(scratch), asked.updates, asked.passes)}
    print(json.dumps(found, indent=1))
    if asked.out is not None:
        write_results(asked.out, "scaling", found)


if __name__ == "__main__":
    main(sys.argv[1:])
