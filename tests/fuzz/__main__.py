"""`make fuzz`: many inputs for each reader; what is found goes into a folder, and then the exit code is 1.

It may be stopped at any time: the same command goes on, until each target has had its inputs.
"""

import argparse
import hashlib
import sys
from pathlib import Path
from time import monotonic

from fuzz.harness import Outcome, fuzz
from fuzz.tally import Tally
from fuzz.targets import TARGETS

SLICE = 60.0  # seconds of one target, before what was done is noted and the next one has its turn


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make fuzz ARGS=...", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=50_000, help="for each target, in all sittings together")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for all targets together, now")
    parser.add_argument("--only", nargs="+", default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--guided", action="store_true", help="change further what reaches new code; ten times slower")
    parser.add_argument("--found", type=Path, default=Path("fuzz-found"), help="what failed, and what was done")
    return parser.parse_args()


def keep(folder: Path, name: str, outcome: Outcome) -> None:
    """The first input of each failure, as a file."""
    for where, data in outcome.found.items():
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{name.replace(' ', '-')}-{hashlib.sha256(data).hexdigest()[:8]}"
        file.write_bytes(data)
        print(f"    {where} ({file})", flush=True)


def main() -> int:
    options = read_options()
    tally, end = Tally.read(options.found / "tally.json"), monotonic() + options.seconds
    left = [name for name in options.only if tally.of(name).inputs < options.inputs]
    while left and monotonic() < end:
        for name in left:
            count, before = tally.of(name), monotonic()
            seed = options.seed + 1_000_003 * count.slices
            left_over = options.inputs - count.inputs
            outcome = fuzz(name, left_over, seed, min(SLICE, end - before), guided=options.guided)
            count.add(outcome, monotonic() - before)
            tally.write()
            further = f", {outcome.further:,} reached further" if options.guided else ""
            print(f"{name:32} {count.inputs:8,} inputs, {count.refused:8,} refused{further}", flush=True)
            keep(options.found, name, outcome)
        left = [name for name in left if tally.of(name).inputs < options.inputs]
    counts = [tally.of(name) for name in options.only]
    bad = sum(count.failures for count in counts)
    print(f"{sum(count.inputs for count in counts):,} inputs; {bad} failures; {len(left)} targets have inputs left")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
