"""`make mutants`: how many of some hundred small changes of the code the tests notice."""

import argparse
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from mutants.making import Mutant, choose
from mutants.running import BROKEN, SURVIVED, Copy, Verdict


def main() -> None:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=220, help="mutants that are tried")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--only", default="", help="those whose name holds this")
    parser.add_argument("--processes", type=int, default=2, help="how many are tried side by side")
    parser.add_argument("--out", type=Path, help="a file for the verdicts, one JSON object a line; it goes on there")
    options = parser.parse_args()
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
    _summarise([known[mutant.name] for mutant in chosen])


def _known(path: Path | None) -> dict[str, dict[str, str]]:
    if path is None or not path.exists():
        return {}
    entries = map(json.loads, path.read_text("utf-8").splitlines())
    return {entry["mutant"]: entry for entry in entries}


def _verdicts(mutants: list[Mutant], processes: int):
    """As they come; each process has a copy of the package of its own."""
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
            yield from pool.map(show, mutants)
    finally:
        for copy in every:
            copy.close()


def _summarise(entries: list[dict[str, str]]) -> None:
    survived = [entry for entry in entries if entry["outcome"] == SURVIVED]
    broken = [entry for entry in entries if entry["outcome"] == BROKEN]
    noticed = len(entries) - len(survived) - len(broken)
    print(f"noticed: {noticed} of {len(entries)} ({100 * noticed / max(1, len(entries)):.1f} %)")
    for entry in (*survived, *broken):
        print(f"  {entry['outcome']}: {entry['mutant']}: {entry['change']} {entry['by']}")


if __name__ == "__main__":
    main()
