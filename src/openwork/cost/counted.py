"""Cost of a model by counting its operations, for families without formulas.

One training pass over sentences of the given lengths is traced in float32 and in bfloat16. Its matrix products are
counted but not computed, and the weights are never written, so a large model takes neither time nor memory. Everything
else is computed on the CPU, so that a model can read the values of lengths and masks.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.flop_counter import flop_registry

from openwork.base.symbols import SYMBOL_IDS
from openwork.cost.part import BYTES, CostPart, SentenceLengths
from openwork.machine.precision import PrecisionName
from openwork.models.build import build_model
from openwork.models.families import ModelSettings, reads
from openwork.models.interfaces import count_weights
from openwork.models.weights import empty_weights, uninitialised
from openwork.training.batches.batch import TensorBatch
from openwork.training.loss import hidden_states
from openwork.training.step import WorkingCopy

SENTENCES = 4  # of one batch, so that numbers kept once for all of them count little for each
NARROW = 2  # bytes of a bfloat16 number
aten = torch.ops.aten
# Products whose only output has a shape known from the inputs: these are not computed. Each with the place of its first
# factor; of a convolution torch tells the shape, which for the others takes it longer than to compute a small product.
SKIPPED = {aten.mm: 0, aten.addmm: 1, aten.bmm: 0, aten.baddbmm: 1, aten.mv: 0, aten.convolution: None}


def _recurrent_layer_flops(x: Tensor, inputs: Tensor, states: Tensor, *_: object, **__: object) -> int:
    """Operations of one direction of one layer: two matrices at each position."""
    return 2 * x.shape[:-1].numel() * (inputs.numel() + states.numel())


# Operations that torch's own table leaves out.
FURTHER: dict[Any, Callable[..., int]] = {
    aten._scaled_dot_product_flash_attention_for_cpu: flop_registry[aten._scaled_dot_product_flash_attention],
    aten.mkldnn_rnn_layer: _recurrent_layer_flops,
    aten.mv: lambda matrix, _vector, **_: 2 * matrix.numel(),
}


class ProductCounter(TorchDispatchMode):
    """A context that counts matrix products; those in SKIPPED give zeros of the right shape.

    `flops`: two for each multiply-add. `multiplied`: the storages of the factors, such as weights. `casts`: weights
    converted to another type; kept so that no address is used twice.
    """

    def __init__(self) -> None:
        super().__init__()
        self.flops = 0
        self.multiplied: set[int] = set()
        self.weights: set[int] = set()
        self.casts: list[Tensor] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs, packet = kwargs or {}, func.overloadpacket
        if packet is aten._to_copy and storage(args[0]) in self.weights:
            cast = torch.empty_like(args[0], dtype=kwargs.get("dtype"))  # a weight too, and as unwritten
            self.casts.append(cast)
            self.weights.add(storage(cast))
            return cast
        if packet not in flop_registry and packet not in FURTHER:
            return func(*args, **kwargs)
        made = _zeros(func, args, kwargs) if packet in SKIPPED else func(*args, **kwargs)
        count = FURTHER.get(packet) or flop_registry[packet]
        self.flops += count(*args, **kwargs, out_val=made)
        self.multiplied.update(storage(leaf) for leaf in tree_leaves(args) if isinstance(leaf, Tensor))
        return made


def storage(tensor: Tensor) -> int:
    """Address of the tensor's storage, which all its views share."""
    return tensor.untyped_storage().data_ptr()


