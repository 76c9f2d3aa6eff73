"""How a training computes on its device: what "auto" takes, what is asked for, and the script that measures it."""

import json
import os
import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

import pytest
import torch

from openwork.machine.device import choose_device, choose_products
from openwork.machine.workers import using_threads
from openwork.models.build import build_model
from openwork.runs.assembly import resolve_computing
from openwork.training.batches.batch import PrefetchedStream, to_tensors
from openwork.training.batches.language_modelling import next_token_batch
from openwork.training.batches.packing import FewSizes, pack
from openwork.training.computing import choice as computing
from openwork.training.computing.choice import arrangement, is_captured, prepared_stream
from openwork.training.loop import LoopState
from openwork.training.progress import Progress
from openwork.training.settings import TrainingSettings
from runs.test_rules import settings
from training.cards import A100, GPU, be
from training.tiny import CPU, MODEL, SETTINGS, make_store, make_training

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_batches_are_laid_out_as_the_settings_and_the_device_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build_model(MODEL.model_copy(update={"width": 16}), 12, 12)
    assert arrangement(TrainingSettings(), 4096, model, "bfloat16", CPU) is to_tensors
    assert arrangement(TrainingSettings(layout="packed"), 4096, model, "bfloat16", CPU) is pack
    be(A100, monkeypatch)
    monkeypatch.setattr(computing, "try_training_kernels", lambda model, heads, device: heads == {(8, 8)})
    few = arrangement(TrainingSettings(), 4096, model, "bfloat16", GPU)
    assert isinstance(few, partial) and few.func is pack and few.keywords == {"sizes": FewSizes.of(4096)}
    assert arrangement(TrainingSettings(r_drop=1.0), 4096, model, "bfloat16", GPU) is pack
    assert arrangement(TrainingSettings(layout="padded"), 4096, model, "bfloat16", GPU) is to_tensors
    monkeypatch.setattr(computing, "try_training_kernels", lambda model, heads, device: False)
    assert arrangement(TrainingSettings(), 4096, model, "bfloat16", GPU) is pack


def test_only_packed_rows_of_few_sizes_are_captured(tmp_path: Path) -> None:
    training = make_training(make_store(tmp_path / "store"), SETTINGS)
    stream = training.stream
    for arrange, expected in (
        (partial(pack, sizes=FewSizes.of(64)), True), (pack, False), (to_tensors, False),
        (partial(next_token_batch, backwards=False), False),
    ):  # fmt: skip
        stream.arrange = arrange
        assert is_captured(training.updater, stream) is expected
    without = make_training(stream.store, SETTINGS.model_copy(update={"optimiser": "sgd"}))
    stream.arrange = partial(pack, sizes=FewSizes.of(64))
    assert not is_captured(without.updater, stream)


def test_attention_on_a_gpu_is_not_left_to_cudnn(monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.backends.cuda.cudnn_sdp_enabled()
    try:
        torch.backends.cuda.enable_cudnn_sdp(True)
        assert choose_device() == CPU or torch.cuda.is_available()
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        assert choose_device() == GPU and not torch.backends.cuda.cudnn_sdp_enabled()
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before)


@pytest.mark.slow
def test_threads_share_a_batch_unless_it_must_stay_whole() -> None:
    for normalisation, workers in (("layer", 4), ("batch", 1)):
        run = settings(f"model.normalisation={normalisation}", "batches.tokens=8192")
        with using_threads(4):
            assert resolve_computing(run, None, CPU).training.workers == workers


@pytest.mark.slow
def test_a_small_batch_has_one_thread_unless_told_otherwise() -> None:
    small = "batches.tokens=1024", "model.width=64"
    with using_threads(4):
        chosen = resolve_computing(settings(*small), None, CPU).training
        assert (chosen.threads, chosen.workers) == (1, 1)
        assert resolve_computing(settings(*small, "training.threads=4"), None, CPU).training.threads == 4
        assert resolve_computing(settings(*small, "training.workers=2"), None, CPU).training.workers == 2


def test_batches_come_ahead_on_a_gpu_or_when_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = make_training(make_store(tmp_path / "store"))
    off = SETTINGS.model_copy(update={"compile": "off"})
    for device, prefetch, ahead in ((CPU, None, False), (CPU, 2, True), (GPU, None, True), (GPU, 0, False)):
        run = LoopState(off.model_copy(update={"prefetch": prefetch}), Progress(), [])
        with prepared_stream(training.updater, training.stream, run, device, print) as stream:
            assert isinstance(stream, PrefetchedStream) is ahead
            assert stream.next(run.progress).target_tokens > 0 and run.progress.batch == 1
    entered = []
    monkeypatch.setattr(computing, "compiled_updates", lambda *given: entered.append(given) or _nothing())
    for device, compile_ in ((CPU, "auto"), (GPU, "off"), (CPU, "on"), (GPU, "auto")):
        run = LoopState(SETTINGS.model_copy(update={"compile": compile_, "steps": 5_000}), Progress(), [])
        with prepared_stream(training.updater, training.stream, run, device, print):
            pass
    assert len(entered) == 2


def _nothing() -> AbstractContextManager[None]:
    return nullcontext()


def test_a_gpu_multiplies_float32_in_full_where_the_training_is_in_it() -> None:
    products = torch.backends.cuda.matmul
    before = products.fp32_precision, products.allow_bf16_reduced_precision_reduction
    try:
        choose_products("bfloat16", CPU)
        assert (products.fp32_precision, products.allow_bf16_reduced_precision_reduction) == before
        choose_products("bfloat16", GPU)
        assert products.fp32_precision == "tf32" and not products.allow_bf16_reduced_precision_reduction
        choose_products("float32", GPU)
        assert products.fp32_precision == "ieee"
    finally:
        products.fp32_precision, products.allow_bf16_reduced_precision_reduction = before


@pytest.mark.slow
@pytest.mark.long
def test_the_benchmark_of_gpus_runs_on_a_cpu(tmp_path: Path) -> None:
    work = ["--device", "cpu", "--shapes", "nano", "--tokens", "256", "--updates", "2", "--vocabulary", "300"]
    ways = ["--ways", "padded", "packed", "--growth", "128", "--profile", "--out", str(tmp_path / "found.json")]
    run = [sys.executable, "-m", "bench", *work, *ways]  # as `make bench` does
    environment = os.environ | {"PYTHONPATH": str(BENCHMARKS)}
    done = subprocess.run(run, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    assert all(check["equal"] for check in found["equality"].values()) and len(found["equality"]) == 8
    assert set(found["training"]["nano"]) - {"Hugging Face"} == {"padded", "packed"}
    assert found["training"]["nano"]["packed"][0]["target_tokens_per_second"] > 0
    assert found["training"]["nano"]["packed"][0]["kernels"][0]["milliseconds"] > 0
    assert found["training"]["growth"]["128"]["target_tokens_per_second"] > 0
