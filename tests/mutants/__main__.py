"""`make mutants`: how many of some hundred small changes of the code the tests notice."""

import argparse
import json
import os
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from machine import describe_machine  # benchmarks/machine.py
from mutants.making import Mutant, choose, files, mutants_of
from mutants.running import SURVIVED, Copy, Verdict

REASONS = Path(__file__).with_name("survivors.toml")

Entry = dict[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=220, help="mutants that are tried")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--only", default="", help="those whose name holds this")
    parser.add_argument("--processes", type=int, default=2, help="how many are tried side by side")
    parser.add_argument("--out", type=Path, help="a file for the verdicts, one JSON object a line; it goes on there")
    parser.add_argument("--record", type=Path, help="a file for the result, such as benchmarks/results/mutants.json")
    options = parser.parse_args()
    os.environ |= {"CI": "true", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}  # before torch is imported
    chosen = [mutant for mutant in choose(options.count, options.seed) if options.only in mutant.name]
    known = _known(options.out)
    wanted = [mutant for mutant in chosen if mutant.name not in known]
    print(f"{len(chosen)} mutants, {len(chosen) - len(wanted)} known already", flush=True)
    for number, verdict in enumerate(_verdicts(wanted, options.processes), 1):
        entry = verdict.to_json()
        known[verdict.mutant.name] = entry
        print(f"{number}/{len(wanted)} {entry['outcome']:8} {entry['mutant']}: {entry['change']}", flush=True)
        if options.out:
            with options.out.open("a", encoding="utf-8") as file:
                print(json.dumps(entry, ensure_ascii=False), file=file)
    result = summary([known[mutant.name] for mutant in chosen], options.seed)
    print(f"noticed: {result['noticed']} of {result['mutants']} ({result['percent']} %)")
    for entry in result["survived"]:
        print(f"  {entry['outcome']}: {entry['mutant']}: {entry['change']} {entry['reason']}")
    if options.record:
        options.record.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")


def summary(entries: list[Entry], seed: int) -> dict[str, Any]:
    """The result that is kept: how many were noticed, and each other one with the reason why it is not."""
    reasons = tomllib.loads(REASONS.read_text("utf-8"))
    survived = [
        entry | {"reason": reasons.get(without_line(entry["mutant"]), "")}
        for entry in entries
        if entry["outcome"] == SURVIVED
    ]
    noticed = len(entries) - len(survived)
    return {
        "command": f"make mutants ARGS='--count {len(entries)} --seed {seed}'",
        "machine": describe_machine(),
        "candidates": sum(len(mutants_of(path)) for path in files()),
        "mutants": len(entries),
        "noticed": noticed,
        "percent": round(100 * noticed / max(1, len(entries)), 1),
        "survived": survived,
    }


def without_line(name: str) -> str:
    """The name of a mutant that stays when lines are added above it: "nn/masks.py AddNot 3"."""
    place, _, change = name.partition(" ")
    return f"{place.rpartition(':')[0]} {change}"


def _known(path: Path | None) -> dict[str, Entry]:
    if path is None or not path.exists():
        return {}
    entries = map(json.loads, path.read_text("utf-8").splitlines())
    return {entry["mutant"]: entry for entry in entries}


def _verdicts(mutants: list[Mutant], processes: int) -> Iterator[Verdict]:
    """As soon as each is known; each process has a copy of the package of its own."""
    copies: SimpleQueue[Copy] = SimpleQueue()
    every = [Copy() for _ in range(processes)]
    for copy in every:
        copies.put(copy)

    def show(mutant: Mutant) -> Verdict:
        copy = copies.get()
        try:
            return copy.show(mutant)
        finally:
            copies.put(copy)

    try:
        with ThreadPoolExecutor(processes) as pool:
            for done in as_completed([pool.submit(show, mutant) for mutant in mutants]):
                yield done.result()
    finally:
        for copy in every:
            copy.close()


if __name__ == "__main__":
    main()
