"""What the machine allows: the rate of large matrix products."""

import statistics
from typing import Any

from bench.measurement import OURS, Measurement
from bench.options import Options
from bench.processes import Answer

SIZES = {"cpu": 2048, "cuda": 8192}
PRODUCTS = 20


def measurements(options: Options) -> list[Measurement]:
    """In float32 and bfloat16, with one thread and with all; on a GPU also in float16."""
    if options.device == "cpu":
        cases = [(precision, threads) for precision in ("float32", "bfloat16") for threads in _threads(options)]
    else:
        cases = [(precision, options.threads) for precision in ("float32", "bfloat16", "float16")]
    return [_measurement(options, precision, threads) for precision, threads in cases]


def key(precision: str, threads: int) -> str:
    """The name of one of them."""
    return f"ceilings/{precision}/{threads}"


def _threads(options: Options) -> list[int]:
    return sorted({1, options.threads})


def _measurement(options: Options, precision: str, threads: int) -> Measurement:
    request = {
        "device": options.device,
        "size": SIZES[options.device],
        "precision": precision,
        "threads": threads,
        "products": PRODUCTS,
    }
    return Measurement(key(precision, threads), OURS, "products.py", threads, lambda _: request, _result)


def _result(answer: Answer) -> dict[str, Any]:
    rates = [line["units"] / line["seconds"] / 1e9 for line in answer.of("product")]
    return {"gflops": round(statistics.median(rates), 1)}
