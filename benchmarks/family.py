"""Families side by side: each trained on the same pairs with the same number of weights, and scored on held-out ones.

    python benchmarks/family.py recipes/family/dates.toml --budget 400k --out FOLDER
    python benchmarks/family.py RUN.toml --presets lstm-small bytenet-small --set model.dropout=0.1 --out FOLDER

Each preset is sized as `openwork info --compare` does it; its section [model] takes the place of the run file's, and
what `--set` says comes last, where that family has such a setting. The checkpoint is chosen on validation pairs; the
test pairs are read once. Beside them stands what the most similar training text was given. A training that was
finished is not repeated.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from machine import describe_machine
from openwork.base.config import Layer, lay_over, read_run
from openwork.base.files import atomic_write_text
from openwork.base.records import read_records
from openwork.bundles.bundle import load_bundle
from openwork.cost.budget import Budget, Sized, compare_sizes
from openwork.data.corpora import catalogue as corpora
from openwork.data.pairs import training_pairs
from openwork.data.records import Pair
from openwork.evaluation.baselines import nearest
from openwork.inference.translator import BatchTranslator
from openwork.metrics.significance import interval
from openwork.runs.file.resolve import resolve_layer
from openwork.runs.folder import RunFolder
from openwork.runs.train import train_bundle

PRESETS = (
    "rnn-small", "lstm-small", "gru-small", "luong-small", "plain-small", "convs2s-small", "bytenet-small",
    "wavenet-small", "small", "gpt-small", "llama-small",
)  # fmt: skip


@dataclass(frozen=True)
class Line:
    """What one of them came to: the share of exactly right targets in percent, with its 95 % interval."""

    name: str
    exact: float
    low: float
    high: float
    weights: int = 0
    seconds: float = 0.0
    model: Any = None


def share(told: Sequence[str], pairs: Sequence[Pair]) -> tuple[float, float, float]:
    """Exactly right, in percent, and its interval by bootstrap."""
    right = np.array([100.0 * (one == pair.target) for one, pair in zip(told, pairs, strict=True)])
    return float(right.mean()), *interval(lambda drawn: float(right[drawn].mean()), len(right))


def own_run(base: Layer, sized: Sized, changes: Sequence[str]) -> Layer:
    """The run with this model; changes of its section that the family does not know are left out."""
    model = sized.settings.model_dump(mode="json", exclude_none=True)
    known = [one for one in changes if not one.startswith("model.") or one[6:].partition("=")[0].strip() in model]
    return lay_over(Layer({**base.mapping, "model": model}), known, {})


def trained(layer: Layer, sized: Sized, pairs: Sequence[Pair], out: Path) -> Line:
    """Trains, unless that was done already, and scores."""
    record = out / "line.json"
    if record.exists():
        return Line(**json.loads(record.read_text(encoding="utf-8")))
    settings = resolve_layer(layer, print, choose_rest=False).settings
    done = train_bundle(settings, out, lambda line: print(f"  {line}", flush=True))
    if done.bundle is None:
        raise SystemExit(f"{out}: interrupted; the same command goes on")
    finished = [one for one in read_records(RunFolder(out).records) if one["kind"] == "finished"]
    scores = share(BatchTranslator.of(load_bundle(out)).best([pair.source for pair in pairs]), pairs)
    seconds, model = float(finished[-1]["seconds"]), layer.mapping["model"]
    line = Line(sized.name, *scores, weights=sized.weights, seconds=seconds, model=model)
    atomic_write_text(record, json.dumps(vars(line)))
    return line


def table(lines: Sequence[Line]) -> list[str]:
    """For people, as Markdown."""
    rows = [
        f"| {one.name} | {one.weights:,} | {one.exact:.1f} ({one.low:.1f} to {one.high:.1f}) | {one.seconds:,.0f} s |"
        for one in lines
    ]
    return ["| | weights | exactly right | training |", "| --- | --- | --- | --- |", *rows]


def measure(asked: argparse.Namespace) -> list[Line]:
    """The baseline first, then one training for each preset."""
    base = read_run(asked.run, [], {})
    settings = resolve_layer(base, print, choose_rest=False).settings
    name = settings.data.corpus
    if name is None:
        raise SystemExit(f"{asked.run}: name a corpus that has a test split, as data.corpus")
    pairs = list(corpora.load(name, "test"))
    told, answers = nearest(list(training_pairs(settings.data).read()), [pair.source for pair in pairs])
    lines = [Line(told, *share(answers, pairs))]
    print(f"{told}: {lines[0].exact:.1f}", flush=True)
    for sized in compare_sizes(asked.presets, Budget.parse(asked.budget), settings.text.vocabulary_size):
        print(f"{sized.name}: {sized.weights:,} weights", flush=True)
        lines.append(trained(own_run(base, sized, asked.set), sized, pairs, asked.out / sized.name))
        print(f"{sized.name}: {lines[-1].exact:.1f}", flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--presets", nargs="+", default=list(PRESETS))
    parser.add_argument("--budget", default="400k", help="as of openwork info --compare")
    parser.add_argument("--set", action="append", default=[], help="as of openwork train")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    lines = measure(asked)
    found = {
        "run": asked.run.name, "budget": asked.budget, "set": asked.set, "machine": describe_machine(),
        "lines": [vars(line) for line in lines],
    }  # fmt: skip
    atomic_write_text(asked.out / "family.json", json.dumps(found, ensure_ascii=False, indent=1) + "\n")
    print("\n".join(table(lines)))


if __name__ == "__main__":
    main()
