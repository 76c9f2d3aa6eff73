"""Attention to long texts: time and memory of each kind against the length, and whether a far fact is found.

    python benchmarks/long_attention.py [--longest 32768] [--only KIND] [--results results/long-attention.json]
    python benchmarks/long_attention.py --task [--distance 8000] [--only KIND]
    python benchmarks/long_attention.py --draw ../docs/long-attention.svg

A point is one self-attention of width 256 with 4 heads, forward and backward over one text in float32 on one thread, in
a process of its own: the fastest time, and the peak of resident memory above what there was before. What is measured
already is not repeated. The task: one of eight facts is among the first 64 pieces, noise follows, and the last piece
asks for it. An encoder of two layers learns it over growing distances; then fresh texts are asked.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import torch
from growth.resident import begin_peak, peak_bytes
from torch.nn.functional import cross_entropy

from machine import describe_machine
from openwork.inspection.plots import WIDTH, Chart, Series
from openwork.inspection.svg import element, figure
from openwork.models.build import build_model
from openwork.models.interfaces import EncodingModel
from openwork.models.parts import Parts
from openwork.models.settings import EncoderSettings
from openwork.nn.kernels import Kernel, packed, reference
from openwork.nn.masks import EVERYTHING

RESULTS = Path(__file__).resolve().parent / "results" / "long-attention.json"
SHORTEST, SECONDS, MOST = 128, 2.0, 10
# What is set of each kind; "dense" computes all pairs by the formula, "fused" by the framework's kernel.
KINDS: dict[str, dict[str, Any]] = {
    "dense": {},
    "fused": {},
    "chunks": {"attention_chunk": 1024},
    "window": {"attention_pattern": "window"},
    "blocks": {"attention_pattern": "blocks"},
    "linear": {"attention": "linear"},
    "low rank": {"attention_pattern": "low-rank"},
}
DRAWN = [kind for kind in KINDS if kind != "fused"]
LONGEST = {"dense": 8192}  # so that its pairs fit into memory
# Of the task. Without global tokens nothing far can come into a window.
TASKS = {kind: values for kind, values in KINDS.items() if kind not in ("dense", "chunks")}
TASKS["window, no global tokens"] = {"attention_pattern": "window", "global_tokens": 0}
FACTS, NOISE, FIRST, NEAR = 8, 48, 4, 64
STAGES = ((64, 300), (512, 100), (2048, 50), (math.inf, 50))  # distances, and updates at each


def settings_for(values: dict[str, Any], length: int, **sizes: Any) -> EncoderSettings:
    """Low-rank attention has weights for each position, and so positions that are learned."""
    learned = values.get("attention_pattern") == "low-rank"
    positions = {"positions": "learned", "maximum_length": length} if learned else {}
    return EncoderSettings.model_validate({"dropout": 0.0, **sizes, **positions, **values})


def measure(kind: str, length: int) -> dict[str, float]:
    """Seconds and bytes of one pass, forward and backward."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    kernel: Kernel = reference.attention if kind == "dense" else packed.attention
    attention = Parts(settings_for(KINDS[kind], length, width=256, heads=4), kernel).self_attention(0, causal=False)

    def once(x: torch.Tensor) -> None:
        attention(x, attention.keys_values(x), EVERYTHING).sum().backward()

    once(torch.randn(1, min(length, SHORTEST), 256))  # what the libraries take
    x, times = torch.randn(1, length, 256), []
    before = begin_peak()
    while not times or (sum(times) < SECONDS and len(times) < MOST):
        start = time.perf_counter()
        once(x)
        times.append(time.perf_counter() - start)
    return {"seconds": min(times), "peak_bytes": peak_bytes() - before}


