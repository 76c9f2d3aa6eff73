"""Translating with a bundle on a GPU, beside the same weights in CTranslate2."""

import importlib
import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from openwork.bundles.bundle import Bundle, load_bundle
from openwork.decoding.settings import DecodingSettings
from openwork.inference.translator import BatchTranslator
from openwork.interop.ctranslate2.writing import write_ctranslate2

BEAMS = (1, 4)
BATCHES = (64, 256, 1024)  # sentences of a batch that CTranslate2 is tried with; the fastest counts
ROUNDS = 3
ONES = 30  # sentences that are translated one by one
LONGEST = 256


def translating(folder: Path, sentences: Path, device: torch.device) -> dict[str, Any]:
    """Sentences a second of both, by beam, and milliseconds for one; medians of some rounds after one to warm up.

    Ours in the precision that is chosen by itself, and in float32 with how many texts differ.
    """
    lines = sentences.read_text(encoding="utf-8").splitlines()
    bundle = load_bundle(folder)
    bundle.model.to(device).eval()
    found: dict[str, Any] = {"sentences": len(lines)}
    with tempfile.TemporaryDirectory() as scratch:
        for beam in BEAMS:
            decoding = DecodingSettings(beam=beam, maximum_length=LONGEST)
            ours, exact = (
                BatchTranslator(bundle.model, bundle.tokenizers, decoding, precision=precision)
                for precision in ("auto", "float32")
            )
            ways = {"openwork": ours.best, "openwork float32": exact.best}
            speeds = {name: len(lines) / _seconds(partial(way, lines)) for name, way in ways.items()}
            theirs = _theirs(Path(scratch) / f"beam-{beam}", bundle, lines, beam, device)
            speeds |= {name: len(lines) / _seconds(way) for name, way in theirs.items()}
            lone = {"openwork": _lone(lambda line, ours=ours: ours.best([line]), lines)}
            if theirs:
                lone["CTranslate2"] = _lone(_one_of_theirs(Path(scratch) / f"beam-{beam}", bundle, beam, device), lines)
            pairs = zip(ours.best(lines), exact.best(lines), strict=True)
            found[f"beam {beam}"] = {
                **{name: round(speed, 1) for name, speed in speeds.items()},
                "texts that differ from float32": sum(one != other for one, other in pairs),
                "one sentence, milliseconds": {name: round(1000 * seconds, 2) for name, seconds in lone.items()},
            }
            print(f"beam {beam}: {found[f'beam {beam}']}")
    return found


def _lone(way: Callable[[str], object], lines: Sequence[str]) -> float:
    """The median time for one of some sentences; the first round is to warm up."""
    times = []
    for line in lines[:ONES] * 2:
        start = time.perf_counter()
        way(line)
        times.append(time.perf_counter() - start)
    return statistics.median(times[len(times) // 2 :])


def _one_of_theirs(folder: Path, bundle: Bundle, beam: int, device: torch.device) -> Callable[[str], object]:
    """CTranslate2 for one sentence, which is cut into pieces as ours."""
    translator = _translator(folder, device)
    tokenizer = bundle.tokenizers.source

    def way(line: str) -> object:
        pieces = [tokenizer.piece(piece) for piece in tokenizer.encode(line)]
        return translator.translate_batch([pieces], beam_size=beam, length_penalty=1.0, max_decoding_length=LONGEST)

    return way


def _translator(folder: Path, device: torch.device) -> Any:
    ctranslate2 = importlib.import_module("ctranslate2")
    return ctranslate2.Translator(str(folder), device=device.type, compute_type=_type(device))


def _type(device: torch.device) -> str:
    return "float16" if device.type == "cuda" else "float32"


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
    write_ctranslate2(folder, bundle)
    translator = _translator(folder, device)
    tokenizer = bundle.tokenizers.source
    pieces = [[tokenizer.piece(piece) for piece in tokenizer.encode(line)] for line in lines]

    def way(size: int) -> Callable[[], object]:
        return lambda: translator.translate_batch(
            pieces, max_batch_size=size, beam_size=beam, length_penalty=1.0, max_decoding_length=LONGEST
        )

    return {f"CTranslate2 {_type(device)}, batches of {size}": way(size) for size in BATCHES}
