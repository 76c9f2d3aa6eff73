"""How much a draft saves: single sentences, greedy, with and without it, by a translator and by a larger one like it.

    python benchmarks/speculative.py TEACHER STUDENT --corpus CORPUS

The larger model has the paper's base size and computes the same function: each number is there twice, each weight
divided by two, and the added layers add nothing. So the student agrees with it as often as with the teacher, and only
its cost is another. Written to results/speculative.json.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))
from machine import describe_machine
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.data.corpora.catalogue import load
from openwork.inference.translator import BatchTranslator
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel
from openwork.models.settings import TransformerSettings
from openwork.models.weights import model_weights, restore_weights
from openwork.runs.usable import usable_bundle

RESULTS = Path(__file__).parent / "results" / "speculative.json"
SENTENCES, ROUNDS = 100, 3
LAYERS, LONGEST = 6, 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("teacher", type=Path)
    parser.add_argument("student", type=Path)
    parser.add_argument("--corpus", required=True)
    asked = parser.parse_args()
    teacher, student = (load_bundle(usable_bundle(folder)) for folder in (asked.teacher, asked.student))
    sources = [pair.source for pair in load(asked.corpus, "test")][:SENTENCES]
    settings, large = widened(teacher)
    models = {"teacher": teacher.model, f"the same, {LAYERS} + {LAYERS} layers of {settings.width}": large}
    measured: dict[str, Any] = {}
    for precision in ("float32", "bfloat16"):
        for label, model in models.items():
            measured[f"{label}, {precision}"] = found = _measured(teacher, model, student.model, sources, precision)
            print(label, precision, found)
    content = {
        "command": f"python benchmarks/speculative.py TEACHER STUDENT --corpus {asked.corpus}",
        "machine": describe_machine(),
        "sentences": len(sources),
        "models": measured,
    }
    RESULTS.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _measured(
    bundle: Bundle, model: SequenceModel, draft: SequenceModel, sources: list[str], precision: Any
) -> dict[str, Any]:
    greedy = bundle.settings.decoding.model_copy(update={"beam": 1, "best": 1})
    ways = {
        "plain": BatchTranslator(model, bundle.tokenizers, greedy, precision=precision),
        "with_draft": BatchTranslator(model, bundle.tokenizers, greedy, precision=precision, draft=draft),
    }
    seconds: dict[str, float] = {}
    texts: dict[str, list[str]] = {}
    for _ in range(ROUNDS):
        for way, translator in ways.items():
            translator.best(sources[:2])
            began = time.perf_counter()
            texts[way] = [translator.best([source])[0] for source in sources]
            taken = time.perf_counter() - began
            seconds[way] = min(taken, seconds.get(way, taken))
    return {
        "milliseconds_a_sentence": {way: round(1000 * taken / len(sources), 2) for way, taken in seconds.items()},
        "times_as_fast": round(seconds["plain"] / seconds["with_draft"], 2),
        "same_translations": sum(one == other for one, other in zip(texts["plain"], texts["with_draft"], strict=True)),
    }


def widened(bundle: Bundle) -> tuple[TransformerSettings, SequenceModel]:
    """The model with twice the width, rows and heads, and with six layers a stack, which computes the same."""
    before = bundle.settings.model
    assert isinstance(before, TransformerSettings) and before.norm == "pre" and before.tying == "three-way"
    after = before.model_copy(
        update={
            "width": 2 * before.width, "heads": 2 * before.heads, "feedforward_width": 2 * before.feedforward_width,
            "encoder_layers": LAYERS, "decoder_layers": LAYERS, "positions": "learned", "maximum_length": LONGEST,
        }
    )  # fmt: skip
    large = build_model(after, *bundle.tokenizers.sizes)
    weights = {name: _wide(name, weight) for name, weight in model_weights(bundle.model).items()}
    places: Any = bundle.model.target_positions
    for name, weight in model_weights(large).items():
        if "positions" in name:  # sinusoids of the greater width are others, so these are kept as a table
            weights[name] = torch.cat([places.rows(0, LONGEST)] * 2, dim=1)
        elif name not in weights:  # of an added layer: it gives nothing
            weights[name] = torch.zeros_like(weight)
    restore_weights(large, weights, "the widened model")
    return after, large.eval()


def _wide(name: str, weight: Tensor) -> Tensor:
    if name == "output":  # embeddings are multiplied by the root of the width, which has grown by the root of two
        return torch.cat([weight, weight], dim=1) / 2**0.5
    if weight.dim() == 1:
        twice = torch.cat([weight, weight])
        return twice / 2**0.5 if name.startswith("decoder.final_norm") else twice
    return torch.cat([torch.cat([weight, weight], dim=1) / 2] * 2, dim=0)


if __name__ == "__main__":
    main()
