"""Names and layout of a Transformer's weights in Hugging Face's models of the BART family.

Four architectures are openwork's model with certain settings, and their weights have the same names:

    marian     post-norm, sinusoidal positions          as the paper's model
    pegasus    pre-norm,  sinusoidal positions
    bart       post-norm, learned positions, a norm after the embeddings
    mbart      pre-norm,  learned positions, a norm after the embeddings

Their sinusoids have all sines first and all cosines after them; openwork's alternate. That is no other model: the order
of the numbers in the residual stream is free as long as every weight has the same, so weights are reordered along it.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from openwork.models.settings import TransformerSettings

POSITION_ROWS = 2  # rows of a table of learned positions before that of the first position, a habit of BART

# Of each sub-layer and norm: openwork's name, Hugging Face's, and the axis of the matrix along which the stream lies.
# An output along the stream has its bias and its norm along it as well.
SELF_ATTENTION = (
    ("self_attention.query", "self_attn.q_proj", 1),
    ("self_attention.key", "self_attn.k_proj", 1),
    ("self_attention.value", "self_attn.v_proj", 1),
    ("self_attention.output", "self_attn.out_proj", 0),
)
FEEDFORWARD = (
    ("feedforward.expand", "fc1", 1),
    ("feedforward.contract", "fc2", 0),
    ("feedforward_wiring.norm", "final_layer_norm", 0),
)
CROSS_ATTENTION = tuple(
    (own.replace("self_", "cross_"), hf.replace("self_attn", "encoder_attn"), axis) for own, hf, axis in SELF_ATTENTION
)
LAYERS = {
    "encoder": (*SELF_ATTENTION, ("attention_wiring.norm", "self_attn_layer_norm", 0), *FEEDFORWARD),
    "decoder": (
        *SELF_ATTENTION,
        ("self_wiring.norm", "self_attn_layer_norm", 0),
        *CROSS_ATTENTION,
        ("cross_wiring.norm", "encoder_attn_layer_norm", 0),
        *FEEDFORWARD,
    ),
}


class WeightPlace(NamedTuple):
    """One weight.

    Args:
        openwork_name: its name in openwork's model.
        hf_names: its names in Hugging Face's, all of which hold the same; it is written under the first.
        stream: the axis along which a vector of the stream lies; None: none.
        pieces: the side whose vocabulary the first axis counts.
        before: rows that only Hugging Face's has.
    """

    openwork_name: str
    hf_names: tuple[str, ...]
    stream: int | None = None
    pieces: Literal["source", "target"] | None = None
    before: int = 0


def with_bias(openwork_name: str, hf_name: str, stream: int | None = None) -> Iterator[WeightPlace]:
    """A matrix, or the scale of a norm, and its bias."""
    yield WeightPlace(f"{openwork_name}.weight", (f"{hf_name}.weight",), stream)
    yield WeightPlace(f"{openwork_name}.bias", (f"{hf_name}.bias",), None if stream else stream)


def stream_order(settings: TransformerSettings) -> Int[Tensor, "width"]:
    """For each number of Hugging Face's stream its place in openwork's."""
    order = torch.arange(settings.width)
    return torch.cat((order[0::2], order[1::2])) if settings.positions == "sinusoidal" else order


def places(settings: TransformerSettings) -> Iterator[WeightPlace]:
    """Every weight of a model with these settings, and the biases that it may lack."""
    yield from _tables(settings)
    for stack, side, layers in (
        ("encoder", "source", settings.encoder_layers),
        ("decoder", "target", settings.decoder_layers),
    ):
        added = f"{side}_positions.added" if settings.embedding_norm else f"{side}_positions"
        if settings.positions == "learned":
            hf_names = (f"model.{stack}.embed_positions.weight",)
            yield WeightPlace(f"{added}.table.weight", hf_names, stream=1, before=POSITION_ROWS)
        if settings.embedding_norm:
            yield from with_bias(f"{side}_positions.norm", f"model.{stack}.layernorm_embedding", 0)
        for number in range(layers):
            for own, hf_name, axis in LAYERS[stack]:
                yield from with_bias(f"{stack}.layers.{number}.{own}", f"model.{stack}.layers.{number}.{hf_name}", axis)
        if settings.norm == "pre":
            yield from with_bias(f"{stack}.final_norm", f"model.{stack}.layer_norm", 0)


def _tables(settings: TransformerSettings) -> Iterator[WeightPlace]:
    source, target = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
    shared, output = "model.shared.weight", "lm_head.weight"
    if settings.tying == "three-way":
        names = {"source": (shared, source, target, output)}
        names["target"] = names["output"] = names["source"]
    elif settings.tying == "target":
        names = {"source": (source,), "target": (target, output), "output": (target, output)}
    else:
        names = {"source": (source, shared), "target": (target, shared), "output": (output,)}
    yield WeightPlace("source_embedding.table.weight", names["source"], stream=1, pieces="source")
    yield WeightPlace("target_embedding.table.weight", names["target"], stream=1, pieces="target")
    yield WeightPlace("output", names["output"], stream=1, pieces="target")
    yield WeightPlace("bias", ("final_logits_bias",), pieces="target")
