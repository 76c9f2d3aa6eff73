"""Training at the paper's shapes on a GPU: every way to compute it, equal and timed, as a share of what the GPU can do.

    make bench ARGS="--device cuda [--out FILE] [--growth TOKENS ...] [--bundle FOLDER --sentences FILE]"

Trains "paper-base" and "paper-big" for some dozens of updates on made-up ids in sentences of news text's lengths, in
the ways that are asked for, in turn, beside Hugging Face's Marian model where that is installed (gpu_huggingface.py);
tells target tokens a second, the share of the measured rate of large bf16 products, and peak memory. Before that it
holds the ways against the CPU's float32 (gpu_equality.py). With a bundle and a file of sentences it also translates,
beside CTranslate2 in float16 where that is installed (gpu_translating.py). On any machine all of it runs in a minute
with `--device cpu --shapes nano --tokens 512 --updates 3`.
"""

import argparse
import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

sys.path.insert(0, str(Path(__file__).parent))
from gpu_equality import differences
from gpu_huggingface import NOTE, MarianUpdates, cudnn_attention, is_installed, timed
from gpu_huggingface import WAYS as THEIR_WAYS
from gpu_translating import translating

from machine import describe_machine
from openwork.cost.cost import cost_of
from openwork.data.batching import BatchPlan, BatchSettings
from openwork.data.store import TokenStore, write_store
from openwork.machine.device import choose_device, choose_products
from openwork.machine.precision import TYPES, PrecisionName
from openwork.models.build import build_model
from openwork.models.presets import PRESETS
from openwork.models.settings import TransformerSettings
from openwork.training.batches.batch import BatchStream, Stream
from openwork.training.computing.choice import arrangement, prepared_stream
from openwork.training.loop import LoopState
from openwork.training.optimisers import make_optimiser
from openwork.training.progress import Progress
from openwork.training.schedules import make_schedule
from openwork.training.settings import TrainingSettings
from openwork.training.step import StepReport, Updater

WAYS = {
    "by default": TrainingSettings(),
    "padded": TrainingSettings(layout="padded", compile="off"),
    "packed": TrainingSettings(layout="packed", compile="off"),  # on a GPU it is the way by default
    "padded, compiled": TrainingSettings(layout="padded", compile="on"),
    "packed, compiled": TrainingSettings(layout="packed", compile="on"),
}
WANTED = {"paper-base": 0.3, "paper-big": 0.5}  # share of the matrix rate that the project wants
GROWTH = {"cuda": (2_048, 4_096, 8_192, 50_000)}
PROFILED, MOST_KERNELS = 3, 30  # updates, and kernels that are listed
BATCHES = 40  # of the corpus that is made up: its epochs differ, but their batches soon have no new shapes


@dataclass(frozen=True)
class Options:
    """What is asked for."""

    device: torch.device
    precision: PrecisionName
    shapes: list[str]
    ways: list[str]
    tokens: int
    updates: int
    vocabulary: int
    rounds: int
    store: Path | None
    growth: tuple[int, ...] = ()
    profiles: bool = False

    @property
    def warm_up(self) -> int:
        """Updates before the time is taken: on a GPU most shapes have been seen twice then, and are recorded."""
        return min(3 * BATCHES if self.device.type == "cuda" else 12, 3 * self.updates)

    def to_json(self) -> dict[str, Any]:
        """What was measured, without the places of this machine."""
        sizes = {name: getattr(self, name) for name in ("precision", "tokens", "updates", "vocabulary")}
        return {"device": self.device.type, **sizes, "data": "a run's store" if self.store else "made-up ids"}


def matrix_rate(options: Options) -> float:
    """Operations a second of large products of random matrices: the median, as a training sustains it.

    Random, because a GPU that multiplies ones needs less power and is allowed a higher clock.
    """
    size = 8192 if options.device.type == "cuda" else 256  # without such products, a CPU takes seconds for 1024
    left, right = torch.randn(2, size, size, device=options.device).to(TYPES[options.precision])
    seconds = []
    for _ in range(30):
        start = time.perf_counter()
        torch.mm(left, right)
        finish(options.device)
        seconds.append(time.perf_counter() - start)
    return 2 * size**3 / statistics.median(seconds[10:])


