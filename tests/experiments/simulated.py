"""Folders of experiments as the engine writes them, from simulated numbers."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from openwork.metrics.two_way_bootstrap import corpus_metric

STRUCTURES = '[[variants]]\nname = "lstm"\nbaseline = true\n[[variants]]\nname = "tf"\n'
SPACE = '[space]\n"model.width" = [32, 64]\n'
ASKED = {"factors": '[factors]\n"model.heads" = [1]\n', "search": SPACE, "protocol": SPACE}
MACHINE = "two cores of somebody's laptop"
WORDS = ["the", "small", "old", "boat", "left", "a", "harbour", "early", "and", "two", "children", "play"]


def experiment(
    folder: Path, kind: str = "factors", metric: str = "bleu", more: str = "", name: str = "ablations"
) -> Path:
    """An experiment without trials; `more` are its variants."""
    folder.mkdir(parents=True, exist_ok=True)
    head = f'[experiment]\nname = {json.dumps(name)}\nkind = "{kind}"\nmetric = "{metric}"\nseeds = [1, 2, 3]\n'
    head += f'base = "base.toml"\n[budget]\nupdates = 500\n{ASKED.get(kind, "")}'
    (folder / "experiment.toml").write_text(head + (more or (STRUCTURES if kind == "protocol" else "")), "utf-8")
    return folder


def trial(folder: Path, number: int, variant: str, seed: int, score: float | None, **more: Any) -> Path:
    """One trial.json; further keys replace those that are simulated."""
    place = folder / "trials" / f"{number:04}"
    place.mkdir(parents=True)
    values = {"format": 1, "number": number, "variant": variant, "group": None, "settings": {}, "seed": seed}
    values |= {"state": "finished", "problem": None, "metric": "bleu", "validation": {"loss": 2.0, "bleu": score}}
    values |= {"signature": "nrefs:1|tok:13a", "tokenizers": "t1", "data": "d1", "updates": 500}
    values |= {"seconds": 360.0, "processor_seconds": 720.0, "flops": 1e12, "weights": 5_000_000}
    values |= {"machine": MACHINE, **more}
    (place / "trial.json").write_text(json.dumps(values), "utf-8")
    return place


def arms(folder: Path, scores: Mapping[str, Sequence[float]], **more: Any) -> Path:
    """A trial for each score: seeds 1, 2, ... of each variant; numbers go on from those that are there."""
    number = len(list(folder.glob("trials/*")))
    for variant, values in scores.items():
        for seed, score in enumerate(values, start=1):
            number += 1
            trial(folder, number, variant, seed, score, **more)
    return folder


def score_on_test_set(place: Path, score: float, sentences: Sequence[float], statistics: Any = (), **more: Any) -> None:
    """The test.json of a trial."""
    values = {"scores": {"bleu": score}, "sentences": list(sentences), "signature": "nrefs:1|tok:13a"}
    values |= {"statistics": np.asarray(statistics).tolist()} if len(statistics) else {}
    (place / "test.json").write_text(json.dumps({**values, **more}), "utf-8")


def make_test_set(folder: Path, rates: Mapping[str, Sequence[float]], count: int = 40) -> None:
    """A test set of random sentences, which each trial copies with a rate of wrong words of its own, in its order."""
    random = np.random.default_rng(5)
    references = [" ".join(random.choice(WORDS, 12)) for _ in range(count)]
    metric = corpus_metric("bleu")
    places = iter(sorted(folder.glob("trials/*")))
    for variant in rates:
        for rate in rates[variant]:
            wrong = [" ".join("x" if random.random() < rate else word for word in line.split()) for line in references]
            statistics = metric.statistics(wrong, references)
            score = float(metric.score(statistics.sum(axis=0)))
            score_on_test_set(next(places), score, metric.score(statistics), statistics)
    touch(folder, ended=1_777_636_900.0)


def touch(folder: Path, *, ended: float | None) -> None:
    """Notes that the test set was touched."""
    values = {"test": "test", "sentences": 40, "rule": "the best", "metric": "bleu", "trials": [1, 2]}
    text = json.dumps({**values, "started": 1_777_636_800.0, "ended": ended})
    (folder / "test.json").write_text(text, "utf-8")
