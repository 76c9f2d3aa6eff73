"""Copies weights into torch's own layers, so that tests can hold ours against them."""

from collections.abc import Iterable
from typing import TypeVar

from torch import Tensor, nn

from openwork.nn.attention import MultiHeadAttention
from openwork.nn.feedforward import FeedForward
from openwork.nn.layers import Decoder, DecoderLayer, Encoder, EncoderLayer
from openwork.nn.residual import PostNorm, PreNorm, SublayerConnection

Module = TypeVar("Module", bound=nn.Module)


def disturb(module: nn.Module) -> None:
    """Other values than zeros and ones everywhere, so that a forgotten bias or norm shows."""
    for parameter in module.parameters():
        nn.init.normal_(parameter.detach(), mean=0.1, std=0.3)


def without_biases(module: Module) -> Module:
    """The module with every bias and every shift of a norm at zero: what the framework's `bias=False` leaves out."""
    for name, parameter in module.named_parameters():
        if name.rpartition(".")[2] == "bias":
            parameter.detach().zero_()
    return module


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    packed = [theirs.in_proj_weight] if theirs.in_proj_bias is None else [theirs.in_proj_weight, theirs.in_proj_bias]
    parts = [parameter.detach().chunk(3) for parameter in packed]
    for part, slots in zip((ours.query, ours.key, ours.value), zip(*parts, strict=True), strict=True):
        _copy(part.parameters(), slots)
    _copy(ours.output.parameters(), theirs.out_proj.parameters())


def copy_encoder_layer(ours: EncoderLayer, theirs: nn.TransformerEncoderLayer) -> None:
    copy_attention(ours.self_attention, theirs.self_attn)
    _copy_feedforward(ours.feedforward, theirs)
    _copy_norm(ours.attention_wiring, theirs.norm1)
    _copy_norm(ours.feedforward_wiring, theirs.norm2)


def copy_decoder_layer(ours: DecoderLayer, theirs: nn.TransformerDecoderLayer) -> None:
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    _copy_feedforward(ours.feedforward, theirs)
    _copy_norm(ours.self_wiring, theirs.norm1)
    _copy_norm(ours.cross_wiring, theirs.norm2)
    _copy_norm(ours.feedforward_wiring, theirs.norm3)


def copy_transformer(encoder: Encoder, decoder: Decoder, theirs: nn.Transformer) -> None:
    """Both stacks, which must end with a norm, as the framework's always do."""
    for mine, layer in zip(encoder.layers, theirs.encoder.layers, strict=True):
        copy_encoder_layer(mine, layer)
    for mine, layer in zip(decoder.layers, theirs.decoder.layers, strict=True):
        copy_decoder_layer(mine, layer)
    _copy(encoder.final_norm.parameters(), theirs.encoder.norm.parameters())
    _copy(decoder.final_norm.parameters(), theirs.decoder.norm.parameters())


def _copy_feedforward(ours: nn.Module, theirs: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer) -> None:
    assert isinstance(ours, FeedForward)
    _copy(ours.expand.parameters(), theirs.linear1.parameters())
    _copy(ours.contract.parameters(), theirs.linear2.parameters())


def _copy_norm(ours: SublayerConnection, theirs: nn.LayerNorm) -> None:
    assert isinstance(ours, PostNorm | PreNorm)
    _copy(ours.norm.parameters(), theirs.parameters())


def _copy(ours: Iterable[Tensor], theirs: Iterable[Tensor]) -> None:
    """The weight, then the bias. One that is not there is a bias of zeros: it must be in ours, it becomes in theirs."""
    given, places = list(ours), list(theirs)
    for values, place in zip(given, places, strict=False):
        assert values.shape == place.shape
        place.detach().copy_(values.detach())
    assert not any(values.any() for values in given[len(places) :]), "ours has a bias that theirs cannot hold"
    for place in places[len(given) :]:
        place.detach().zero_()
