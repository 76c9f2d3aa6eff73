"""The paper's figures: their boxes, each with the part that is it here, its weights and its shape."""

from typing import Any, NamedTuple

from torch import nn

from openwork.base.phrases import AsIs
from openwork.inspection.plots import Figures
from openwork.inspection.trace_table import shape_text
from openwork.models.build import build_model
from openwork.models.families import model_settings
from openwork.models.presets import BASE, PRESETS, VOCABULARY
from openwork.models.seq2seq import Transformer
from openwork.models.weights import empty_weights
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.kernels.reference import attention_scores, masked_scores, softmax_over, weighted_sum
from openwork.nn.layers import DecoderLayer, EncoderLayer
from openwork.study.paper.exhibit import DECODER, Computed, exhibit, forward_trace


class Box(NamedTuple):
    """A box of a figure, the module of our model that is it (in the first layer), and its output in a forward pass."""

    words: str
    part: str
    step: str


MODEL = (
    Box("embedding of the source", "source_embedding", "source.embedding"),
    Box("positions of the source", "source_positions", "source.sum"),
    Box("encoder: attention", "encoder.layers.0.self_attention", "encoder.layers.0.self_attention.output"),
    Box("encoder: add and norm", "encoder.layers.0.attention_wiring", "encoder.layers.0.attention_wiring.norm"),
    Box("encoder: feed-forward", "encoder.layers.0.feedforward", "encoder.layers.0.feedforward.contract"),
    Box("encoder: add and norm", "encoder.layers.0.feedforward_wiring", "encoder.layers.0.feedforward_wiring.norm"),
    Box("embedding of the target, shifted right", "target_embedding", "target.embedding"),
    Box("positions of the target", "target_positions", "target.sum"),
    Box("decoder: masked attention", "decoder.layers.0.self_attention", "decoder.layers.0.self_attention.output"),
    Box("decoder: add and norm", "decoder.layers.0.self_wiring", "decoder.layers.0.self_wiring.norm"),
    Box("decoder: attention to the source", "decoder.layers.0.cross_attention",
        "decoder.layers.0.cross_attention.output"),
    Box("decoder: add and norm", "decoder.layers.0.cross_wiring", "decoder.layers.0.cross_wiring.norm"),
    Box("decoder: feed-forward", "decoder.layers.0.feedforward", "decoder.layers.0.feedforward.contract"),
    Box("decoder: add and norm", "decoder.layers.0.feedforward_wiring", "decoder.layers.0.feedforward_wiring.norm"),
    Box("linear, to the vocabulary", "", "logits"),
)  # fmt: skip


def base_model() -> Transformer:
    """The paper's base model with all its layers, without numbers."""
    with empty_weights():
        model = build_model(model_settings(PRESETS[BASE]), VOCABULARY, VOCABULARY)
    assert isinstance(model, Transformer)
    return model


def counted_boxes(model: Transformer) -> list[tuple[Box, int, int]]:
    """Each box of figure 1 with how many of it the model has and the weights of them all, shared ones counted once."""
    counted: set[nn.Parameter] = set()
    rows = []
    for box in MODEL:
        copies = _copies(model, box.part)
        own = {weight for part in copies for weight in part.parameters()} - counted
        counted |= own
        rows.append((box, len(copies) or 1, sum(weight.numel() for weight in own)))
    return rows


def _copies(model: Transformer, part: str) -> list[nn.Module]:
    """This part in all layers; none where the box is no part of its own."""
    if not part:
        return []
    stack, layered, inside = part.partition(".layers.0.")
    if not layered:
        return [model.get_submodule(part)]
    layers: Any = model.get_submodule(f"{stack}.layers")
    return [layer.get_submodule(inside) for layer in layers]


def _code_of(model: Transformer, box: Box) -> str:
    """The class of the part; the last box is a product with the embedding's own matrix."""
    return type(model.get_submodule(box.part)).__name__ if box.part else f"{type(model).__name__}.project"


@exhibit(
    "figure 1",
    (EncoderLayer, DecoderLayer, Transformer.encode, Transformer.advance),
    "tests/models/test_transformer.py::test_the_whole_is_the_frameworks",
    "tests/models/test_options.py::test_the_papers_model_has_the_parts_and_names_it_always_had",
    "tests/nn/test_layers.py::test_a_decoder_layer_is_the_frameworks",
    "tests/parity/test_torch.py::test_whole",
)
def _figure_1() -> Computed:
    """On the left the encoder: embedding and position of each piece of the source, then N = 6 layers of attention and
    feed-forward network, each followed by its sum and norm. On the right the decoder, whose layers attend to the target
    so far, then to what the encoder gave, and at last the softmax over the vocabulary.

    The target goes in shifted right by one: each position is given the piece before the one it is to predict. All
    layers of the decoder read what the last layer of the encoder gives.

    Source, target and output share one matrix, which is counted at the first box that has it. The softmax has no box
    here: the loss and the search take it of the logits.
    """
    model = base_model()
    trace = forward_trace(*(box.step for box in MODEL))
    boxes = Figures(
        f"the boxes from below to above, encoder first; weights of the base model at a vocabulary of {VOCABULARY:,}",
        ("box", "part of ours", "how many", "weights", "what it gives"),
        [
            (box.words, AsIs(_code_of(model, box)), f"{copies}", f"{weights:,}", shape_text(trace.step(box.step), str))
            for box, copies, weights in counted_boxes(model)
        ],
    )
    return Computed(trace, (boxes,))


@exhibit(
    "figure 2",
    (attention_scores, masked_scores, softmax_over, weighted_sum, MultiHeadAttention.forward),
    "tests/nn/test_attention.py::test_each_head_is_the_formula",
    "tests/nn/test_kernels.py::test_the_kernels_agree",
)
def _figure_2() -> Computed:
    """On the left equation 1 as boxes: product of queries and keys, scale, mask where there is one, softmax, product
    with the values. On the right h of these side by side, between the projections of queries, keys and values and the
    one that joins their results.

    The numbers are those of the decoder's attention to itself, which has the mask.
    """
    parts = ("query", "key", "value", "products", "scores", "masked", "weights", "heads", "output")
    return Computed(forward_trace(*parts, within=f"{DECODER}.self_attention."))
