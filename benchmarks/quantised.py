"""What fewer bits do to a bundle: the size of its weights and its score, for each type of file.

    python benchmarks/quantised.py BUNDLE NAME --corpus CORPUS [--split test]

The result is added to results/quantised.json under NAME.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from machine import add_result
from openwork.bundles.folder import WEIGHTS, find_bundle, whole_bundle

RESULTS = Path(__file__).parent / "results" / "quantised.json"
KINDS = ("float32", "bfloat16", "int8", "int4")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("name")
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--split", default="test")
    asked = parser.parse_args()
    measured: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        for kind in KINDS:
            folder = asked.bundle if kind == "float32" else Path(place) / kind
            if kind != "float32":
                openwork("quantise", asked.bundle, "--to", kind, "--out", folder)
            scores = json.loads(
                openwork("evaluate", folder, "--corpus", asked.corpus, "--split", asked.split, "--json")
            )
            size = (whole_bundle(find_bundle(folder)) / WEIGHTS).stat().st_size
            measured[kind] = {"megabytes": round(size / 1e6, 3), "scores": scores["scores"][:2]}
            print(kind, measured[kind])
    command = f"python benchmarks/quantised.py BUNDLE {asked.name} --corpus {asked.corpus} --split {asked.split}"
    add_result(RESULTS, asked.name, command, {"types": measured})


def openwork(*arguments: Any) -> str:
    command = [sys.executable, "-m", "openwork", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
