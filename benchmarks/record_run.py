"""Writes down what a finished training has measured: its curve, times, scores, settings and machine.

    python benchmarks/record_run.py RUN results/NAME.json --command "openwork train ..." [--scores scores.json ...]

RUN is the folder that `openwork train --out` wrote; each scores file is what `openwork evaluate --json` printed.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from machine import describe_machine
from openwork.base.records import read_records
from openwork.runs.folder import RunFolder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--command", required=True, help="the command line that was measured")
    parser.add_argument("--scores", type=Path, nargs="*", default=[])
    parser.add_argument("--note", default="")
    arguments = parser.parse_args()
    folder = RunFolder(arguments.run)
    settings = folder.read_settings()
    if settings is None:
        sys.exit(f"{arguments.run} is not the folder of a run")
    records = read_records(folder.records)
    curve = [record for record in records if record["kind"] == "validation"]
    finished = [record for record in records if record["kind"] == "finished"]
    result = {
        "command": arguments.command,
        "note": arguments.note,
        "machine": describe_machine(),
        "circumstances": [record for record in records if record["kind"] == "run"],
        "wall_seconds": round(records[-1]["time"] - records[0]["time"], 1),
        "training_seconds": finished[-1]["seconds"],
        "steps": finished[-1]["step"],
        "target_tokens": finished[-1]["target_tokens"],
        "settings": settings.model_dump(mode="json", exclude_none=True),
        "validation_curve": [
            {key: record.get(key) for key in ("step", "loss", "perplexity", "bleu", "exact", "training_seconds")}
            for record in curve
        ],
        "scores": {path.stem: json.loads(path.read_text()) for path in arguments.scores},
    }
    arguments.output.write_text(json.dumps(result, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
