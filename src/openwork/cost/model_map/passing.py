"""One pass through a model whose products are counted but not computed: what each module does in it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from openwork.cost.counted import ProductCounter, counted_batch, readable_lengths
from openwork.cost.part import SentenceLengths
from openwork.models.build import build_model
from openwork.models.families import ModelSettings
from openwork.models.interfaces import SequenceModel
from openwork.models.weights import uninitialised
from openwork.training.loss import hidden_states


@dataclass
class ModulePass:
    """A model with unwritten weights, and one pass over one sentence pair of these lengths.

    Attributes:
        operations: floating-point operations of the products in a module itself, without those in its children.
        shapes: what a module gave at its last call, without the axis of the batch.
        lengths: those that were read, in whole tokens and no longer than the model can read.
    """

    model: SequenceModel
    lengths: SentenceLengths
    operations: Counter[nn.Module] = field(default_factory=Counter)
    shapes: dict[nn.Module, tuple[int, ...]] = field(default_factory=dict)


def passed(settings: ModelSettings, sizes: tuple[int, int], lengths: SentenceLengths) -> ModulePass:
    """A pass through the model of these sizes of source and target, as `counted.count_cost` makes it."""
    whole = readable_lengths(settings, sizes, lengths)
    with torch.random.fork_rng(devices=[]), torch.enable_grad(), ProductCounter() as counter:
        with uninitialised():
            model = build_model(settings, *sizes)
        found = ModulePass(model.train(), whole)
        take = _watch(found, counter)
        hidden = hidden_states(model, counted_batch(settings, whole, sizes, sentences=1), "float32")
        take()
        logits = model.project(hidden.to(model.output_weight.dtype))
        take()
    found.shapes[model] = tuple(logits.shape)
    return found


def _watch(found: ModulePass, counter: ProductCounter) -> Callable[[], None]:
    """Hooks on all modules; returns what attributes the operations since the last time to the module at work."""
    inside: list[nn.Module] = [found.model]
    before = 0

    def take() -> None:
        nonlocal before
        if counter.flops > before:
            found.operations[inside[-1]] += counter.flops - before
        before = counter.flops

    def enter(module: nn.Module, given: Any) -> None:
        take()
        inside.append(module)

    def leave(module: nn.Module, given: Any, made: Any) -> None:
        take()
        inside.pop()
        first = made[0] if isinstance(made, tuple) else made
        if isinstance(first, Tensor):
            found.shapes[module] = tuple(first.shape[1:])

    for module in found.model.modules():
        module.register_forward_pre_hook(enter)
        module.register_forward_hook(leave)
    return take
