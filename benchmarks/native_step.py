"""A step of the decoder in eight bits: by the framework's operations, and as one compiled function.

    PYTHONPATH=benchmarks python benchmarks/native_step.py [--out benchmarks/results/native-step.json]

Shape S (3 + 3 layers of width 256, 8,000 pieces), sentences of 13 pieces, one thread; both ways in turn.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import torch

from machine import describe_machine
from openwork.inference.prepared.native import NativeTransformer, problem
from openwork.inference.prepared.transformer import PreparedTransformer
from openwork.models.build import build_model
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings

ROWS = (1, 5, 32, 128, 300)
STEPS, ROUNDS, START = 13, 15, 2


def seconds_a_step(engine: PreparedTransformer, rows: int) -> float:
    """Of `STEPS` steps one after the other."""
    source, lengths = torch.randint(4, 8000, (rows, STEPS)), torch.full((rows,), STEPS)
    state, tokens = engine.start(source, lengths), torch.full((rows, 1), START)
    before = time.perf_counter()
    for _ in range(STEPS):
        _, state = engine.step(tokens, state)
    return (time.perf_counter() - before) / STEPS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    out = parser.parse_args().out
    if missing := problem():
        print(f"no compiled step: {missing}", file=sys.stderr)
        return 1
    torch.set_num_threads(1)
    torch.manual_seed(0)
    settings = TransformerSettings(
        width=256, feedforward_width=1024, heads=4, encoder_layers=3, decoder_layers=3, norm="pre"
    )
    model = build_model(settings, 8000, 8000).eval()
    assert isinstance(model, Transformer)
    engines = {"operations": PreparedTransformer(model, "int8"), "compiled": NativeTransformer(model)}
    found: dict[str, dict[str, float]] = {}
    with torch.inference_mode():
        for rows in ROWS:
            times: dict[str, list[float]] = {name: [] for name in engines}
            for _ in range(ROUNDS):
                for name, engine in engines.items():
                    times[name].append(seconds_a_step(engine, rows))
            found[str(rows)] = {name: round(1e6 * min(taken), 1) for name, taken in times.items()}
            print(f"{rows:4} rows:", ", ".join(f"{name} {value:,.0f} us" for name, value in found[str(rows)].items()))
    if out:
        text = json.dumps({"microseconds_a_step": found, "machine": describe_machine()}, indent=1)
        out.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