def _zeros(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    first = SKIPPED[func.overloadpacket]
    if first is not None:
        one, other = args[first : first + 2]
        return one.new_zeros((*one.shape[:-1], *other.shape[1:][-1:]))  # a vector leaves no columns
    as_meta = lambda tensor: torch.empty_like(tensor, device="meta")  # noqa: E731
    shape = func(*tree_map_only(Tensor, as_meta, args), **tree_map_only(Tensor, as_meta, kwargs))
    return torch.zeros_like(shape, device="cpu")


def count_cost(
    settings: ModelSettings, source: int, target: int, lengths: SentenceLengths
) -> tuple[tuple[CostPart, ...], SentenceLengths, tuple[int, int]]:
    """The parts of the model with vocabularies of `source` and `target` entries, for sentences of these lengths.

    Also returns the lengths, in whole tokens and as long as the model can read, and rows and columns of the output
    matrix. The parts are the output matrix, the layers (weights in matrix products), and the other weights.
    """
    whole = readable_lengths(settings, (source, target), lengths)
    wide, narrow = (_watch(settings, (source, target), whole, name) for name in ("float32", "bfloat16"))
    parts = (
        CostPart("output", 1, wide.output_weights, wide.output_flops / 2),
        CostPart(
            "layers", 1, wide.linear_weights, wide.flops / 2,
            plain=wide.kept / BYTES, narrow=narrow.kept / NARROW,
        ),
        CostPart("embeddings, norms and biases", 1, wide.weights - wide.linear_weights - wide.output_weights),
    )  # fmt: skip
    return parts, whole, wide.output


def readable_lengths(
    settings: ModelSettings, vocabularies: tuple[int, int], lengths: SentenceLengths
) -> SentenceLengths:
    """These lengths in whole tokens, and no longer than the model can read."""
    with empty_weights():
        model = build_model(settings, *vocabularies)
    most = (
        (limit or sys.maxsize) // (1 + model.continues) for limit in (model.maximum_source_length, model.maximum_length)
    )
    source, target = (
        max(1, min(round(length), one)) for length, one in zip((lengths.source, lengths.target), most, strict=True)
    )
    return SentenceLengths(source, target)


def built_weights(settings: ModelSettings, vocabulary: int) -> int:
    """The number of weights of a model that is built with empty weights, with one vocabulary for both sides."""
    with empty_weights():
        return count_weights(build_model(settings, vocabulary, vocabulary))


@dataclass(frozen=True)
class _Pass:
    """Result of a traced pass: operations and bytes kept for the backward pass of one sentence pair, and weights."""

    flops: float
    output_flops: float
    kept: float
    weights: int
    output_weights: int
    linear_weights: int
    output: tuple[int, int]


def _watch(
    settings: ModelSettings, vocabularies: tuple[int, int], lengths: SentenceLengths, precision: PrecisionName
) -> _Pass:
    counter = ProductCounter()
    with torch.random.fork_rng(devices=[]), torch.enable_grad(), counter:
        with uninitialised():
            model = build_model(settings, *vocabularies)
        counter.weights.update(map(storage, model.parameters()))
        copy = WorkingCopy(model, precision)
        copy.model.train()
        own = {storage(tensor) for tensor in [*copy.own, *copy.working, *copy.model.buffers()]}
        kept: dict[int, Tensor] = {}  # what autograd keeps for the backward pass, each storage once

        def note(tensor: Tensor) -> Tensor:
            if storage(tensor) not in own:
                kept.setdefault(storage(tensor), tensor)
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            hidden = hidden_states(copy.model, counted_batch(settings, lengths, vocabularies), precision)
        flops = counter.flops
        by_layers = counter.multiplied.copy()
        copy.model.project(hidden.to(model.output_weight.dtype))
    output = model.output_weight
    in_layers = by_layers - {storage(output)}
    besides = (tensor for place, tensor in kept.items() if place not in counter.weights)
    return _Pass(
        flops=flops / SENTENCES,
        output_flops=(counter.flops - flops) / SENTENCES,
        kept=sum(tensor.untyped_storage().nbytes() for tensor in besides) / SENTENCES,
        weights=count_weights(model),
        output_weights=sum(weight.numel() for weight in model.parameters() if weight is output),
        linear_weights=sum(weight.numel() for weight in model.parameters() if storage(weight) in in_layers),
        output=(output.shape[0], output.shape[1]),
    )


def full_batch(source: Tensor, target: Tensor) -> TensorBatch:
    """A batch of sentences (sentence, position) of one length, without padding; every target token is predicted."""
    count, length = source.shape[:2]
    real = torch.arange(target.numel())
    return TensorBatch(source, torch.full((count,), length), target, real, target.flatten(), count, count * length)


def counted_batch(
    settings: ModelSettings, lengths: SentenceLengths, vocabularies: tuple[int, int], sentences: int = SENTENCES
) -> TensorBatch:
    """Sentences of the last piece of the smaller vocabulary, all of one length; or sources of numbers."""
    last, source, target = min(vocabularies) - 1, int(lengths.source), int(lengths.target)
    targets = torch.full((sentences, target), last)
    targets[:, 0] = SYMBOL_IDS.start
    if reads(settings) != "text":
        return full_batch(torch.zeros(sentences, source, vocabularies[0]), targets % vocabularies[1])
    sources = torch.full((sentences, source), last)
    sources[:, -1] = SYMBOL_IDS.end
    return full_batch(sources, targets)
