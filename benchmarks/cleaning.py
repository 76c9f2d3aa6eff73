"""How good `openwork data clean` is at pairs that do not translate each other: on corpora with faults planted in them.

    python benchmarks/cleaning.py CORPUS...

A fortieth of the pairs gets the target of another pair, a fortieth is moved on by one line. Precision is the share of
planted pairs among those that the rule leaves out; of the corpus as it is, the share that it leaves out is told.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from data.check.test_judged_pairs import faulty
from machine import describe_machine
from openwork.data.check.pairs import ACTED_ON, worth
from openwork.data.corpora.catalogue import load

RESULTS = Path(__file__).parent / "results" / "cleaning.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+")
    corpora = parser.parse_args().corpora
    measured: dict[str, Any] = {}
    for name in corpora:
        pairs = list(load(name, "train"))
        noisy, places = faulty(pairs)
        planted = np.isin(np.arange(len(pairs)), list(places))
        found = worth(noisy) < ACTED_ON
        measured[name] = {
            "pairs": len(pairs),
            "planted": int(planted.sum()),
            "precision_percent": round(100 * float((found & planted).sum() / found.sum()), 1),
            "recall_percent": round(100 * float((found & planted).sum() / planted.sum()), 1),
            "left_out_of_the_corpus_itself_percent": round(100 * float((worth(pairs) < ACTED_ON).mean()), 3),
        }
        print(name, measured[name])
    content = {
        "command": f"python benchmarks/cleaning.py {' '.join(corpora)}",
        "machine": describe_machine(),
        "corpora": measured,
    }
    RESULTS.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
