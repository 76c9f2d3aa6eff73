"""Time and memory of an update of one shape, measured in a process of its own.

    PYTHONPATH=benchmarks python -m growth.training_step SHAPE PRECISION

SHAPE is a JSON object; one is printed.
"""

import json
import statistics
import sys
import time
from dataclasses import replace
from typing import cast

import torch

from growth.resident import begin_peak, peak_bytes, resident_bytes
from growth.shapes import Shape
from openwork.machine.precision import PrecisionName
from openwork.models.build import build_model
from openwork.training.batches.batch import TensorBatch
from openwork.training.optimisers import make_optimiser
from openwork.training.schedules import make_schedule
from openwork.training.settings import TrainingSettings
from openwork.training.step import Updater

SECONDS, FEWEST, MOST = 2.5, 3, 12  # of all timed updates together, and how many they are


def make_batch(shape: Shape) -> TensorBatch:
    """Sentences of random tokens, without padding."""
    generator = torch.Generator().manual_seed(1)
    size = (shape.sentences, shape.length)
    source, target = torch.randint(4, shape.vocabulary, (2, *size), generator=generator)
    lengths = torch.full((shape.sentences,), shape.length)
    return TensorBatch(
        source, lengths, target, torch.arange(target.numel()), target.flatten(), shape.sentences, source.numel()
    )


def make_updater(shape: Shape, precision: PrecisionName) -> Updater:
    torch.manual_seed(1)
    model = build_model(shape.settings, shape.vocabulary, shape.vocabulary)
    training = TrainingSettings(schedule="constant", learning_rate=1e-4, precision=precision)
    return Updater(model, make_optimiser(model, training), make_schedule(training, shape.width), training, precision)


def measure(shape: Shape, precision: PrecisionName) -> dict[str, float]:
    """Median seconds of an update, and the peak of resident bytes above what libraries took before."""
    small = Shape(length=32, sentences=4, width=64, vocabulary=100, layers=1)
    warm = make_updater(small, precision)
    for step in (1, 2):  # what libraries load and keep is not this shape's
        warm.update([make_batch(small)], step)
    del warm
    before = begin_peak()
    updater, batch, times = make_updater(shape, precision), make_batch(shape), []
    updater.update([batch], 1)
    while len(times) < FEWEST or (sum(times) < SECONDS and len(times) < MOST):
        start = time.perf_counter()
        updater.update([batch], 2 + len(times))
        times.append(time.perf_counter() - start)
    return {
        "seconds": statistics.median(times),
        "fastest": min(times),
        "updates": len(times),
        "peak_bytes": peak_bytes() - before,
        "resident_bytes": resident_bytes() - before,
    }


if __name__ == "__main__":
    measured_shape = replace(Shape(), **json.loads(sys.argv[1]))
    print(json.dumps(measure(measured_shape, cast(PrecisionName, sys.argv[2]))))
