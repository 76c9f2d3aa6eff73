"""Translating speed: sentences a second and single sentences, the same weights and sentences for all.

openwork is given text and gives text. The peers are given pieces and give pieces, so that cutting and joining them is
not counted against them.
"""

import json
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bench.measurement import OURS, Measurement, percentile
from bench.options import Options
from bench.processes import Answer
from bench.texts import TranslatingWork

BEAMS = (1, 5)
SHORTLIST = "with a shortlist"
BATCH_SIZES = [32, 64, 128, 256]
HUGGING_FACE_BATCH = [64]
SINGLE_ROUNDS = 1  # of the 10,000 sentences and of single ones by slow peers
TYPES = {"cpu": ("float32", "int8", "int8_float32", "bfloat16"), "cuda": ("float32", "float16", "int8_float16")}
HUGGING_FACE_TYPES = {"cpu": ("float32", "bfloat16"), "cuda": ("float32", "bfloat16", "float16")}


def measurements(options: Options, work: Callable[[], TranslatingWork]) -> list[Measurement]:
    """Greedy and beam 5: many sentences, single sentences, and our whole command."""
    made = []
    for beam in BEAMS:
        for count in options.sentences:
            made += _many(options, work, beam, count)
        made += _single(options, work, beam)
    return made


def key(kind: str, beam: int, peer: str, *details: str) -> str:
    """The name of one of them; `kind` says what is measured."""
    return "/".join([kind, f"beam {beam}" if beam > 1 else "greedy", peer, *details])


def _layouts(options: Options) -> list[tuple[int, int]]:
    """CTranslate2's workers times the threads of each: one worker, and one a thread."""
    return sorted({(1, options.threads), (options.threads, 1)}) if options.device == "cpu" else [(1, 1)]


def _many(options: Options, work: Callable[[], TranslatingWork], beam: int, count: int) -> list[Measurement]:
    kind = f"translating/{count}"

    def make(peer: str, script: str, model: str, form: str, *details: str, **more: Any) -> Measurement:
        name = key(kind, beam, peer, *details)
        request = partial(_request, options, work, name, beam, count, model, form, {"passes": options.passes, **more})
        result = partial(_many_result, work, form, count, _out(options, name))
        threads = more.get("threads", options.threads)
        return Measurement(name, peer, script, threads, request, result, limit=1800)

    made = [
        make(OURS, "translate_openwork.py", "openwork", "text"),
        make(OURS, "translate_openwork.py", "openwork", "text", SHORTLIST, shortlist=True),
        make(OURS, "command_openwork.py", "openwork", "text", "whole command"),
    ]
    made += [
        make(
            "ctranslate2", "translate_ctranslate2.py", "ct2", "names.json", precision, f"{workers} x {threads}",
            precision=precision, workers=workers, threads=threads, batch_sizes=BATCH_SIZES,
        )
        for precision in TYPES[options.device]
        for workers, threads in _layouts(options)
    ]  # fmt: skip
    made += [
        make(
            "huggingface", "translate_huggingface.py", "hf", "numbers.json", precision,
            precision=precision, batch_sizes=HUGGING_FACE_BATCH, passes=1,
        )
        for precision in HUGGING_FACE_TYPES[options.device]
    ]  # fmt: skip
    return made


def _single(options: Options, work: Callable[[], TranslatingWork], beam: int) -> list[Measurement]:
    count = options.sentences[0]

    def make(peer: str, script: str, model: str, form: str, *details: str, **more: Any) -> Measurement:
        name = key("single", beam, peer, *details)
        fixed = {"passes": 0, "singles": options.singles, **more}
        request = partial(_request, options, work, name, beam, count, model, form, fixed)
        return Measurement(name, peer, script, more.get("threads", options.threads), request, _single_result)

    made = [
        make(OURS, "translate_openwork.py", "openwork", "text"),
        make(OURS, "translate_openwork.py", "openwork", "text", SHORTLIST, shortlist=True),
    ]
    made += [
        make(
            "ctranslate2", "translate_ctranslate2.py", "ct2", "names.json", precision, f"1 x {threads}",
            precision=precision, workers=1, threads=threads, batch_sizes=[],
        )
        for precision in TYPES[options.device]
        for threads in sorted({1, options.threads})
    ]  # fmt: skip
    made += [
        make(
            "huggingface", "translate_huggingface.py", "hf", "numbers.json", precision,
            precision=precision, batch_sizes=[1], singles=options.singles // 4,
        )
        for precision in HUGGING_FACE_TYPES[options.device]
    ]  # fmt: skip
    return made


def _out(options: Options, name: str) -> Path:
    """Where a peer writes its translations."""
    return options.folder / "translations" / name.replace("/", "-").replace(" ", "-")


def _request(
    options: Options, work: Callable[[], TranslatingWork], name: str, beam: int, count: int, model: str, form: str,
    more: dict[str, Any], number: int,
) -> dict[str, Any]:  # fmt: skip
    out = _out(options, name)
    out.parent.mkdir(parents=True, exist_ok=True)
    return {
        "device": options.device,
        "threads": options.threads,
        "model": str(work().bundle if model == "openwork" else work().folder / model),
        "sources": str(work().file(form, count)),
        "beam": beam,
        "singles": 0,
        "out": str(out),
        **more,
        **({"shortlist": str(work().shortlist)} if more.get("shortlist") else {}),
    }


def _many_result(
    work: Callable[[], TranslatingWork], form: str, count: int, out: Path, answer: Answer
) -> dict[str, Any]:
    """Sentences a second, the best of the passes by setting, and the cased BLEU of what was said."""
    settings: dict[str, list[float]] = {}
    for line in answer.of("pass"):
        settings.setdefault(line["setting"], []).append(line["units"] / line["seconds"])
    speeds = {setting: round(statistics.median(speed), 1) for setting, speed in settings.items()}
    return {"sentences_per_second": speeds, "bleu": round(work().score(_texts(work(), form, out), count), 2)}


def _texts(work: TranslatingWork, form: str, out: Path) -> list[str]:
    said = out.read_text(encoding="utf-8")
    if form == "names.json":
        return work.text_of_names(json.loads(said))
    if form == "numbers.json":
        return work.text_of_numbers(json.loads(said))
    return said.split("\n")[:-1]


def _single_result(answer: Answer) -> dict[str, Any]:
    """Milliseconds; the first tenth is warming up."""
    times = [1000 * line["seconds"] for line in answer.of("single")]
    counted = times[len(times) // 10 :]
    return {"p50": round(percentile(counted, 0.5), 2), "p95": round(percentile(counted, 0.95), 2)}
