"""The micro-benchmarks beside this package: programs that write their figures as JSON to the path they are given."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

from bench.measurement import OURS, Measurement
from bench.options import Options
from bench.processes import Answer

FOLDER = Path(__file__).parent.parent
PATTERN = "micro*.py"


def measurements(options: Options) -> list[Measurement]:
    """One for each program, once, with one thread: they compare ways, not machines."""
    if options.device != "cpu":
        return []
    return [_measurement(options, program) for program in sorted(FOLDER.glob(PATTERN))]


def _measurement(options: Options, program: Path) -> Measurement:
    out = options.folder / "micro" / f"{program.stem}.json"
    request = {"program": str(program), "out": str(out), "python": sys.executable}
    result = partial(_result, out)
    return Measurement(f"micro/{program.stem}", OURS, "run_program.py", 1, lambda _: request, result, rounds=1)


def _result(out: Path, answer: Answer) -> dict[str, Any]:
    return {"figures": json.loads(out.read_text(encoding="utf-8"))}
