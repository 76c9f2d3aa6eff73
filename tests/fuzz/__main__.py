"""`make fuzz`: many inputs for each reader; what is found goes into a folder, and then the exit code is 1."""

import argparse
import hashlib
import sys
from pathlib import Path
from time import monotonic

from fuzz.harness import fuzz
from fuzz.targets import TARGETS


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz ARGS=...", description=__doc__)
    parser.add_argument("--inputs", type=int, default=50_000, help="for each target")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for each target, at most")
    parser.add_argument("--only", nargs="+", default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--found", type=Path, default=Path("fuzz-found"))
    options = parser.parse_args()
    total = bad = 0
    for name in options.only:
        before = monotonic()
        outcome = fuzz(name, options.inputs, options.seed, options.seconds)
        total += outcome.inputs
        bad += len(outcome.found)
        rate = outcome.inputs / max(monotonic() - before, 1e-9)
        print(f"{name:32} {outcome.inputs:8,} inputs, {outcome.refused:8,} refused, {rate:7,.0f} a second", flush=True)
        for where, data in outcome.found.items():
            options.found.mkdir(exist_ok=True)
            file = options.found / f"{name.replace(' ', '-')}-{hashlib.sha256(data).hexdigest()[:8]}"
            file.write_bytes(data)
            print(f"    {where} ({file})", flush=True)
    print(f"{total:,} inputs; {bad} kinds of failure")
    return int(bad > 0)


sys.exit(main())
