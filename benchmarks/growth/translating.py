"""Time and memory of writing translations of one shape token by token, measured in a process of its own.

    PYTHONPATH=benchmarks python -m growth.translating SHAPE cached|uncached ...

The model's own three calls, start, step and the most probable token, as greedy search makes them, for as many target
tokens as the source has. `uncached` gives the decoder the whole beginning at each step instead of what is new.
"""

import json
import statistics
import sys
import time
from dataclasses import replace

import torch

from growth.resident import begin_peak, peak_bytes
from growth.shapes import Shape
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel

SECONDS, MOST = 2.0, 7


def make_model(shape: Shape) -> SequenceModel:
    torch.manual_seed(1)
    return build_model(shape.settings, shape.vocabulary, shape.vocabulary).eval()


def write_cached(model: SequenceModel, source: torch.Tensor, lengths: torch.Tensor, count: int) -> torch.Tensor:
    """Each step takes one token; keys and values of those before are there."""
    state, tokens = model.start(source, lengths), [source[:, :1]]
    for _ in range(count):
        logits, state = model.step(tokens[-1], state)
        tokens.append(logits.argmax(dim=-1))
    return torch.cat(tokens, dim=1)


def write_uncached(model: SequenceModel, source: torch.Tensor, lengths: torch.Tensor, count: int) -> torch.Tensor:
    """Each step takes the whole beginning; only the source is read once."""
    start, tokens = model.start(source, lengths), source[:, :1]
    for _ in range(count):
        hidden, _ = model.advance(tokens, start)
        tokens = torch.cat([tokens, model.project(hidden[:, -1:]).argmax(dim=-1)], dim=1)
    return tokens


WAYS = {"cached": write_cached, "uncached": write_uncached}


def measure(shape: Shape, way: str) -> dict[str, float]:
    """Median seconds for the whole batch, and the peak of resident bytes above the model's."""
    with torch.inference_mode():
        small = Shape(length=4, sentences=2, width=64, vocabulary=100, layers=1)
        WAYS[way](make_model(small), torch.full((2, 4), 5), torch.full((2,), 4), 4)
        model, times = make_model(shape), []
        source = torch.randint(4, shape.vocabulary, (shape.sentences, shape.length))
        lengths = torch.full((shape.sentences,), shape.length)
        WAYS[way](model, source, lengths, min(4, shape.length))
        before = begin_peak()
        while not times or (sum(times) < SECONDS and len(times) < MOST):
            start = time.perf_counter()
            WAYS[way](model, source, lengths, shape.length)
            times.append(time.perf_counter() - start)
    return {"seconds": statistics.median(times), "fastest": min(times), "peak_bytes": peak_bytes() - before}


if __name__ == "__main__":
    measured_shape = replace(Shape(), **json.loads(sys.argv[1]))
    print(json.dumps({way: measure(measured_shape, way) for way in sys.argv[2:]}))
