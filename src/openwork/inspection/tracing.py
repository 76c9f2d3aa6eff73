"""A trained model's forward pass as steps: the model's own code runs, and the outputs of its parts are noted.

A copy of the model in float64 is watched: forward hooks note the outputs of modules, and a kernel that calls the
functions of the reference kernel notes the steps between queries and output. The model itself is never changed.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from openwork.base.symbols import SYMBOL_IDS
from openwork.inspection import transformer_steps as steps
from openwork.inspection.recorder import Recorder, StepKind
from openwork.models.interfaces import SequenceModel
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.distances import RelativeKeys, Rotary
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.features import FeatureEmbedding
from openwork.nn.feedforward import FeedForward, GatedFeedForward
from openwork.nn.kernels import WeightFunction, reference
from openwork.nn.masks import Mask
from openwork.nn.positions import LearnedPositions, NormalisedPositions, SinusoidalPositions
from openwork.nn.residual import NormConnection, PostNorm, ProjectedResidual, WithoutNorm

Model = TypeVar("Model", bound=SequenceModel)


def exact_copy(model: Model) -> Model:
    """The same model with float64 weights, on the CPU, as in translating (no dropout)."""
    return deepcopy(model).to("cpu", torch.float64).eval()


@torch.inference_mode()
def trace_forward(
    model: SequenceModel, recorder: Recorder, source: Sequence[int], target_input: Sequence[int]
) -> Tensor:
    """Notes the encoding of the source and, by teacher forcing, the decoding of a target, down to the logits.

    Ids of the source come with its end symbol, those of the target's input with its start symbol. Gives the logits
    (1, position, vocabulary) in float64.
    """
    copy = exact_copy(model)
    recorder.know(copy)
    _watch(copy, recorder)
    ids, tokens = torch.tensor([list(source)]), torch.tensor([list(target_input)])
    recorder.side = "source"
    recorder.note("source.ids", steps.IDS, ids)
    state = copy.start(ids, torch.tensor([len(source)]))
    recorder.side = "target"
    recorder.note("target.ids", steps.IDS, tokens)
    hidden, _ = copy.advance(tokens, state)
    logits = copy.project(hidden)
    bias = [] if copy.output_bias is None else [copy.output_bias]
    recorder.note("logits", steps.logits(bool(bias)), logits, [hidden], parameters=[copy.output_weight, *bias])
    return logits


@torch.inference_mode()
def trace_label(model: SequenceModel, recorder: Recorder, numbers: Tensor) -> Tensor:
    """Notes the reading of a source of numbers (position, features), down to the logits of its one label.

    Gives the logits (1, vocabulary) in float64.
    """
    copy = exact_copy(model)
    recorder.know(copy)
    _watch(copy, recorder)
    recorder.side, source = "source", numbers.double()[None]
    recorder.note("source.numbers", steps.NUMBERS, source, labels={"patch": recorder.pieces["source"][1:]})
    state = copy.start(source, torch.tensor([len(numbers)]))
    read = recorder.steps[-1].name
    vector = copy.advance(torch.tensor([[SYMBOL_IDS.start]]), state)[0][:, 0]
    recorder.note("read", steps.READ, vector, [read])
    logits = copy.project(vector)
    bias = [] if copy.output_bias is None else [copy.output_bias]
    recorder.note("logits", steps.label_logits(bool(bias)), logits, ["read"], parameters=[copy.output_weight, *bias])
    return logits


def _watch(model: nn.Module, recorder: Recorder) -> None:
    for name, module in model.named_modules():
        match module:
            case TokenEmbedding():
                _watch_embedding(module, recorder)
            case FeatureEmbedding():
                names = {"patch": recorder.pieces["source"][1:]}
                _note_output(recorder, "source.patches", module.projection, steps.PATCHES, labels=names)
                _note_output(recorder, "source.embedding", module, steps.WITH_CLASS, given=["source.patches"])
            case SinusoidalPositions() | LearnedPositions():
                _watch_positions(module, recorder)
            case NormalisedPositions():
                _note_output(recorder, f"{name}.norm", module.norm, steps.norm(module.norm, inner=False))
            case MultiHeadAttention():
                _watch_attention(name, module, recorder)
            case FeedForward() | GatedFeedForward():
                _watch_network(name, module, recorder)
            case NormConnection():
                after = isinstance(module, PostNorm) and not isinstance(module, WithoutNorm)
                if not isinstance(module, WithoutNorm):
                    _note_output(recorder, f"{name}.norm", module.norm, steps.norm(module.norm, inner=not after))
                _note_output(recorder, f"{name}.residual", module.residual, steps.residual(inner=after))
            case ProjectedResidual():
                _note_output(recorder, f"{name}.projection", module.projection, steps.projection())
            case _ if name.endswith("final_norm") and not isinstance(module, nn.Identity):
                _note_output(recorder, name, module, steps.norm(module, inner=False))
            case nn.Linear() if "." not in name:  # the model's own, between decoder and output
                _note_output(recorder, name, module, steps.projection())


def _note_output(
    recorder: Recorder,
    name: str,
    module: nn.Module,
    kind: StepKind,
    *,
    given: Sequence[str] = (),
    shape: Callable[[Tensor], Tensor] | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Notes each output of the module, `shape`d; `given`: names of inputs that are not the numbers of a step."""

    def hear(_: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        value = output if shape is None else shape(output)
        kept = [*module.parameters(), *module.buffers()]
        recorder.note(name, kind, value, given or inputs, parameters=kept, labels=labels)

    module.register_forward_hook(hear)


def _watch_embedding(embedding: TokenEmbedding, recorder: Recorder) -> None:
    """One module can serve both sides, so its steps are named after the side."""

    def look_up(module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        recorder.note(f"{recorder.side}.lookup", steps.LOOKUP, output, inputs, parameters=module.parameters())

    def scale(_: nn.Module, __: tuple[Tensor], output: Tensor) -> None:
        kind = steps.embedding(scaled=embedding.scale != 1.0)
        recorder.note(f"{recorder.side}.embedding", kind, output, [f"{recorder.side}.lookup"])

    embedding.table.register_forward_hook(look_up)
    embedding.register_forward_hook(scale)


def _watch_positions(positions: SinusoidalPositions | LearnedPositions, recorder: Recorder) -> None:
    def prepare(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        x, *later = inputs
        first = int(later[0]) if later else 0
        vectors = positions.rows(first, first + x.shape[1])
        kind = steps.position_vectors(positions)
        recorder.note(f"{recorder.side}.positions", kind, vectors[None], parameters=positions.parameters())

    def add(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        kind = steps.position_sum(positions)
        recorder.note(f"{recorder.side}.sum", kind, output, [inputs[0], f"{recorder.side}.positions"])

    positions.register_forward_pre_hook(prepare)
    positions.register_forward_hook(add)


def _watch_attention(name: str, attention: MultiHeadAttention, recorder: Recorder) -> None:
    kernel, kinds, heads = TracingKernel(name, attention, recorder), steps.attention_steps(attention), attention.heads
    for part, width in (("query", heads.width), ("key", heads.width), ("value", heads.value_width)):
        cut = partial(attention.split, each=width)
        _note_output(recorder, f"{name}.{part}", getattr(attention, part), kinds[part], shape=cut)
    _note_output(recorder, f"{name}.output", attention.output, kinds["output"], given=[f"{name}.heads"])
    attention.key.register_forward_hook(kernel.hear_keys)
    attention.kernel = kernel


class TracingKernel:
    """Equation 1 by the functions of the reference kernel, each of whose values is noted."""

    def __init__(self, name: str, attention: MultiHeadAttention, recorder: Recorder) -> None:
        self.name, self.attention, self.recorder = name, attention, recorder
        self.keys: Sequence[str] = ()

    def hear_keys(self, module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        """Keys are the positions of the side that is computed when they are made."""
        self.keys = self.recorder.pieces[self.recorder.side]

    def __call__(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Mask,
        scale: float,
        dropout: float = 0.0,
        bias: Tensor | None = None,
        weight_function: WeightFunction | None = None,
    ) -> Tensor:
        if weight_function is not None:
            raise ValueError("the steps of this trace are those of equation 1")
        compared = ["query", "key"]
        if isinstance(self.attention.distances, Rotary):  # it has rotated them already
            for part, vectors in (("query", query), ("key", key)):
                self._note(f"turned_{part}", steps.turned(self.attention, part), vectors, part)
            compared = ["turned_query", "turned_key"]
        products = reference.attention_scores(query, key, 1.0)
        self._note("products", steps.PRODUCTS, products, *compared)
        made_of = ["products"]
        if bias is not None:
            depends = compared[:1] if isinstance(self.attention.distances, RelativeKeys) else []
            self._note("bias", steps.distance_bias(self.attention), bias.expand_as(products), *depends)
            made_of.append("bias")
        scores, last = reference.attention_scores(query, key, scale, bias), "scores"
        self._note("scores", steps.scores(bias is not None), scores, *made_of)
        allowed = mask.boolean(query.shape[-2], key.shape[-2], query.device)
        if allowed is not None and not bool(allowed.all()):
            self._note("masked", steps.MASKED, reference.masked_scores(scores, allowed), "scores")
            last = "masked"
        weights = reference.softmax_over(scores, allowed)
        self._note("weights", steps.WEIGHTS, weights, last)
        heads = reference.weighted_sum(weights, value)
        self._note("heads", steps.HEADS, heads, "weights", "value")
        return heads

    def _note(self, part: str, kind: StepKind, value: Tensor, *inputs: str) -> None:
        """`part` and `inputs`: names within this attention."""
        labels, names = {"key": self.keys} if "key" in kind.axes else {}, [f"{self.name}.{one}" for one in inputs]
        self.recorder.note(f"{self.name}.{part}", kind, value, names, labels=labels)


def _watch_network(name: str, network: FeedForward | GatedFeedForward, recorder: Recorder) -> None:
    kinds = steps.network_steps(network)
    for part in ("expand", "activation", *(["gate"] if isinstance(network, GatedFeedForward) else []), "contract"):
        _note_output(recorder, f"{name}.{part}", getattr(network, part), kinds[part])

    def multiply(_: nn.Module, inputs: tuple[Tensor]) -> None:
        recorder.note(f"{name}.gated", steps.GATED, inputs[0], [f"{name}.activation", f"{name}.expand"])

    if isinstance(network, GatedFeedForward):
        network.contract.register_forward_pre_hook(multiply)
