"""Names and layout of a language model's weights in Hugging Face's GPT-2 and LLaMA.

GPT-2 keeps the projections of queries, keys and values side by side, and all matrices with their input first. LLaMA
rotates number i of a head with number i + d/2, openwork neighbours: queries and keys are reordered within each head.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from openwork.interop.exports import GPT2_ACTIVATIONS, LLAMA_ACTIVATIONS
from openwork.interop.hugging_face.weights import WeightPlace, with_bias
from openwork.models.settings import DecoderSettings

EMBEDDINGS = "embedding.table.weight"
ALL = ".self_attention.all."  # queries, keys and values side by side
GPT2_LAYER = {
    "self_wiring.norm": "ln_1",
    "self_attention.all": "attn.c_attn",
    "self_attention.output": "attn.c_proj",
    "feedforward_wiring.norm": "ln_2",
    "feedforward.expand": "mlp.c_fc",
    "feedforward.contract": "mlp.c_proj",
}
LLAMA_LAYER = {
    "self_wiring.norm": "input_layernorm",
    "feedforward_wiring.norm": "post_attention_layernorm",
    "feedforward.gate": "mlp.gate_proj",
    "feedforward.expand": "mlp.up_proj",
    "feedforward.contract": "mlp.down_proj",
    "self_attention.query": "self_attn.q_proj",
    "self_attention.key": "self_attn.k_proj",
    "self_attention.value": "self_attn.v_proj",
    "self_attention.output": "self_attn.o_proj",
}

Weights = Mapping[str, Tensor]


def _gpt2_places(settings: DecoderSettings) -> Iterator[WeightPlace]:
    yield WeightPlace(EMBEDDINGS, ("transformer.wte.weight", "wte.weight"), pieces="source")
    if settings.tying != "three-way":
        yield WeightPlace("output", ("lm_head.weight",), pieces="source")
    places = [WeightPlace("positions.table.weight", ("wpe.weight",)), *with_bias("stack.final_norm", "ln_f")]
    for number in range(settings.layers):
        for own, hf_name in GPT2_LAYER.items():
            places += with_bias(f"stack.layers.{number}.{own}", f"h.{number}.{hf_name}")
    for name, (hf_name,), *_ in places:  # some files have the names without the prefix
        yield WeightPlace(name, (f"transformer.{hf_name}", hf_name))


def _llama_places(settings: DecoderSettings) -> Iterator[WeightPlace]:
    yield WeightPlace(EMBEDDINGS, ("model.embed_tokens.weight",), pieces="source")
    if settings.tying != "three-way":
        yield WeightPlace("output", ("lm_head.weight",), pieces="source")
    yield WeightPlace("stack.final_norm.weight", ("model.norm.weight",))
    for number in range(settings.layers):
        for own, hf_name in LLAMA_LAYER.items():
            matrix, bias = with_bias(f"stack.layers.{number}.{own}", f"model.layers.{number}.{hf_name}")
            yield matrix
            if settings.attention_bias and own.startswith("self_attention"):
                yield bias


def _gpt2_to_openwork(found: Weights, _: DecoderSettings) -> dict[str, Tensor]:
    """Matrices with their output first, and each projection by itself."""
    arranged = {}
    for name, tensor in found.items():
        matrix = tensor.t() if _is_matrix(name, tensor) else tensor
        if ALL in name:
            for part, own in zip(("query", "key", "value"), matrix.chunk(3), strict=True):
                arranged[name.replace(".all.", f".{part}.")] = own.contiguous()
        else:
            arranged[name] = matrix.contiguous()
    return arranged


def _gpt2_to_hugging_face(name: str, own: Weights, settings: DecoderSettings) -> Tensor:
    """Matrices with their input first, the three projections side by side, zeros for biases that the model has not."""
    if ALL in name:
        parts = (name.replace(".all.", f".{part}.") for part in ("query", "key", "value"))
        return torch.cat([_gpt2_to_hugging_face(part, own, settings) for part in parts], dim=-1)
    if name not in own:
        return torch.zeros(own[name.removesuffix("bias") + "weight"].shape[0])
    return own[name].t() if _is_matrix(name, own[name]) else own[name]


def _is_matrix(name: str, tensor: Tensor) -> bool:
    return tensor.ndim == 2 and name.startswith("stack.")


def _llama_to_openwork(found: Weights, settings: DecoderSettings) -> dict[str, Tensor]:
    """Of each head the rows 0, d/2, 1, d/2 + 1, ...; what has another size is left for the comparison of shapes."""
    width = settings.key_width
    return {
        name: one.unflatten(0, (-1, 2, width // 2)).transpose(1, 2).flatten(0, 2)
        if _is_rotated(name) and one.shape[0] % width == 0
        else one
        for name, one in found.items()
    }


def _llama_to_hugging_face(name: str, own: Weights, settings: DecoderSettings) -> Tensor:
    """Numbers that rotate together half a head apart."""
    if not _is_rotated(name):
        return own[name]
    return own[name].unflatten(0, (-1, settings.key_width // 2, 2)).transpose(1, 2).flatten(0, 2)


def _is_rotated(name: str) -> bool:
    return ".query." in name or ".key." in name


class DecoderLayout(NamedTuple):
    """One architecture: places of its weights, and how they are rearranged.

    Args:
        class_name: its class in transformers.
        activations: its names of activations.
        places: every weight of a model with some settings.
        to_openwork: all weights by openwork's names, rearranged.
        to_hugging_face: the weight of one place.
    """

    class_name: str
    activations: dict[str, str]
    places: Callable[[DecoderSettings], Iterator[WeightPlace]]
    to_openwork: Callable[[Weights, DecoderSettings], dict[str, Tensor]]
    to_hugging_face: Callable[[str, Weights, DecoderSettings], Tensor]


LAYOUTS = {
    "gpt2": DecoderLayout("GPT2LMHeadModel", GPT2_ACTIVATIONS, _gpt2_places, _gpt2_to_openwork, _gpt2_to_hugging_face),
    "llama": DecoderLayout(
        "LlamaForCausalLM", LLAMA_ACTIVATIONS, _llama_places, _llama_to_openwork, _llama_to_hugging_face
    ),
}
