"""The parts that were made faster than the plain way, each measured against it in one run.

    python benchmarks/micro_parts.py [results/parts.json] [--only NAME]

Times are medians and quartiles, in milliseconds; ways that come to different values are an error.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from parts import attention, batching, dropout, loss, normalisation, optimiser, tokenising
from parts.comparison import Comparison

from machine import describe_machine

PARTS: dict[str, Callable[..., list[Comparison]]] = {
    part.__name__.removeprefix("parts."): part.comparisons
    for part in (attention, batching, dropout, loss, normalisation, optimiser, tokenising)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, nargs="?")
    parser.add_argument("--only", choices=PARTS, help="this part alone")
    asked = parser.parse_args()
    results = {}
    for name, comparisons in PARTS.items():
        for comparison in comparisons() if asked.only in (None, name) else ():
            if problems := comparison.problems():
                sys.exit(f"{comparison.name}: not the same as the plain way: {', '.join(problems)}")
            results[comparison.name] = comparison.measure()
    text = json.dumps({"machine": describe_machine(), "parts": results}, indent=1)
    print(text)
    if asked.output is not None:
        asked.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
