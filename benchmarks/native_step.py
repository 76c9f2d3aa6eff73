"""A step of the decoder by the framework's operations, and as one compiled function.

    PYTHONPATH=benchmarks python benchmarks/native_step.py [--avx2] [--out benchmarks/results/native-step.json]

Shapes S (3 + 3 layers of width 256, 8,000 pieces) and tiny (4 + 4 of width 128, 2,000 pieces), sentences of 13 pieces,
one thread; both ways in turn. With --avx2 both are kept from all later instructions. Added to what the file holds.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

from machine import describe_machine
from openwork.inference.prepared.native import NativeTransformer, problem
from openwork.inference.prepared.products import ProductType, available
from openwork.inference.prepared.transformer import PreparedTransformer
from openwork.machine.native import building
from openwork.models.build import build_model
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings

LIMITED = dict.fromkeys(("DNNL_MAX_CPU_ISA", "ONEDNN_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS"), "AVX2")
LIMITED["ATEN_CPU_CAPABILITY"] = "avx2"
ROWS = (1, 5, 32, 128, 300)
STEPS, ROUNDS, START = 13, 15, 2
SHAPES: dict[str, tuple[dict[str, Any], int]] = {
    "S": ({"width": 256, "feedforward_width": 1024, "encoder_layers": 3, "decoder_layers": 3}, 8000),
    "tiny": ({"width": 128, "feedforward_width": 512, "encoder_layers": 4, "decoder_layers": 4}, 2000),
}
TYPES: tuple[ProductType, ...] = ("float32", "int8")


def seconds_a_step(engine: PreparedTransformer, rows: int, vocabulary: int) -> float:
    """Of `STEPS` steps one after the other."""
    source, lengths = torch.randint(4, vocabulary, (rows, STEPS)), torch.full((rows,), STEPS)
    state, tokens = engine.start(source, lengths), torch.full((rows, 1), START)
    before = time.perf_counter()
    for _ in range(STEPS):
        _, state = engine.step(tokens, state)
    return (time.perf_counter() - before) / STEPS


def measured(products: ProductType, shape: str) -> dict[str, dict[str, float]]:
    """Microseconds a step, by rows and by the way."""
    torch.manual_seed(0)
    sizes, vocabulary = SHAPES[shape]
    model = build_model(TransformerSettings(**sizes, heads=4, norm="pre"), vocabulary, vocabulary).eval()
    assert isinstance(model, Transformer)
    # where torch has no products of eight bits, as with AVX2 alone, those in float32 are what there is otherwise
    operations = products if products in available() else "float32"
    engines = {"operations": PreparedTransformer(model, operations), "compiled": NativeTransformer(model, products)}
    found: dict[str, dict[str, float]] = {}
    with torch.inference_mode():
        for rows in ROWS:
            times: dict[str, list[float]] = {name: [] for name in engines}
            for _ in range(ROUNDS):
                for name, engine in engines.items():
                    times[name].append(seconds_a_step(engine, rows, vocabulary))
            found[str(rows)] = {name: round(1e6 * min(taken), 1) for name, taken in times.items()}
            print(
                f"{products} {shape} {rows:4} rows:", *(f"{name} {us:,.0f} us" for name, us in found[str(rows)].items())
            )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--avx2", action="store_true")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    if asked.avx2 and not LIMITED.items() <= os.environ.items():  # torch reads these when it is loaded
        return subprocess.call([sys.executable, *sys.argv], env={**os.environ, **LIMITED})
    if asked.avx2:
        building.FLAGS = tuple("-march=haswell" if flag == building.OWN else flag for flag in building.FLAGS)
    if missing := problem():
        print(f"no compiled step: {missing}", file=sys.stderr)
        return 1
    torch.set_num_threads(1)
    own = "AVX2 alone" if asked.avx2 else "all instructions"
    found = {f"{products}, {shape}, {own}": measured(products, shape) for products in TYPES for shape in SHAPES}
    if asked.out:
        before = json.loads(asked.out.read_text("utf-8"))["microseconds_a_step"] if asked.out.exists() else {}
        content = {"microseconds_a_step": {**before, **found}, "machine": describe_machine()}
        asked.out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
