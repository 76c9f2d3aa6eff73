"""What becomes of a translator that is made smaller: size, operations, score and speed of each bundle, in one run.

    python benchmarks/smaller.py NAME --corpus CORPUS LABEL=BUNDLE...

The first bundle is what the others were made of. Speed: all sources of the test set, greedy and by the bundle's beam,
in a process that has loaded everything, the bundles in turn, the best of three. Added to results/smaller.json.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from machine import add_result
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.bundles.folder import WEIGHTS, whole_bundle
from openwork.cost.cost import cost_of
from openwork.data.corpora.catalogue import load
from openwork.inference.translator import BatchTranslator
from openwork.metrics.translation import bleu
from openwork.runs.usable import usable_bundle

RESULTS = Path(__file__).parent / "results" / "smaller.json"
ROUNDS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("bundles", nargs="+")
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--split", default="test")
    asked = parser.parse_args()
    pairs = list(load(asked.corpus, asked.split))
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    folders = {label: usable_bundle(Path(path)) for label, _, path in (one.partition("=") for one in asked.bundles)}
    bundles = {label: load_bundle(folder) for label, folder in folders.items()}
    measured = {label: _facts(folders[label], bundle) for label, bundle in bundles.items()}
    for _ in range(ROUNDS):
        for label, bundle in bundles.items():
            _time(bundle, sources, references, measured[label])
    first = next(iter(measured.values()))
    for label, found in measured.items():
        seconds = found["seconds"]
        found["times_as_fast"] = {way: round(first["seconds"][way] / seconds[way], 2) for way in seconds}
        print(label, found)
    corpus = asked.corpus if asked.split == "test" else f"{asked.corpus} --split {asked.split}"
    command = f"python benchmarks/smaller.py {asked.name} --corpus {corpus} {' '.join(folders)}"
    add_result(RESULTS, asked.name, command, {"sentences": len(sources), "bundles": measured})


def _facts(folder: Path, bundle: Bundle) -> dict[str, Any]:
    cost = cost_of(bundle.settings.model, *bundle.tokenizers.sizes)
    return {
        "megabytes": round((whole_bundle(folder) / WEIGHTS).stat().st_size / 1e6, 2),
        "million_weights": round(cost.weights / 1e6, 3),
        "million_operations_a_token": round(cost.forward_flops / 1e6, 3),
        "bleu": {},
        "seconds": {},
    }


def _time(bundle: Bundle, sources: list[str], references: list[str], found: dict[str, Any]) -> None:
    own = bundle.settings.decoding
    for way, decoding in (("greedy", own.model_copy(update={"beam": 1, "best": 1})), (f"beam {own.beam}", own)):
        translator = BatchTranslator.of(bundle, decoding)
        translator.best(sources[:8])
        began = time.perf_counter()
        texts = translator.best(sources)
        seconds = round(time.perf_counter() - began, 3)
        found["seconds"][way] = min(seconds, found["seconds"].get(way, seconds))
        found["bleu"][way] = round(bleu(texts, references, language=bundle.settings.target_language).value, 2)


if __name__ == "__main__":
    main()
