"""A trained model's forward pass as steps: the model's own code runs, and what its parts give is noted.

A copy of the model in float64 is watched: forward hooks note what modules give, and a kernel that calls the functions
of the reference kernel notes what happens between queries and output. The model itself is never touched.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from openwork.inspection import transformer_steps as steps
from openwork.inspection.recorder import Recorder, StepKind
from openwork.models.interfaces import SequenceModel
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.distances import RelativeKeys, Rotary
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.feedforward import FeedForward, GatedFeedForward
from openwork.nn.kernels import WeightFunction, reference
from openwork.nn.masks import Mask
from openwork.nn.positions import LearnedPositions, NormalisedPositions, SinusoidalPositions
from openwork.nn.residual import BranchNorm, PostNorm, PreNorm, ProjectedResidual

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


def _watch(model: nn.Module, recorder: Recorder) -> None:
    """Hooks on every part that is known."""
    for name, module in model.named_modules():
        match module:
            case TokenEmbedding():
                _watch_embedding(module, recorder)
            case SinusoidalPositions() | LearnedPositions():
                _watch_positions(module, recorder)
            case NormalisedPositions():
                _note_output(recorder, f"{name}.norm", module.norm, steps.norm(module.norm, inner=False))
            case MultiHeadAttention():
                _watch_attention(name, module, recorder)
            case FeedForward() | GatedFeedForward():
                _watch_network(name, module, recorder)
            case PostNorm() | PreNorm() | BranchNorm():
                after = isinstance(module, PostNorm)
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
) -> None:
    """Notes what the module gives whenever it is called, `shape`d; `given` are inputs that have no step's numbers."""

    def hear(_: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        value = output if shape is None else shape(output)
        kept = [*module.parameters(), *module.buffers()]
        recorder.note(name, kind, value, given or inputs, parameters=kept)

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
    kernel = TracingKernel(name, attention, recorder)

    def cut(width: int) -> Callable[[Tensor], Tensor]:
        return lambda projected: attention.split(projected, width)

    width, value_width = attention.heads.width, attention.heads.value_width
    _note_output(recorder, f"{name}.query", attention.query, steps.query(attention), shape=cut(width))
    _note_output(recorder, f"{name}.key", attention.key, steps.key(attention), shape=cut(width))
    _note_output(recorder, f"{name}.value", attention.value, steps.value(attention), shape=cut(value_width))
    _note_output(
        recorder, f"{name}.output", attention.output, steps.attention_output(attention), given=[f"{name}.heads"]
    )
    attention.key.register_forward_hook(kernel.hear_keys)
    attention.kernel = kernel


class TracingKernel:
    """Equation 1 by the functions of the reference kernel, each of whose values is noted."""

    def __init__(self, name: str, attention: MultiHeadAttention, recorder: Recorder) -> None:
        self.name = name
        self.attention = attention
        self.recorder = recorder
        self.keys: Sequence[str] = ()

    def hear_keys(self, module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        """Keys are the positions of the side whose turn it is when they are made."""
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
        asking, asked = self._turned(query, key)
        products = reference.attention_scores(query, key, 1.0)
        self._note("products", steps.PRODUCTS, products, asking, asked)
        if bias is not None:
            depends = [asking] * isinstance(self.attention.distances, RelativeKeys)
            self._note("bias", steps.distance_bias(self.attention), bias.expand_as(products), *depends)
        scores = reference.attention_scores(query, key, scale, bias)
        biased = bias is not None
        self._note("scores", steps.scores(biased), scores, self._called("products"), *[self._called("bias")] * biased)
        allowed = mask.boolean(query.shape[-2], key.shape[-2], query.device)
        if allowed is not None and not bool(allowed.all()):
            self._note("masked", steps.MASKED, reference.masked_scores(scores, allowed), self._called("scores"))
        weights = reference.softmax_over(scores, allowed)
        self._note("weights", steps.WEIGHTS, weights, self.recorder.steps[-1].name)
        heads = reference.weighted_sum(weights, value)
        self._note("heads", steps.HEADS, heads, self._called("weights"), self._called("value"))
        return heads

    def _turned(self, query: Tensor, key: Tensor) -> tuple[str, str]:
        """The names of what is compared: rotary positions turn it first."""
        if not isinstance(self.attention.distances, Rotary):
            return self._called("query"), self._called("key")
        self._note("turned_query", steps.turned(self.attention, "query"), query, self._called("query"))
        self._note("turned_key", steps.turned(self.attention, "key"), key, self._called("key"))
        return self._called("turned_query"), self._called("turned_key")

    def _called(self, part: str) -> str:
        return f"{self.name}.{part}"

    def _note(self, part: str, kind: StepKind, value: Tensor, *inputs: str) -> None:
        labels = {"key": self.keys} if "key" in kind.axes else {}
        self.recorder.note(self._called(part), kind, value, inputs, labels=labels)


def _watch_network(name: str, network: FeedForward | GatedFeedForward, recorder: Recorder) -> None:
    _note_output(recorder, f"{name}.expand", network.expand, steps.expansion(network))
    _note_output(recorder, f"{name}.activation", network.activation, steps.activation(network))
    if isinstance(network, GatedFeedForward):
        _note_output(recorder, f"{name}.gate", network.gate, steps.gate(network))

        def multiply(_: nn.Module, inputs: tuple[Tensor]) -> None:
            recorder.note(f"{name}.gated", steps.GATED, inputs[0], [f"{name}.activation", f"{name}.expand"])

        network.contract.register_forward_pre_hook(multiply)
    _note_output(recorder, f"{name}.contract", network.contract, steps.contraction(network))
