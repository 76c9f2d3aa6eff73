"""Works for an hour and watches what that takes: a training, then translating with a beam and greedily.

    make soak                          all of it
    make soak ARGS="--minutes 3"       three minutes of training, three of translating
    make soak ARGS="--sitting 5"       five minutes now; the same command again goes on, until all is done

Every few seconds the memory, threads and open files of the process and of those that it starts are noted. Judged is
each sitting (the life of a process): memory at its end within 2 % of what it was after warm-up, no thread and no file
more. Figures: benchmarks/results/soak.json, samples in the folder.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from machine import describe_machine
from soak.log import Log
from soak.report import figures, table
from soak.training import Training, run_text
from soak.translating import Translating
from soak.work import COMMAND, Work, WorkFailed, watch

RESULTS = Path(__file__).resolve().parents[1] / "results" / "soak.json"
SEARCHES = {"translating, beam": ["--beam", "4"], "translating, greedy": ["--beam", "1"]}
SHARES = {"training": 1.0, **dict.fromkeys(SEARCHES, 1 / len(SEARCHES))}


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make soak ARGS=...", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="of training, and as many of translating")
    parser.add_argument("--sitting", type=float, default=float("inf"), help="minutes at most, now")
    parser.add_argument("--every", type=float, default=5.0, help="seconds between two looks")
    parser.add_argument("--only", choices=("training", "translating"))
    parser.add_argument("--bundle", type=Path, help="translates; by itself, the mean of what was trained here")
    parser.add_argument("--folder", type=Path, default=Path("soak-run"), help="samples, and the run that is trained")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the figures go")
    return parser.parse_args()


def trained_bundle(folder: Path) -> Path:
    """The mean of the training's newest checkpoints, which the training made before."""
    path, run = folder / "bundle", folder / "run"
    if not path.is_dir():
        made = subprocess.run([*COMMAND, "average", str(run), "--out", str(path)], check=False)
        if made.returncode:
            raise WorkFailed("there is nothing to translate with: train first, or name a --bundle")
    return path


def begun(part: str, asked: argparse.Namespace, log: Log) -> Work:
    """The process that does this part."""
    if part == "training":
        return Training(asked.folder, run_text())
    bundle = asked.bundle or trained_bundle(asked.folder)
    return Translating(asked.folder, bundle, SEARCHES[part], seed=log.sitting)


def parts_of(asked: argparse.Namespace) -> Iterator[tuple[str, Log, float]]:
    """Each part, what was noted of it, and how many seconds it still needs."""
    for part, share in SHARES.items():
        if asked.only is None or part.startswith(asked.only):
            log = Log(asked.folder / f"{part.replace(', ', '-')}.jsonl")
            yield part, log, 60 * asked.minutes * share - log.seconds


def main() -> int:
    asked = read_options()
    until, logs, left = time.monotonic() + 60 * asked.sitting, {}, 0.0
    for part, log, wanted in parts_of(asked):
        logs[part] = log
        seconds = min(wanted, until - time.monotonic())
        if seconds > asked.every:
            print(f"{part}: {seconds / 60:.1f} minutes now", flush=True)
            try:
                watch(begun(part, asked, log), log, seconds, asked.every, lambda line: print(line, flush=True))
            except WorkFailed as error:
                print(f"failed: {part}: {error}", flush=True)
                return 1
        left += max(60 * asked.minutes * SHARES[part] - log.seconds - asked.every, 0.0)
    found = {part: figures(log) for part, log in logs.items()}
    write_results(asked.out, found)
    print("\n".join(table(logs)))
    if left:
        print(f"{left / 60:.1f} minutes left: the same command goes on")
    return int(not all(one["flat"] for one in found.values() if one["judged"]))


def write_results(path: Path, found: dict[str, Any]) -> None:
    """Beside the parts that were measured before."""
    before = json.loads(path.read_text(encoding="utf-8"))["parts"] if path.exists() else {}
    results = {"parts": {**before, **found}, "machine": describe_machine()}
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
