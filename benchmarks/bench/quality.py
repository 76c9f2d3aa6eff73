"""Time to quality: a recipe from a fresh start, and after how many seconds of wall time its weights were good enough.

The clock runs from before the corpus is read. What is judged is lc-BLEU on the validation pairs: of the bundle that the
recipe ends with, which is what the wall time of a whole run buys, and, greedily, of each checkpoint on the way, which
shows when the mark was first passed. Judging comes after the training, so it costs the clock nothing.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.clock import WEIGHTS, Clock
from bench.options import Options
from machine import describe_machine
from openwork.base.config import read_run
from openwork.base.files import atomic_write_text
from openwork.bundles.bundle import load_bundle
from openwork.data.corpora import catalogue as corpora
from openwork.inference.loading import translator_of
from openwork.metrics.translation import lowercased_bleu
from openwork.models.weights import read_tensors, restore_weights
from openwork.runs.file.resolve import resolve_run
from openwork.runs.file.settings import RunSettings
from openwork.runs.train import train_bundle

END = "bundle"
STOPPED = 3


def time_to_quality(options: Options, say: Callable[[str], None]) -> int:
    """Trains, or goes on with a training that was stopped, judges, and writes the figures; an exit code."""
    assert options.quality is not None
    settings = resolve_run(read_run(options.quality, [f"training.seed={options.seed}"], {}))
    folder = options.folder / "quality" / f"{options.quality.stem}-{options.seed}"
    clock = Clock(folder / "clock")
    if not (folder / "run" / "bundle").is_dir():
        outcome = train_bundle(settings, folder / "run", say, [clock])
        if outcome.bundle is None:
            say("stopped; the same command goes on")
            return STOPPED
        clock.note(END)
    curve = judge(settings, folder / "run" / "bundle", clock, say)
    result = {
        "recipe": options.quality.stem,
        "seed": options.seed,
        "machine": describe_machine(),
        "wanted_lc_bleu": options.bleu,
        "settings": settings.model_dump(mode="json", exclude_none=True),
        **verdict(curve, options.bleu),
        "curve": curve,
    }
    out = options.out.with_name(f"quality-{options.quality.stem}-{options.seed}.json")
    atomic_write_text(out, json.dumps(result, ensure_ascii=False, indent=1) + "\n")
    for point in curve:
        print(f"{point['seconds']:8.0f} s  lc-BLEU {point['lc_bleu']:6.2f}  {point['weights']}")
    print(f"written: {out}")
    return 0


def judge(settings: RunSettings, bundle: Path, clock: Clock, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Each checkpoint greedily, and the bundle as it translates by itself; what was judged before is not again."""
    corpus = settings.data.corpus
    assert corpus is not None
    pairs = list(corpora.load(corpus, "valid"))
    language = (corpora.find(corpus).languages or ("", ""))[1]
    known = clock.folder / "judged.json"
    scores: dict[str, float] = json.loads(known.read_text()) if known.is_file() else {}
    for name in clock.times():
        if name not in scores:
            say(f"judging {name}")
            translations = _translate(bundle, clock.folder / name, [pair.source for pair in pairs])
            references = [pair.target for pair in pairs]
            scores[name] = round(lowercased_bleu(translations, references, language=language).value, 2)
            atomic_write_text(known, json.dumps(scores))
    return [
        {"weights": name, "seconds": seconds, "lc_bleu": scores[name], "beam": 1 if name != END else None}
        for name, seconds in clock.times().items()
    ]


def _translate(bundle: Path, weights: Path, sources: list[str]) -> list[str]:
    loaded = load_bundle(bundle)
    decoding = loaded.settings.decoding
    if weights.is_dir():
        restore_weights(loaded.model, read_tensors(weights / WEIGHTS), str(weights))
        decoding = decoding.model_copy(update={"beam": 1})
    return translator_of([loaded], decoding, "auto").best(sources)


def verdict(curve: list[dict[str, Any]], wanted: float) -> dict[str, Any]:
    """The whole run's seconds and score, and when a single checkpoint first passed the mark (None: never)."""
    passed = [point["seconds"] for point in curve if point["lc_bleu"] >= wanted]
    whole = next((point for point in curve if point["weights"] == END), None)
    return {
        "seconds": whole["seconds"] if whole else None,
        "lc_bleu": whole["lc_bleu"] if whole else None,
        "reached": bool(whole and whole["lc_bleu"] >= wanted),
        "first_passed_seconds": min(passed, default=None),
    }