def finish(device: torch.device) -> None:
    """Waits until the device has done what it was told."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def made_up_store(folder: Path, options: Options) -> TokenStore:
    """Pairs whose lengths are spread like those of news text: a mean of about 27 tokens, targets like their sources."""
    generator = np.random.default_rng(1)
    mean = 27 if options.device.type == "cuda" else 12
    pairs = max(200, max(options.tokens, *options.growth, 0) * BATCHES // mean)
    lengths = np.clip(generator.lognormal(np.log(mean) - 0.18, 0.6, pairs), 1, 250).astype(int)
    others = np.clip(lengths * generator.normal(1.0, 0.15, pairs), 1, 250).astype(int)
    ids = generator.integers(4, options.vocabulary, int(lengths.sum() + others.sum())).tolist()
    ends = np.cumsum(np.stack((lengths, others), axis=1)).reshape(-1, 2)
    sentences = (
        (ids[ends[pair, 0] - lengths[pair] : ends[pair, 0]], ids[ends[pair, 0] : ends[pair, 1]])
        for pair in range(pairs)
    )
    return write_store(folder, sentences, vocabulary_size=options.vocabulary)


def train(shape: str, way: str, store: TokenStore, options: Options, rate: float) -> dict[str, Any]:
    """Speed and memory of one shape computed in one way."""
    model_settings = TransformerSettings(**PRESETS[shape])  # type: ignore[arg-type]
    steps = options.warm_up + options.updates
    settings = WAYS[way].model_copy(update={"precision": options.precision, "steps": steps})
    torch.manual_seed(1)
    model = build_model(model_settings, options.vocabulary, options.vocabulary).to(options.device)
    schedule = make_schedule(settings, model_settings.width)
    updater = Updater(model, make_optimiser(model, settings), schedule, settings, options.precision)
    plan = BatchPlan.of(store, BatchSettings(tokens=options.tokens), seed=1)
    arrange = arrangement(settings, options.tokens, model, options.precision, options.device)
    stream = BatchStream(store, plan, options.device, arrange)
    run, said = LoopState(settings, Progress(), []), []
    forget_peak(options.device)
    start = time.perf_counter()
    with prepared_stream(updater, stream, run, options.device, said.append) as batches:
        update(updater, batches, run.progress, options.warm_up)
        finish(options.device)
        ready = time.perf_counter()
        reports = update(updater, batches, run.progress, options.updates)
        finish(options.device)
        seconds = time.perf_counter() - ready
        kernels = (
            profiled(lambda: update(updater, batches, run.progress, PROFILED), options) if options.profiles else []
        )
    targets, sentences = sum(report.target_tokens for report in reports), sum(report.sentences for report in reports)
    sources = sum(report.source_tokens for report in reports)
    cost = cost_of(
        model_settings, options.vocabulary, source_length=sources / sentences, target_length=targets / sentences
    )
    return {
        "target_tokens_per_second": round(targets / seconds),
        "share_of_matrix_rate": round(cost.training_flops * targets / seconds / rate, 4),
        "milliseconds_per_update": round(1000 * seconds / len(reports), 2),
        "peak_memory_mib": round(peak_memory(options.device) / 2**20),
        "seconds_to_warm_up": round(ready - start, 1),
        "loss": round(reports[-1].loss, 4),
        "said": said,
        **({"kernels": kernels} if kernels else {}),
    }


def profiled(work: Callable[[], object], options: Options) -> list[dict[str, Any]]:
    """The kernels, or on a CPU the operations, that take longest, with milliseconds and calls of one update."""
    is_gpu = options.device.type == "cuda"
    kinds = [ProfilerActivity.CUDA if is_gpu else ProfilerActivity.CPU]
    with profile(activities=kinds) as recorded:
        work()
        finish(options.device)

    def own_time(one: Any) -> float:
        return one.self_device_time_total if is_gpu else one.self_cpu_time_total

    found = sorted(recorded.key_averages(), key=own_time, reverse=True)[:MOST_KERNELS]
    return [
        {
            "name": one.key[:100],
            "milliseconds": round(own_time(one) / 1000 / PROFILED, 3),
            "calls": one.count / PROFILED,
        }
        for one in found
    ]


def train_marian(shape: str, store: TokenStore, options: Options) -> dict[str, Any]:
    """The same of Hugging Face's model, on the first batches."""
    settings = TransformerSettings(**PRESETS[shape])  # type: ignore[arg-type]
    stream = BatchStream(store, BatchPlan.of(store, BatchSettings(tokens=options.tokens), seed=1), options.device)
    forget_peak(options.device)
    updates = MarianUpdates(settings, options.vocabulary, options.device, options.precision)

    def seconds_of(work: Callable[[], object]) -> float:
        finish(options.device)
        start = time.perf_counter()
        work()
        finish(options.device)
        return time.perf_counter() - start

    found = timed(updates, stream, min(options.updates, BATCHES // 2), seconds_of)
    return {
        "target_tokens_per_second": found["target_tokens_per_second"],
        "peak_memory_mib": round(peak_memory(options.device) / 2**20),
        "note": NOTE,
    }


def update(updater: Updater, stream: Stream, progress: Progress, count: int) -> list[StepReport]:
    """So many updates, as the training loop makes them."""
    reports = []
    for _ in range(count):
        reports.append(updater.update([stream.next(progress)], progress.step + 1))
        progress.step = reports[-1].step
    return reports


def forget_peak(device: torch.device) -> None:
    """Peaks count from here; on a CPU they count from the start of the process."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)


def peak_memory(device: torch.device) -> int:
    """Bytes: of the GPU since `forget_peak`, of a CPU's process since it began."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def training(options: Options) -> dict[str, Any]:
    """Every shape in every way, in turn."""
    rate = matrix_rate(options)
    print(f"{options.precision} products: {rate / 1e12:.2f} TFLOP/s")
    found: dict[str, Any] = {"matrix_tflops": round(rate / 1e12, 3), "wanted_share": WANTED}
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "store"
        store = TokenStore.open(options.store) if options.store else made_up_store(made, options)
        for shape in options.shapes:
            for turn in range(options.rounds):
                for way in options.ways:
                    result = train(shape, way, store, options, rate)
                    found.setdefault(shape, {}).setdefault(way, []).append(result)
                    speed, share = result["target_tokens_per_second"], result["share_of_matrix_rate"]
                    print(
                        f"{shape}, {way}, round {turn + 1}: {speed:,} target tokens/s, {100 * share:.1f} % of the rate"
                    )
                for name, by_cudnn in THEIR_WAYS.items() if is_installed() else ():
                    if by_cudnn and options.device.type != "cuda":
                        continue
                    with cudnn_attention(by_cudnn):
                        theirs = train_marian(shape, store, options)
                    found[shape].setdefault(name, []).append(theirs)
                    print(f"{shape}, {name}, round {turn + 1}: {theirs['target_tokens_per_second']:,} a second")
        found["growth"] = {tokens: of_size(tokens, store, options, rate) for tokens in options.growth}
    return found


def of_size(tokens: int, store: TokenStore, options: Options, rate: float) -> dict[str, Any]:
    """The first shape and way with batches of another size."""
    shape, way = options.shapes[0], options.ways[0]
    result = train(shape, way, store, replace(options, tokens=tokens), rate)
    print(f"{shape}, {way}, batches of {tokens:,} tokens: {result['target_tokens_per_second']:,} target tokens/s")
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--precision", default="bfloat16", choices=["float32", "bfloat16"])
    parser.add_argument("--shapes", nargs="+", default=["paper-base", "paper-big"], choices=list(PRESETS))
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--tokens", type=int, default=25_000, help="of a batch, on its longer side")
    parser.add_argument(
        "--growth", type=int, nargs="*", help="further sizes of batches for the first shape; on a GPU four by default"
    )
    parser.add_argument("--profile", action="store_true", help="also list the kernels of an update")
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--store", type=Path, help="stores/train of a run's folder, instead of made-up ids")
    parser.add_argument("--vocabulary", type=int, default=37_000, help="its entries, or more")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--bundle", type=Path, help="a trained bundle to translate with")
    parser.add_argument("--sentences", type=Path, help="what to translate, one a line")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(arguments)
    growth = given.growth if given.growth is not None else GROWTH.get(given.device, ())
    options = Options(
        torch.device(given.device), given.precision, given.shapes, given.ways, given.tokens, given.updates,
        given.vocabulary, given.rounds, given.store, tuple(growth), given.profile,
    )  # fmt: skip
    choose_device()  # on a GPU it also turns off what is slow there
    choose_products(options.precision, options.device)
    result: dict[str, Any] = {"machine": describe_machine(), "work": options.to_json()}
    result["equality"] = differences(options.device)
    result["training"] = training(options)
    if given.bundle and given.sentences:
        result["translating"] = translating(given.bundle, given.sentences, options.device)
    if given.out:
        given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if not all(check["equal"] for check in result["equality"].values()):
        sys.exit("the ways are not equal: see `equality`")


if __name__ == "__main__":
    main()
