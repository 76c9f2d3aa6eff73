"""A GPU's ways to compute a training, held against the paper's formula in float32 on the CPU."""

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from openwork.data.batching import Batch
from openwork.machine.precision import PrecisionName
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel
from openwork.models.settings import TransformerSettings
from openwork.nn.kernels import packed, reference
from openwork.nn.kernels.gpu.trials import try_training_kernels
from openwork.nn.masks import Mask, Segments
from openwork.training.batches.batch import TrainingBatch, to_tensors
from openwork.training.batches.packing import FewSizes, pack
from openwork.training.computing.captured import Captured
from openwork.training.computing.working_copy import WorkingCopy
from openwork.training.loss import batch_loss

CPU = torch.device("cpu")
# Largest difference as a share of the largest number: float32 in another order, and bf16, which keeps 8 binary digits.
TOLERANCES: dict[PrecisionName, float] = {"float32": 2e-5, "bfloat16": 6e-2}
NARROW_STREAM = 0.15
MODEL = TransformerSettings(width=64, heads=2, feedforward_width=128, encoder_layers=2, decoder_layers=2, dropout=0.0)
VOCABULARY = 50


def differences(device: torch.device) -> dict[str, dict[str, Any]]:
    """For each way its largest difference, and whether that is within what its number type allows."""
    found = {}
    try_training_kernels(build_model(MODEL, VOCABULARY, VOCABULARY), {(32, 32)}, device)
    products = torch.backends.cuda.matmul.fp32_precision
    if device.type == "cuda":
        torch.backends.cuda.matmul.fp32_precision = "ieee"  # what is compared in float32 is computed in float32
    for precision in TOLERANCES:
        ways = {f"{layout}, {precision}": _of_training(layout, precision, device) for layout in ("padded", "packed")}
        ways[f"captured, {precision}"] = _of_captured(precision, device)
        ways[f"kernel for packed rows, {precision}"] = _of_kernel(device, getattr(torch, precision))
        for name, difference in ways.items():
            tolerance = TOLERANCES[precision]
            if name == "captured, bfloat16":  # between the sub-layers, too, numbers have 8 digits
                tolerance = NARROW_STREAM
            found[name] = {"difference": difference, "tolerance": tolerance, "equal": difference <= tolerance}
            print(f"{name}: {difference:.1e} from the CPU's float32, {tolerance:.0e} allowed")
    if device.type == "cuda":
        torch.backends.cuda.matmul.fp32_precision = products
    return found


def _batch() -> Batch:
    """Thirty pairs of various lengths."""
    generator = np.random.default_rng(2)
    source, target = generator.integers(1, 40, 30), generator.integers(1, 40, 30)
    ids = generator.integers(4, VOCABULARY, (3, 30, 40))
    sides = [
        np.where(np.arange(40) < lengths[:, None], side, 0)
        for lengths, side in zip((source, target, target), ids, strict=True)
    ]
    return Batch(np.arange(30), sides[0], source, sides[1], sides[2], target)


def _gradients(model: SequenceModel, batch: TrainingBatch, precision: PrecisionName) -> list[Tensor]:
    """The loss and all gradients, on the CPU."""
    sums = batch_loss(model, batch, 0.1, precision)
    gradients = torch.autograd.grad(sums.smoothed, list(model.parameters()))
    return [tensor.detach().float().cpu() for tensor in (sums.smoothed, *gradients)]


def _of_training(layout: str, precision: PrecisionName, device: torch.device) -> float:
    torch.manual_seed(3)
    model, batch = build_model(MODEL, VOCABULARY, VOCABULARY), _batch()
    expected = _gradients(model, to_tensors(batch, CPU), "float32")
    arrange = to_tensors if layout == "padded" else pack
    return _furthest(_gradients(model.to(device), arrange(batch, device), precision), expected)


def _of_captured(precision: PrecisionName, device: torch.device) -> float:
    """As trainings on a GPU compute: the narrow copy's gradients of a batch of few shapes, the third time it comes."""
    torch.manual_seed(3)
    model, batch = build_model(MODEL, VOCABULARY, VOCABULARY), _batch()
    expected = _gradients(model, to_tensors(batch, CPU), "float32")
    copy = WorkingCopy(model.to(device), precision)
    captured = Captured(partial(batch_loss, smoothing=0.1, precision=precision), copy, device)
    for _ in range(3):
        captured.begin(1)
        captured.add(pack(batch, device, FewSizes.of(2000)), [True] * len(copy.own), more=False)
    gradients = [own.grad for own in copy.own if own.grad is not None]
    return _furthest([one.detach().float().cpu() for one in (captured.sums[0], *gradients)], expected)


def _of_kernel(device: torch.device, dtype: torch.dtype) -> float:
    """Self- and cross-attention of a packed row with empty sentences in it, and its gradients."""
    batch = pack(_batch(), device)
    rows = batch.target_input.segments, batch.source.segments
    generator, furthest = torch.Generator().manual_seed(4), 0.0
    for mask in (Mask(segments=rows), Mask(is_causal=True, segments=(rows[0], rows[0]))):
        assert mask.segments is not None
        sizes = (len(mask.segments[0].places), *2 * (len(mask.segments[1].places),))
        inputs = [torch.randn(1, 2, size, 32, generator=generator) for size in sizes]
        weights = torch.randn(1, 2, sizes[0], 32, generator=generator)
        results = []
        for place, kind, kernel in ((CPU, torch.float32, reference), (device, dtype, packed)):
            moved = [x.to(place, kind).requires_grad_() for x in inputs]
            queries, keys = (_at(row, place) for row in mask.segments)
            here = Mask(is_causal=mask.is_causal, segments=(queries, keys))
            found = kernel.attention(moved[0], moved[1], moved[2], here, 32**-0.5)
            gradients = torch.autograd.grad((found.float() * weights.to(place)).sum(), moved)
            results.append([tensor.detach().float().cpu() for tensor in (found, *gradients)])
        furthest = max(furthest, _furthest(results[1], results[0]))
    return furthest


def _at(row: Segments, device: torch.device) -> Segments:
    return Segments(row.starts.to(device), row.places.to(device), row.maximum_length)


def _furthest(found: list[Tensor], expected: list[Tensor]) -> float:
    """The largest difference of two lists of tensors, each as a share of its largest number."""
    pairs = zip(found, expected, strict=True)
    return max(float((one - other).abs().max() / other.abs().max()) for one, other in pairs if other.abs().max() > 0)
