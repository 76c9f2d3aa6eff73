"""Writes down what an experiment has measured: its trials, the tables of its report, its cost and its machine.

    python benchmarks/record_experiment.py FOLDER results/experiments-NAME.json

FOLDER is the folder of `openwork experiment run --out`. Its report is written again in English and in Chinese, without
HTML, and copied with its pictures to docs/experiments/NAME/.
"""

import argparse
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from machine import describe_machine
from openwork.experiments.report.document import ReportTable, write_document
from openwork.experiments.report.report import report_of
from openwork.experiments.report.results import read_results

DOCS = Path(__file__).resolve().parents[1] / "docs" / "experiments"
NUMBER = re.compile(r"[+−-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
KEPT = ("number", "variant", "group", "settings", "seed", "state", "short", "copy_of", "updates", "target_tokens")


def values_of(cell: str) -> Any:
    """The numbers of a cell, one or an interval; its text where there is none."""
    found = [float(one.replace(",", "").replace("−", "-")) for one in NUMBER.findall(str(cell))]
    return str(cell) if not found else found[0] if len(found) == 1 else found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    results = read_results(arguments.folder)
    document = report_of(results)
    place = DOCS / results.settings.experiment.name
    for language, name in (("zh", "report.zh-CN.md"), ("en", "report.md")):
        write_document(arguments.folder, document, language)
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(arguments.folder / "report.md", place / name)
    shutil.copytree(arguments.folder / "figures", place / "figures", dirs_exist_ok=True)
    result = {
        "command": results.settings.experiment.command,
        "machine": describe_machine(),
        "core_hours": round(sum(trial.core_hours or 0.0 for trial in results.trials), 2),
        "trials": [
            {key: getattr(trial, key) for key in KEPT}
            | {"validation": trial.validation, "test": trial.tested, "processor_seconds": trial.processor_seconds}
            for trial in results.trials
        ],
        "found": [
            {"section": section.title, "sentences": [str(one) for one in section.sentences]}
            | {part.title: [[values_of(cell) for cell in row] for row in part.rows]
               for part in section.parts if isinstance(part, ReportTable)}
            for section in document.sections
        ],
    }  # fmt: skip
    arguments.output.write_text(json.dumps(result, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
