"""Pictures that a language model writes code by code: how often another model sees the digit that was asked for.

    openwork train digit-codes --out codes && openwork train digits-vit --out vit
    python benchmarks/digit_images.py codes vit --out digit-images.json --draw docs/digit-images.png

The judge is a Vision Transformer that learnt the digits themselves. Beside the model's pictures it sees those of a
baseline, which draws each code by how often a training digit of the class has it at that place, and the real digits
of the test in the same codes, which say how far the judge can be trusted. Both are also asked how probable the real
digits are, in bits a picture. Needs openwork[tasks,vision].
"""

import argparse
import json
from collections import Counter, defaultdict
from contextlib import suppress
from math import log, log2
from pathlib import Path
from random import Random

import numpy as np
from PIL import Image

import openwork
from machine import describe_machine
from openwork.bundles.bundle import load_bundle
from openwork.data.corpora.catalogue import load
from openwork.data.corpora.digits import SIDE, pixels_of
from openwork.data.corpora.spoken_digits import WORDS
from openwork.evaluation.label_scores import label_scores
from openwork.inference.scorer import Scorer

SHARES = (0.9, 1.0)  # of the probable codes, that pictures are sampled from
EACH, SHOWN = 50, 4  # pictures of each digit; how many of them are drawn
PIXEL, GAP = 4, 4  # pixels of the drawing for one of a picture; pixels between two makers


def frequencies() -> dict[str, list[Counter[str]]]:
    """How often training digits of each class have each code at each place."""
    known: dict[str, list[Counter[str]]] = defaultdict(lambda: [Counter() for _ in range(16)])
    for pair in load("digit-codes", "train"):
        for place, code in enumerate(pair.target.split()):
            known[pair.source][place][code] += 1
    return known


def likeliest(counter: Counter[str], share: float) -> Counter[str]:
    """The fewest codes that make up this share of all."""
    kept: Counter[str] = Counter()
    for code, count in counter.most_common():
        if kept.total() >= share * counter.total():
            break
        kept[code] = count
    return kept


def by_frequency(random: Random, share: float) -> dict[str, list[list[str]]]:
    """Pictures of each digit whose codes are drawn one by one, as often as training digits have them there.

    `share`: of the codes at a place, the likeliest that make up so much are drawn from, as the model's `top_p`.
    """
    known = {word: [likeliest(one, share) for one in places] for word, places in frequencies().items()}
    return {
        word: [[random.choices(list(one), list(one.values()))[0] for one in known[word]] for _ in range(EACH)]
        for word in WORDS
    }


def bits(bundle: Path) -> dict[str, float]:
    """Bits for the codes of a real digit of the test, on average, of those with no new code.

    For the baseline each code counts once more than it occurs.
    """
    codes = {code for pair in load("digit-codes", "train") for code in pair.target.split()}
    pairs = [pair for pair in load("digit-codes", "test") if codes.issuperset(pair.target.split())]
    read, known = load_bundle(bundle), frequencies()
    nats = sum(-one.total for one in Scorer(read.model, read.tokenizers).score(pairs))
    counted = 0.0
    for pair in pairs:
        for place, code in enumerate(pair.target.split()):
            counter = known[pair.source][place]
            counted -= log2((counter[code] + 1) / (counter.total() + len(codes)))
    return {"digits": len(pairs), "language model": nats / log(2) / len(pairs), "by frequency": counted / len(pairs)}


def by_model(bundle: Path, share: float) -> dict[str, list[list[str]]]:
    """As many that the model samples, from the likeliest codes that make up this share."""
    model = openwork.load(bundle)
    assert isinstance(model, openwork.LanguageModel), "it continues texts"
    found = model.complete(list(WORDS), length=17, samples=EACH, best=EACH, seed=1, top_p=share)
    return {word: [one.text.split() for one in samples] for word, samples in zip(WORDS, found, strict=True)}


def of_the_test() -> dict[str, list[list[str]]]:
    """The real digits of the test in codes."""
    found: dict[str, list[list[str]]] = {word: [] for word in WORDS}
    for pair in load("digit-codes", "test"):
        found[pair.source].append(pair.target.split())
    return found


def judged(pictures: dict[str, list[list[str]]], judge: openwork.Classifier) -> dict[str, float | int]:
    """The share that the judge sees as what was asked for, in per cent; what is no picture counts as wrong."""
    asked, readable, seen = [], [], []
    for digit, word in enumerate(WORDS):
        for codes in pictures[word]:
            try:
                readable.append(pixels_of(codes))
            except ValueError:
                seen.append(None)
            else:
                seen.append(len(readable) - 1)
            asked.append(str(digit))
    labels = judge.classify(readable)
    answers = ["none" if place is None else labels[place] for place in seen]
    accuracy, *_ = label_scores("classify", asked, answers, 1000)
    whole = {"pictures": len(asked), "no pictures": seen.count(None)}
    return {"accuracy": accuracy.value, "low": accuracy.low, "high": accuracy.high, **whole}


def drawing(rows: list[dict[str, list[list[str]]]]) -> Image.Image:
    """Pictures of each digit, a column for each, and a block of rows for each maker."""
    side, each = SIDE + 1, len(rows) * SHOWN
    sheet = np.full((each * side + (len(rows) - 1) * GAP, len(WORDS) * side), 255, np.uint8)
    for block, pictures in enumerate(rows):
        for column, word in enumerate(WORDS):
            for row, codes in enumerate(pictures[word][:SHOWN]):
                top = (block * SHOWN + row) * side + block * GAP
                with suppress(ValueError):  # what is no picture stays white
                    sheet[top : top + SIDE, column * side : column * side + SIDE] = pixels_of(codes)
    return Image.fromarray(sheet).resize((sheet.shape[1] * PIXEL, sheet.shape[0] * PIXEL), Image.Resampling.NEAREST)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("codes", type=Path)
    parser.add_argument("judge", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--draw", type=Path)
    given = parser.parse_args()
    judge = openwork.load(given.judge)
    assert isinstance(judge, openwork.Classifier), "the judge classifies pictures"
    makers = {
        **{f"language model, {share:.0%}": by_model(given.codes, share) for share in SHARES},
        **{f"by frequency, {share:.0%}": by_frequency(Random(1), share) for share in SHARES},
        "test": of_the_test(),
    }
    found = {name: judged(pictures, judge) for name, pictures in makers.items()}
    results = {"machine": describe_machine(), "found": found, "bits": bits(given.codes)}
    given.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if given.draw is not None:
        drawing([makers["language model, 90%"], makers["by frequency, 90%"]]).save(given.draw)
    for name, one in found.items():
        print(name, one)


if __name__ == "__main__":
    main()
