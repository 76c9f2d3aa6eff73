"""How often the guard flags good translations, and what it flags of sources that are made difficult.

    python benchmarks/guard.py --bundle en-de --source valid.en

writes benchmarks/results/guard.json: of the sources as they are, and of each way to spoil them, what share is flagged,
flag by flag, before and after the second, careful search.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from machine import describe_machine
from openwork.base.files import read_lines
from openwork.bundles.bundle import load_bundle
from openwork.inference.guard import GuardedTranslator, flagged, usual_texts
from openwork.inference.loading import translator_of

RESULTS = Path(__file__).parent / "results" / "guard.json"
LATIN = (
    "Deux hommes marchent sous la pluie dans une rue de la ville.",
    "Dos hombres caminan por una calle de la ciudad bajo la lluvia.",
    "Zwei Männer gehen im Regen durch eine Straße der Stadt.",
)
FOREIGN = ("Два человека идут по улице в дождь.", "两个人在雨中走过街道。", "二人の男性が雨の中を歩いている。")


def with_typos(text: str, generator: random.Random) -> str:
    """A fifth of the words with two neighbouring letters exchanged."""
    words = text.split(" ")
    for place, word in enumerate(words):
        if len(word) > 3 and generator.random() < 0.2:
            first = generator.randrange(len(word) - 1)
            words[place] = word[:first] + word[first + 1] + word[first] + word[first + 2 :]
    return " ".join(words)


def ways_to_spoil(sources: Sequence[str]) -> dict[str, Callable[[str, random.Random], str]]:
    """By name, what is done to a text with a generator; very long ones are made of other `sources`."""
    return {
        "as it is": lambda text, generator: text,
        "one word": lambda text, generator: text.split(" ")[0],
        "no full stop": lambda text, generator: text.rstrip("."),
        "capitals": lambda text, generator: text.upper(),
        "typos": with_typos,
        "emoji": lambda text, generator: f"{text} 😀🎉",
        "another language": lambda text, generator: generator.choice(LATIN),
        "another script": lambda text, generator: generator.choice(FOREIGN),
        "very long": lambda text, generator: " ".join([text, *generator.sample(sources, 11)]),
        "the same again and again": lambda text, generator: " ".join([text] * 8),
        "noise": lambda text, generator: "".join(generator.choice("abcdefgh ,.xyz") for _ in text),
    }


def shares(translations: Sequence[Sequence[object]]) -> dict[str, float]:
    """The share of texts that is flagged at all, and by each flag."""
    counts = Counter(flag for first, *_ in translations for flag in (*first.flags, *(["any"] if first.flags else [])))  # type: ignore[attr-defined]
    return {flag: round(count / len(translations), 4) for flag, count in sorted(counts.items())}


def main() -> None:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--count", type=int, default=200, help="sources that are spoilt in each way")
    options = parser.parse_args()
    bundle = load_bundle(options.bundle)
    usual = usual_texts(bundle)
    guarded = GuardedTranslator(translator_of([bundle], bundle.settings.decoding, "auto"), usual)
    sources = list(read_lines(options.source))
    found = {}
    for name, spoil in ways_to_spoil(sources).items():
        generator = random.Random(1)
        texts = [spoil(text, generator) for text in (sources if name == "as it is" else sources[: options.count])]
        first = [
            flagged(text, ways, usual) for text, ways in zip(texts, guarded.translator.translate(texts), strict=True)
        ]
        found[name] = {"texts": len(texts), "first": shares(first), "careful": shares(guarded.translate(texts))}
        print(name, found[name], flush=True)
    result = {"machine": describe_machine(), "flagged": found}
    RESULTS.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
