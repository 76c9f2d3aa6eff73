"""How time and memory grow: measures what is not in the results yet, until the time is over.

    PYTHONPATH=benchmarks python -m growth [--seconds 80] [--only training|translating|caching]

Run again it goes on; what is measured stands in results/growth.json, of which `growth.report` makes tables and plots.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from growth.shapes import CACHING, TRAINING, TRANSLATING, Shape
from machine import describe_machine

RESULTS = Path(__file__).resolve().parents[1] / "results" / "growth.json"


@dataclass(frozen=True)
class Point:
    """One measurement: a module that makes it, in which way, and of what."""

    part: str
    script: str
    way: str
    shape: Shape

    @property
    def key(self) -> str:
        return " ".join([self.part, self.way, *(f"{name}={value}" for name, value in self.shape.to_json().items())])

    def measure(self) -> dict[str, Any]:
        command = [sys.executable, "-m", f"growth.{self.script}", json.dumps(self.shape.to_json()), *self.way.split()]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return {"part": self.part, "way": self.way, "shape": self.shape.to_json(), **json.loads(done.stdout)}


def points() -> Iterator[Point]:
    """All of them; a shape that two sizes share is one point."""
    for precision in ("float32", "bfloat16"):
        for shape in dict.fromkeys(shape for shapes in TRAINING.values() for shape in shapes):
            yield Point("training", "training_step", precision, shape)
    for shape in dict.fromkeys(shape for shapes in TRANSLATING.values() for shape in shapes):
        yield Point("translating", "translating", "cached", shape)
    for shape in CACHING:
        yield Point("caching", "translating", "cached uncached", shape)


def read_results() -> dict[str, Any]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {"points": {}}


def write_results(results: dict[str, Any]) -> None:
    RESULTS.write_text(json.dumps({**results, "machine": describe_machine()}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin nothing after so many seconds")
    parser.add_argument("--only", choices=("training", "translating", "caching"), help="only this part")
    asked = parser.parse_args()
    end, results = time.monotonic() + asked.seconds, read_results()
    waiting = [p for p in points() if p.key not in results["points"] and asked.only in (None, p.part)]
    while waiting and time.monotonic() < end:
        point = waiting.pop(0)
        results["points"][point.key] = point.measure()
        write_results(results)
        print(point.key, flush=True)
    print(f"{len(waiting)} left")


if __name__ == "__main__":
    main()
