"""Translating with a bundle on a GPU, beside the same weights in CTranslate2."""

import importlib
import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from openwork.bundles.bundle import Bundle, load_bundle
from openwork.decoding.settings import DecodingSettings
from openwork.inference.translator import BatchTranslator
from openwork.interop.ctranslate2.writing import write_ctranslate2
from openwork.machine.precision import PrecisionName

BEAMS = (1, 4)
BATCHES = (64, 256, 1024)  # sentences of a batch that CTranslate2 is tried with; the fastest counts
ROUNDS = 3
LONGEST = 256


def translating(folder: Path, sentences: Path, device: torch.device, precision: PrecisionName) -> dict[str, Any]:
    """Sentences a second of both, by beam; medians of some rounds after one to warm up."""
    lines = sentences.read_text(encoding="utf-8").splitlines()
    bundle = load_bundle(folder)
    bundle.model.to(device).eval()
    found: dict[str, Any] = {"sentences": len(lines)}
    with tempfile.TemporaryDirectory() as scratch:
        for beam in BEAMS:
            decoding = DecodingSettings(beam=beam, maximum_length=LONGEST)
            ours = BatchTranslator(bundle.model, bundle.tokenizers, decoding, precision=precision)
            ways: dict[str, Callable[[], object]] = {"openwork": lambda ours=ours: ours.best(lines)}
            ways |= _theirs(Path(scratch) / f"beam-{beam}", bundle, lines, beam, device)
            speeds = {name: len(lines) / _seconds(way) for name, way in ways.items()}
            found[f"beam {beam}"] = {name: round(speed, 1) for name, speed in speeds.items()}
            print(f"beam {beam}: " + ", ".join(f"{name} {speed:,.0f} sentences/s" for name, speed in speeds.items()))
    return found


def _seconds(way: Callable[[], object]) -> float:
    """Results are texts or pieces, so the device has done its work when they are there."""
    times = []
    for _ in range(ROUNDS + 1):
        start = time.perf_counter()
        way()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def _theirs(
    folder: Path, bundle: Bundle, lines: Sequence[str], beam: int, device: torch.device
) -> dict[str, Callable[[], object]]:
    """CTranslate2 with several sizes of batches; its time has no cutting into pieces in it, ours has."""
    if importlib.util.find_spec("ctranslate2") is None:
        print("CTranslate2 is not installed, so only openwork translates")
        return {}
    ctranslate2 = importlib.import_module("ctranslate2")
    write_ctranslate2(folder, bundle)
    precision = "float16" if device.type == "cuda" else "float32"
    translator = ctranslate2.Translator(str(folder), device=device.type, compute_type=precision)
    tokenizer = bundle.tokenizers.source
    pieces = [[tokenizer.piece(piece) for piece in tokenizer.encode(line)] for line in lines]

    def way(size: int) -> Callable[[], object]:
        return lambda: translator.translate_batch(
            pieces, max_batch_size=size, beam_size=beam, length_penalty=1.0, max_decoding_length=LONGEST
        )

    return {f"CTranslate2 {precision}, batches of {size}": way(size) for size in BATCHES}
