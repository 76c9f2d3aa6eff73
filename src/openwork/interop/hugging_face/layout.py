"""Where the weights of our Transformer stand in Hugging Face's models of the BART family, and in which layout.

Four of its architectures are our model with certain settings, and their weights have the same names:

    marian     post-norm, sinusoidal positions          as the paper's model
    pegasus    pre-norm,  sinusoidal positions
    bart       post-norm, learned positions, a norm after the embeddings
    mbart      pre-norm,  learned positions, a norm after the embeddings

Their sinusoids have all sines first and all cosines after them, ours one beside the other. That is no other model: the
order of the numbers in the stream is free as long as every weight has the same, so weights are reordered along it.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from openwork.models.settings import TransformerSettings

POSITION_ROWS = 2  # rows of a table of learned positions before that of the first position, a habit of BART


class WeightPlace(NamedTuple):
    """One weight.

    Args:
        ours: its name in our model.
        theirs: its names in theirs, all of which hold the same; it is written under the first.
        stream: the axis along which a vector of the stream lies; None: none.
        pieces: the side whose vocabulary the first axis counts.
        before: rows of theirs that we have not.
    """

    ours: str
    theirs: tuple[str, ...]
    stream: int | None = None
    pieces: Literal["source", "target"] | None = None
    before: int = 0


def stream_order(settings: TransformerSettings) -> Int[Tensor, "width"]:
    """For each number of their stream its place in ours."""
    order = torch.arange(settings.width)
    return torch.cat((order[0::2], order[1::2])) if settings.positions == "sinusoidal" else order


def places(settings: TransformerSettings) -> Iterator[WeightPlace]:
    """Every weight of a model with these settings, and the biases that it may lack."""
    yield from _tables(settings)
    for ours, theirs, layers in (
        ("encoder", "model.encoder", settings.encoder_layers),
        ("decoder", "model.decoder", settings.decoder_layers),
    ):
        yield from _entry("source" if ours == "encoder" else "target", theirs, settings)
        for number in range(layers):
            yield from _layer(f"{ours}.layers.{number}", f"{theirs}.layers.{number}", ours == "decoder")
        if settings.norm == "pre":
            yield from _norm(f"{ours}.final_norm", f"{theirs}.layer_norm")


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


def _entry(ours: str, theirs: str, settings: TransformerSettings) -> Iterator[WeightPlace]:
    added = f"{ours}_positions.added" if settings.embedding_norm else f"{ours}_positions"
    if settings.positions == "learned":
        yield WeightPlace(
            f"{added}.table.weight", (f"{theirs}.embed_positions.weight",), stream=1, before=POSITION_ROWS
        )
    if settings.embedding_norm:
        yield from _norm(f"{ours}_positions.norm", f"{theirs}.layernorm_embedding")


def _layer(ours: str, theirs: str, decoder: bool) -> Iterator[WeightPlace]:
    yield from _attention(f"{ours}.self_attention", f"{theirs}.self_attn")
    yield from _norm(f"{ours}.{'self' if decoder else 'attention'}_wiring.norm", f"{theirs}.self_attn_layer_norm")
    if decoder:
        yield from _attention(f"{ours}.cross_attention", f"{theirs}.encoder_attn")
        yield from _norm(f"{ours}.cross_wiring.norm", f"{theirs}.encoder_attn_layer_norm")
    yield WeightPlace(f"{ours}.feedforward.expand.weight", (f"{theirs}.fc1.weight",), stream=1)
    yield WeightPlace(f"{ours}.feedforward.expand.bias", (f"{theirs}.fc1.bias",))
    yield WeightPlace(f"{ours}.feedforward.contract.weight", (f"{theirs}.fc2.weight",), stream=0)
    yield WeightPlace(f"{ours}.feedforward.contract.bias", (f"{theirs}.fc2.bias",), stream=0)
    yield from _norm(f"{ours}.feedforward_wiring.norm", f"{theirs}.final_layer_norm")


def _attention(ours: str, theirs: str) -> Iterator[WeightPlace]:
    for part, name in (("query", "q_proj"), ("key", "k_proj"), ("value", "v_proj")):
        yield WeightPlace(f"{ours}.{part}.weight", (f"{theirs}.{name}.weight",), stream=1)
        yield WeightPlace(f"{ours}.{part}.bias", (f"{theirs}.{name}.bias",))
    yield WeightPlace(f"{ours}.output.weight", (f"{theirs}.out_proj.weight",), stream=0)
    yield WeightPlace(f"{ours}.output.bias", (f"{theirs}.out_proj.bias",), stream=0)


def _norm(ours: str, theirs: str) -> Iterator[WeightPlace]:
    for part in ("weight", "bias"):
        yield WeightPlace(f"{ours}.{part}", (f"{theirs}.{part}",), stream=0)
