"""What learning placeholders brings: how many come back, and what translations without them are worth.

    python benchmarks/placeholders.py valid.en valid.de NAME=BUNDLE ...

writes benchmarks/results/placeholders.json: of each bundle BLEU of the pairs as they are; and of the same sources with
a placeholder, the share of texts whose placeholders all come back exactly once, put in as a training does it
(`text/placeholder_data.py`, with BLEU against references that have it too), or `{name}` at any place between two words.
"""

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openwork
from machine import describe_machine
from openwork.base.files import atomic_write_text, read_lines
from openwork.metrics.translation import bleu
from openwork.text.placeholder_data import with_placeholders
from openwork.text.placeholders import find_placeholders

RESULTS = Path(__file__).parent / "results" / "placeholders.json"
NAME = "{name}"


def somewhere(text: str, generator: random.Random) -> str:
    """The text with a placeholder between two of its words."""
    words = text.split(" ")
    words.insert(generator.randint(1, max(1, len(words) - 1)), NAME)
    return " ".join(words)


def kept(sources: Sequence[str], translations: Sequence[str]) -> float:
    """The share of texts with the placeholders of their sources, each as often."""
    pairs = list(zip(sources, translations, strict=True))
    return sum(sorted(find_placeholders(a)) == sorted(find_placeholders(b)) for a, b in pairs) / len(pairs)


def measure(translator: Any, sources: list[str], references: list[str]) -> dict[str, float]:
    generator = random.Random(1)
    learnt = [with_placeholders(*pair, 1.0) for pair in zip(sources, references, strict=True)]
    anywhere = [somewhere(text, generator) for text in sources]

    def translated(texts: list[str]) -> list[str]:
        return [one.text for one in translator.translate(texts)]

    as_learnt = translated([source for source, _ in learnt])
    return {
        "bleu": bleu(translated(sources), references).value,
        "as_learnt": kept([source for source, _ in learnt], as_learnt),
        "as_learnt_bleu": bleu(as_learnt, [reference for _, reference in learnt]).value,
        "anywhere": kept(anywhere, translated(anywhere)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("bundles", nargs="+", metavar="NAME=BUNDLE")
    parser.add_argument("--results", type=Path, default=RESULTS)
    asked = parser.parse_args()
    sources, references = (list(read_lines(path)) for path in (asked.source, asked.reference))
    found = {}
    for one in asked.bundles:
        name, _, bundle = one.partition("=")
        found[name] = measure(openwork.load(bundle), sources, references)
        print(name, found[name], flush=True)
    result = {"machine": describe_machine(), "texts": len(sources), "bundles": found}
    atomic_write_text(asked.results, json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
