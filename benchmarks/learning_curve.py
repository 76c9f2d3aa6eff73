"""Score against the number of training examples: the trainings of a run file on nested random subsets of its pairs.

    python benchmarks/learning_curve.py RUN.toml --examples 10,100,1000 --seeds 3 --out FOLDER [--set KEY=VALUE]
    python benchmarks/learning_curve.py --draw FOLDER/curve.json OTHER/curve.json --out curves.svg

All settings but the examples are those of the run file. With seed s the pairs are put into one random order; the first
n of it are the n examples, so that the larger subset holds the smaller one, and s is the training's seed too. The order
for all pairs has no say, so that there one seed is trained. Validation pairs are always all of the run's; where the run
file chooses its checkpoint on them, every point is flattered by that alike. A training that was finished is not
repeated.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean, pstdev
from typing import Any

from openwork.base.config import Layer, lay_over, read_run
from openwork.base.files import atomic_write_text
from openwork.data.pairs import training_pairs
from openwork.data.records import Pair
from openwork.data.settings import DataSettings
from openwork.inspection.plots import Chart, Series
from openwork.runs.file.resolve import resolve_layer
from openwork.runs.file.settings import RunSettings
from openwork.runs.train import train_bundle

ORIGINS = ("corpus", "count", "source", "target", "file", "text", "tsv", "format", "columns", "mix")


@dataclass(frozen=True)
class Point:
    """What one training came to; `score` from 0 to 100, as its validation names it."""

    examples: int
    seed: int
    score: float
    name: str

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def subset(pairs: Sequence[Pair], count: int, seed: int) -> list[Pair]:
    """The first `count` pairs of the order that the seed gives."""
    order = list(range(len(pairs)))
    Random(seed).shuffle(order)
    return [pairs[place] for place in order[:count]]


def on_subset(layer: Layer, data: DataSettings, folder: Path, pairs: Sequence[Pair], seed: int) -> Layer:
    """The same run on these pairs, which are written into the folder; the validation pairs stay."""
    folder.mkdir(parents=True, exist_ok=True)
    sides = {"source": [pair.source for pair in pairs], "target": [pair.target for pair in pairs]}
    for side, lines in sides.items():
        atomic_write_text(folder / side, "".join(f"{line}\n" for line in lines))
    kept = {key: value for key, value in layer.mapping["data"].items() if key not in ORIGINS}
    if not any(key.startswith("valid_") for key in kept) and data.corpus is not None:
        kept["valid_corpus"] = data.corpus
    files = {side: str(folder / side) for side in sides}
    training = {**layer.mapping.get("training", {}), "seed": seed}
    return Layer({**layer.mapping, "data": {**kept, **files}, "training": training}, layer.origins)


def trained(settings: RunSettings, out: Path, examples: int, seed: int) -> Point:
    """Trains, unless that was done already."""
    record = out / "point.json"
    if record.exists():
        return Point(**json.loads(record.read_text(encoding="utf-8")))
    chosen = train_bundle(settings, out, lambda line: print(f"  {line}", flush=True)).chosen
    if chosen is None or chosen.score is None:
        raise SystemExit(f"{out}: interrupted, or a model without a score of its task; the same command goes on")
    point = Point(examples, seed, chosen.score, chosen.score_name)
    atomic_write_text(record, json.dumps(point.to_json()))
    return point


def measure(arguments: argparse.Namespace) -> list[Point]:
    """One training for each number of examples and each seed."""
    layer = read_run(arguments.run, arguments.set, {})
    data = resolve_layer(layer, print, choose_rest=False).settings.data
    pairs = list(training_pairs(data).read())
    points = []
    for count in [*arguments.examples, len(pairs)] if arguments.all else arguments.examples:
        for seed in range(1, (1 if count >= len(pairs) else arguments.seeds) + 1):
            place = arguments.out / f"{count}-{seed}"
            own = on_subset(layer, data, place / "examples", subset(pairs, count, seed), seed)
            print(f"{count:,} examples, seed {seed}", flush=True)
            settings = resolve_layer(lay_over(own, [], {}), print, choose_rest=False).settings
            points.append(trained(settings, place / "run", count, seed))
    return points


def means(points: Sequence[Point]) -> list[tuple[int, float, float, int]]:
    """For each number of examples its mean score, their standard deviation, and how many they are."""
    found = []
    for count in sorted({point.examples for point in points}):
        scores = [point.score for point in points if point.examples == count]
        found.append((count, fmean(scores), pstdev(scores), len(scores)))
    return found


def table(points: Sequence[Point]) -> list[str]:
    """For people, as Markdown."""
    rows = [f"| {count:,} | {mean:.1f} | {spread:.1f} | {seeds} |" for count, mean, spread, seeds in means(points)]
    return [f"| examples | {points[0].name} | spread | seeds |", "| --- | --- | --- | --- |", *rows]


def drawn(curves: dict[str, list[Point]]) -> str:
    """All curves in one picture."""
    series = tuple(Series(name, [(n, mean) for n, mean, *_ in means(points)]) for name, points in curves.items())
    name = next(iter(curves.values()))[0].name
    return Chart("Score by training examples", "training examples", name, series, log_x=True).drawn(str)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="?")
    parser.add_argument("--examples", type=lambda text: [int(one) for one in text.split(",")], default=[10, 100, 1000])
    parser.add_argument("--all", action="store_true", help="all pairs as well")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], help="as of openwork train")
    parser.add_argument("--draw", type=Path, nargs="+", help="curves of earlier runs, in one picture")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.draw:
        read = {path: json.loads(path.read_text(encoding="utf-8")) for path in arguments.draw}
        curves = {found["name"]: [Point(**point) for point in found["points"]] for found in read.values()}
        atomic_write_text(arguments.out, drawn(curves))
        return
    if arguments.run is None:
        parser.error("name a run file, or curves to --draw")
    points = measure(arguments)
    found = {"name": arguments.run.stem, "set": arguments.set, "points": [point.to_json() for point in points]}
    atomic_write_text(arguments.out / "curve.json", json.dumps(found, indent=1))
    atomic_write_text(arguments.out / "curve.svg", drawn({arguments.run.stem: points}))
    print("\n".join(table(points)))


if __name__ == "__main__":
    main()
