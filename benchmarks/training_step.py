"""What each trick of the training step brings: an update with all of them, and with each one left out, in one run.

    python benchmarks/training_step.py STORE VOCABULARY [results/training-step.json]

STORE is the token store of a run (RUN/stores/train) whose vocabulary has VOCABULARY pieces; the model is shape S (3 + 3
layers of width 256, one matrix for all embeddings). The ways take turns, so that a slow moment of the machine hits all.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

import torch

sys.path.insert(0, str(Path(__file__).parent))
from machine import describe_machine
from openwork.data.batching import BatchPlan, BatchSettings
from openwork.data.store import TokenStore
from openwork.machine.precision import PrecisionName
from openwork.models.build import build_model
from openwork.models.presets import PRESETS
from openwork.models.settings import TransformerSettings
from openwork.nn import dropout
from openwork.nn.kernels import short
from openwork.training import loss
from openwork.training.batches.batch import BatchStream
from openwork.training.optimisers import make_optimiser
from openwork.training.progress import Progress
from openwork.training.schedules import make_schedule
from openwork.training.settings import TrainingSettings
from openwork.training.step import Updater, WorkingCopy

CPU = torch.device("cpu")
ROUNDS, UPDATES = 5, 3


@contextmanager
def one_worker(updater: Updater) -> Iterator[None]:
    """All threads share each operation, instead of each computing sentences of its own."""
    with mock.patch.object(updater.workers, "count", 1):
        yield


@contextmanager
def weights_cast_each_time(updater: Updater) -> Iterator[None]:
    """The framework's autocast alone, with float32 between the sub-layers."""
    with mock.patch.object(updater, "copy", WorkingCopy(updater.model, "float32")):
        yield


@contextmanager
def frameworks_attention(updater: Updater) -> Iterator[None]:
    """In float32, by the framework's kernel where it is long enough."""
    with mock.patch.object(short, "LONGEST", 0):
        yield


@contextmanager
def loss_by_chunks_alone(updater: Updater) -> Iterator[None]:
    """Softmax and gradient of 2 million logits at once, which no core's own cache holds."""
    with mock.patch.object(loss, "LOSS_BLOCK", 2_000_000), mock.patch.object(loss, "LOSS_CHUNK", 2_000_000):
        yield


@contextmanager
def frameworks_dropout(updater: Updater) -> Iterator[None]:
    """A Bernoulli variable drawn for each element."""
    with mock.patch.object(dropout, "dropout", torch.nn.functional.dropout):
        yield


@contextmanager
def all_of_it(updater: Updater) -> Iterator[None]:
    """Every trick in use."""
    yield


@contextmanager
def none_of_it(updater: Updater) -> Iterator[None]:
    """Every trick left out."""
    with ExitStack() as ways:
        for way in LEFT_OUT.values():
            ways.enter_context(way(updater))
        yield


LEFT_OUT: dict[str, Callable[[Updater], object]] = {
    "without a worker for each core": one_worker,
    "without the working copy": weights_cast_each_time,
    "without the kernel for short sequences": frameworks_attention,
    "without cache-sized blocks in the loss": loss_by_chunks_alone,
    "without byte masks in dropout": frameworks_dropout,
}
WAYS: dict[str, Callable[[Updater], object]] = {"all": all_of_it, **LEFT_OUT, "none": none_of_it}


def make_updater(vocabulary: int, precision: PrecisionName) -> Updater:
    model_settings = TransformerSettings(**{**PRESETS["small"], "dropout": 0.2})  # type: ignore[arg-type]
    settings = TrainingSettings(
        schedule="inverse-square-root", warmup=500, precision=precision, workers=torch.get_num_threads()
    )
    torch.manual_seed(1)
    model = build_model(model_settings, vocabulary, vocabulary)
    return Updater(model, make_optimiser(model, settings), make_schedule(settings, 256), settings, precision)


def measure(store: TokenStore, vocabulary: int, precision: PrecisionName) -> dict[str, list[float]]:
    """Target tokens a second, padding not counted, of each way and round; all take the same batches."""
    updater = make_updater(vocabulary, precision)
    plan = BatchPlan.of(store, BatchSettings(tokens=4096), 1)
    stream, rates = BatchStream(store, plan, CPU), {name: [] for name in WAYS}
    for turn in range(ROUNDS + 1):
        for name, way in WAYS.items():
            progress = Progress(batch=turn * UPDATES)
            with way(updater):  # type: ignore[attr-defined]
                tokens, start = 0, time.perf_counter()
                for step in range(UPDATES):
                    tokens += updater.update([stream.next(progress)], step + 1).target_tokens
                if turn:  # the first round warms up
                    rates[name].append(tokens / (time.perf_counter() - start))
    return rates


def main() -> None:
    store, vocabulary = TokenStore.open(Path(sys.argv[1])), int(sys.argv[2])
    results = {}
    for precision in ("bfloat16", "float32"):
        rates = measure(store, vocabulary, precision)  # type: ignore[arg-type]
        results[precision] = {
            name: {"median": round(statistics.median(each)), "least": round(min(each)), "most": round(max(each))}
            for name, each in rates.items()
        }
    report = {"machine": describe_machine(), "target_tokens_per_second": results}
    text = json.dumps(report, indent=1)
    print(text)
    if len(sys.argv) > 3:
        Path(sys.argv[3]).write_text(text + "\n")


if __name__ == "__main__":
    main()
