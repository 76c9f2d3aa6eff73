"""The parts that were made faster than the plain way, each measured against it in one run.

    python benchmarks/parts.py [results/parts.json]

Times are medians, in milliseconds, of forward and backward together where there is a backward.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).parent))
from machine import describe_machine

from openwork.nn.dropout import Dropout
from openwork.nn.kernels import fused, reference
from openwork.nn.masks import Mask
from openwork.training.loss import projected_cross_entropy, smoothed_cross_entropy


def alternate(ways: dict[str, Callable[[], object]], rounds: int = 15) -> dict[str, float]:
    """Median milliseconds of each way, measured in turn so that a slow moment of the machine hits all of them."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds + 2):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            if turn >= 2:
                times[name].append(1000 * (time.perf_counter() - start))
    return {name: round(statistics.median(values), 3) for name, values in times.items()}


def measure_dropout() -> dict[str, float]:
    """A (256, 16, 256) tensor, rate 0.3."""
    x = torch.randn(256, 16, 256, requires_grad=True)
    ours = Dropout(0.3)
    return alternate(
        {
            "framework": lambda: functional.dropout(x, 0.3).sum().backward(),
            "bytes": lambda: ours(x).sum().backward(),
        }
    )


def measure_loss() -> dict[str, float]:
    """4,096 tokens, width 256, 8,000 pieces, products in bf16."""
    hidden = torch.randn(4096, 256, requires_grad=True)
    weight = torch.randn(8000, 256, requires_grad=True)
    targets = torch.randint(0, 8000, (4096,))

    def plain() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = functional.linear(hidden, weight)
        smoothed_cross_entropy(logits, targets, 0.1).smoothed.backward()

    def joined() -> None:
        projected_cross_entropy(hidden, weight, targets, 0.1, torch.bfloat16).smoothed.backward()

    return alternate({"projection, then loss": plain, "joined": joined}, rounds=7)


def measure_attention(length: int, head_width: int) -> dict[str, float]:
    """4,096 tokens in sentences of one length, 4 heads, a padding mask; laid out as the projections leave them."""
    batch = 4096 // length
    inputs = (torch.randn(batch, length, 4, head_width, requires_grad=True) for _ in range(3))
    query, key, value = (x.transpose(1, 2) for x in inputs)
    gradient = torch.randn(batch, length, 4, head_width).transpose(1, 2)  # as it comes from the output projection
    mask = Mask(key_lengths=torch.full((batch,), length - 1))
    allowed = mask.boolean(length, length, query.device)

    def framework() -> None:
        back(functional.scaled_dot_product_attention(query, key, value, attn_mask=allowed))

    def back(result: torch.Tensor) -> None:
        torch.autograd.grad(result, (query, key, value), gradient)

    return alternate(
        {
            "framework": framework,
            "formula": lambda: back(reference.attention(query, key, value, mask, head_width**-0.5)),
            "ours": lambda: back(fused.attention(query, key, value, mask, head_width**-0.5)),
        }
    )


def main() -> None:
    results = {"dropout": measure_dropout(), "loss": measure_loss()}
    for head_width in (32, 64):
        for length in (8, 16, 32, 64, 128):
            results[f"attention, length {length}, head width {head_width}"] = measure_attention(length, head_width)
    report = {"machine": describe_machine(), "milliseconds": results}
    text = json.dumps(report, indent=1)
    print(text)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text + "\n")


if __name__ == "__main__":
    main()