def apart(kind: str, length: int) -> dict[str, float]:
    """`measure` in a process of its own, whose memory nothing else has touched."""
    command = [sys.executable, __file__, "--point", kind, str(length)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def crossing(points: dict[int, float], others: dict[int, float]) -> float | None:
    """The length from which on the first takes less than the others, between two lengths by a line of the logarithms.

    None: it never does. The shortest length: it always does.
    """
    lengths = sorted(points.keys() & others.keys())
    gains = [math.log(others[length] / points[length]) for length in lengths]
    if not gains or gains[-1] <= 0:
        return None
    last = max((place for place, gain in enumerate(gains) if gain <= 0), default=-1)
    if last < 0:
        return float(lengths[0])
    share = -gains[last] / (gains[last + 1] - gains[last])
    return lengths[last] * (lengths[last + 1] / lengths[last]) ** share


def by_length(results: dict[str, Any], kind: str, what: str) -> dict[int, float]:
    return {int(length): point[what] for length, point in results["points"].get(kind, {}).items()}


def crossings(results: dict[str, Any]) -> dict[str, dict[str, float | None]]:
    """Where each kind begins to be faster than all pairs by the formula, and by the framework's kernel."""
    return {
        kind: {
            other: crossing(by_length(results, kind, "seconds"), by_length(results, other, "seconds"))
            for other in ("dense", "fused")
        }
        for kind in results["points"]
        if kind not in ("dense", "fused")
    }


def texts(count: int, distance: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Pieces (count, distance + 1), each row with one fact near its start, and the fact of each row."""
    pieces = torch.randint(FIRST + FACTS, FIRST + FACTS + NOISE, (count, distance + 1))
    facts, places = torch.randint(FACTS, (count,)), torch.randint(min(NEAR, distance), (count,))
    pieces[torch.arange(count), places] = FIRST + facts
    pieces[:, -1] = FIRST + FACTS + NOISE
    return pieces, facts


def learn(kind: str, distance: int, stages: tuple[tuple[float, int], ...] = STAGES) -> dict[str, float]:
    """How often fresh texts are answered rightly after a training over growing distances."""
    torch.manual_seed(1)
    sizes = {"width": 32, "heads": 2, "feedforward_width": 64, "layers": 2, "norm": "pre", "task": "fill"}
    vocabulary = FIRST + FACTS + NOISE + 1
    model = build_model(settings_for(TASKS[kind], distance + 2, **sizes), vocabulary, vocabulary).train()
    assert isinstance(model, EncodingModel)
    optimiser, start = torch.optim.Adam(model.parameters(), lr=2e-3), time.perf_counter()

    def scores(pieces: torch.Tensor) -> torch.Tensor:
        last = model.encode(pieces, torch.full((len(pieces),), pieces.shape[1]))[:, -1]
        return last @ model.output_weight[FIRST : FIRST + FACTS].T

    for reached, updates in stages:
        for _ in range(updates):
            pieces, facts = texts(max(2, min(32, 8192 // int(min(reached, distance)))), int(min(reached, distance)))
            optimiser.zero_grad()
            cross_entropy(scores(pieces), facts).backward()
            optimiser.step()
    right, asked = 0, 64
    with torch.no_grad():
        for _ in range(asked // 4):
            pieces, facts = texts(4, distance)
            right += int((scores(pieces).argmax(dim=1) == facts).sum())
    return {"distance": distance, "accuracy": right / asked, "seconds": time.perf_counter() - start}


def drawn(results: dict[str, Any]) -> str:
    """Time above memory, both axes logarithmic."""
    charts = []
    for title, label, what, unit in (
        ("Time of one self-attention, forward and backward", "milliseconds", "seconds", 1e3),
        ("Memory of one self-attention, forward and backward", "megabytes", "peak_bytes", 1e-6),
    ):
        lines = tuple(
            Series(kind, [(length, value * unit) for length, value in sorted(by_length(results, kind, what).items())])
            for kind in DRAWN
        )
        charts.append(Chart(title, "tokens of the text", label, lines, log_x=True, log_y=True).drawn(str))
    upper, lower = (float(ElementTree.fromstring(chart).get("height", "")) for chart in charts)
    below = element("g", charts[1], transform=f"translate(0 {upper:g})")
    return figure(WIDTH, upper + lower, "Attention to long texts: time and memory", charts[0], below)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longest", type=int, default=32768)
    parser.add_argument("--only", choices={*KINDS, *TASKS})
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--task", action="store_true")
    parser.add_argument("--distance", type=int, default=8000)
    parser.add_argument("--draw", type=Path)
    parser.add_argument("--point", nargs=2, metavar=("KIND", "LENGTH"), help="measure one, in this process")
    asked = parser.parse_args()
    if asked.point:
        print(json.dumps(measure(asked.point[0], int(asked.point[1]))))
        return
    results = json.loads(asked.results.read_text("utf-8")) if asked.results.exists() else {"points": {}, "task": {}}
    if asked.draw:
        asked.draw.write_text(drawn(results) + "\n", "utf-8")
        return
    lengths = [SHORTEST * 2**power for power in range(32) if SHORTEST * 2**power <= asked.longest]
    for kind in (TASKS if asked.task else KINDS) if asked.only is None else [asked.only]:
        if asked.task:
            results["task"][kind] = learn(kind, asked.distance)
            print(kind, results["task"][kind], flush=True)
        for length in [] if asked.task else lengths:
            points = results["points"].setdefault(kind, {})
            if str(length) not in points and length <= LONGEST.get(kind, length):
                points[str(length)] = apart(kind, length)
                print(kind, length, points[str(length)], flush=True)
        results |= {"crossings": crossings(results), "machine": describe_machine()}
        asked.results.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
