"""Requirements of step.cpp: the models that it can compute, and the machine."""

import torch
from torch import nn

from openwork.inference.prepared.native.building import NotBuilt, library
from openwork.machine.processor import has_avx512
from openwork.models.seq2seq import Transformer
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.decoder import DecoderLayer
from openwork.nn.feedforward import FeedForward
from openwork.nn.residual import PostNorm, PreNorm

LANES = 16
"""As in step.cpp: all widths are multiples of it."""


def problem() -> str:
    """Why the function is not available on this machine; empty: it is."""
    if not (has_avx512() and torch.cpu._is_vnni_supported()):
        return "the processor has no AVX-512 with VNNI"
    try:
        library()
    except NotBuilt as error:
        return str(error)
    return ""


def can_be_native(model: Transformer) -> bool:
    """Whether a prepared model has a decoder of the paper's parts, in sizes that fill registers."""
    decoder = model.decoder
    ends = isinstance(model.narrow, nn.Identity) and type(decoder.final_norm) in (nn.LayerNorm, nn.Identity)
    return ends and all(_is_supported(layer) for layer in decoder.layers) and not problem()


def _is_supported(layer: nn.Module) -> bool:
    if not isinstance(layer, DecoderLayer) or not isinstance(layer.feedforward, FeedForward):
        return False
    wirings = [layer.self_wiring, layer.cross_wiring, layer.feedforward_wiring]
    if not all(isinstance(one, PreNorm | PostNorm) and type(one.norm) is nn.LayerNorm for one in wirings):
        return False
    widths = [*_head_widths(layer.self_attention), *_head_widths(layer.cross_attention)]
    widths += [layer.feedforward.expand.in_features, layer.feedforward.expand.out_features]
    return isinstance(layer.feedforward.activation, nn.ReLU) and all(width % LANES == 0 for width in widths)


def _head_widths(attention: MultiHeadAttention) -> list[int]:
    heads = attention.heads.count
    return [attention.key.out_features // heads, attention.value.out_features // heads]
