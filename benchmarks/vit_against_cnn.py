"""A Vision Transformer and a convolutional network of as many weights on 1 %, 10 % and all of the training digits.

    python benchmarks/vit_against_cnn.py --out FOLDER

With seed s the pictures are put into one random order that goes round the classes; the first n of it are the n pictures
of both models, and s is the seed of the training too. Both have the same number of updates of as many pictures, and the
better of two learning rates, which the validation pictures choose by the mean over seeds. The test pictures are scored
with that rate alone. Intervals are 95 % over seeds by t; the differences are Welch's, with Holm's correction. Trainings
in FOLDER that have finished are not repeated. It needs openwork[tasks,vision,experiments].
"""

import argparse
import csv
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import openwork

sys.path.insert(0, str(Path(__file__).parent))
from machine import describe_machine
from openwork.base.files import atomic_write_text
from openwork.data.corpora.catalogue import load
from openwork.data.records import Pair
from openwork.metrics.estimates import Estimate, corrected, difference_over_seeds, mean_over_seeds
from openwork.models.interfaces import count_weights

RESULT = Path(__file__).parent / "results" / "vit-against-cnn.json"
RATES = (0.001, 0.003)
MODELS = {  # each with batches of 64 pictures, which have 16 positions or 64, and count one more
    "vit": {"model.preset": "vit-small", "model.pooling": "mean", "picture.patch": 2, "batches.tokens": 64 * 17},
    "cnn": {"model.preset": "cnn-small", "picture.patch": 1, "batches.tokens": 64 * 65},
}
SETTINGS = {
    "picture.height": 8, "picture.width": 8, "picture.channels": 1, "model.dropout": 0.2,
    "training.schedule": "inverse-square-root", "training.metric": "score", "training.validation_sentences": 182,
    "training.label_smoothing": 0.1, "training.average": 3, "training.precision": "float32", "training.workers": 1,
}  # fmt: skip


def in_turn(pairs: Sequence[Pair], seed: int) -> list[Pair]:
    """The pairs in a random order that goes round the labels, so that the first ones have each as often as they can."""
    generator = Random(seed)
    classes: dict[str, list[Pair]] = {}
    for pair in generator.sample(pairs, len(pairs)):
        classes.setdefault(pair.target, []).append(pair)
    numbered = [(number, pair) for group in classes.values() for number, pair in enumerate(group)]
    return [pair for _, pair in sorted(numbered, key=lambda one: one[0])]


def write_table(path: Path, pairs: Sequence[Pair]) -> None:
    """A table as `data.pictures` reads it."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "label"])
        rows.writerows(pairs)


def trained(model: str, rate: float, table: Path, seed: int, updates: int, out: Path) -> dict[str, Any]:
    """The validation score and the processor's seconds of a training, unless it was done already."""
    record = out / "trained.json"
    if record.exists():
        return json.loads(record.read_text(encoding="utf-8"))
    started = time.process_time()
    settings = {
        **SETTINGS, **MODELS[model],
        "data.pictures": str(table), "data.valid_corpus": "digits",
        "training.learning_rate": rate, "training.seed": seed,
        "training.warmup": max(1, updates // 5), "training.cooldown": updates // 5,
        "training.steps": updates, "training.validate_every": max(1, updates // 6),
    }  # fmt: skip
    run = openwork.train(out.parent / "run.toml", out=out, set=settings, progress=False)
    score = max(one.score or 0.0 for one in run.validations)
    found = {"validation": score, "seconds": time.process_time() - started}
    atomic_write_text(record, json.dumps(found))
    return found


def tested(out: Path) -> tuple[float, int]:
    """The accuracy on the test pictures from 0 to 100, and the number of weights."""
    model = openwork.load(out)
    return openwork.evaluate(model, corpus="digits", split="test")["accuracy"].value, count_weights(model.bundle.model)


def with_interval(estimate: Estimate) -> dict[str, float]:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def measure(shares: Sequence[float], seeds: Sequence[int], updates: int, folder: Path) -> dict[str, Any]:
    """The scores of both models for each share of the pictures, in per cent, and their differences."""
    pictures = list(load("digits", "train"))
    rows, differences, seconds = [], {}, 0.0
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.toml").write_text("", encoding="utf-8")  # all settings are given beside it
    for share in shares:
        count, scores = max(1, round(len(pictures) * share / 100)), {}
        for seed in seeds:
            write_table(folder / f"{count}-{seed}.csv", in_turn(pictures, seed)[:count])
        for model in MODELS:
            runs = {rate: {seed: folder / f"{model}-{count}-{rate}-{seed}" for seed in seeds} for rate in RATES}
            validations = {}
            for rate, places in runs.items():
                found = [
                    trained(model, rate, folder / f"{count}-{seed}.csv", seed, updates, out)
                    for seed, out in places.items()
                ]
                validations[rate] = [one["validation"] for one in found]
                seconds += sum(one["seconds"] for one in found)
                print(f"{model}, {count} pictures, rate {rate}: {validations[rate]}", file=sys.stderr, flush=True)
            rate = max(RATES, key=lambda one: sum(validations[one]))
            tests = [tested(out) for out in runs[rate].values()]
            scores[model] = [accuracy for accuracy, _ in tests]
            rows.append({
                "model": model, "share": share, "pictures": count, "weights": tests[0][1], "rate": rate,
                "validation": {str(one): values for one, values in validations.items()},
                "test": scores[model], **with_interval(mean_over_seeds(scores[model])),
            })  # fmt: skip
        differences[f"{share:g} %", "vit - cnn"] = difference_over_seeds(scores["cnn"], scores["vit"])
    compared = [
        {"share": one.first, **with_interval(one.estimate), "p": one.adjusted, "is_shown": one.is_shown}
        for one in corrected(differences)
    ]
    return {"results": rows, "differences": compared, "processor_seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the folder of the trainings")
    parser.add_argument("--result", type=Path, default=RESULT)
    parser.add_argument("--shares", type=lambda text: [float(one) for one in text.split(",")], default=[1, 10, 100])
    parser.add_argument("--seeds", type=int, default=3, help="two at least")
    parser.add_argument("--updates", type=int, default=450)
    arguments = parser.parse_args()
    found = measure(arguments.shares, range(1, arguments.seeds + 1), arguments.updates, arguments.out)
    facts = {"updates": arguments.updates, "settings": SETTINGS, "models": MODELS, "machine": describe_machine()}
    text = json.dumps({**facts, **found}, indent=1).replace("NaN", "null")  # of a p-value where nothing varied
    atomic_write_text(arguments.result, f"{text}\n")


if __name__ == "__main__":
    main()
