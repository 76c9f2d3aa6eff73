"""001's model as the layers of `openwork.nn` with the same weights, so that tests can hold one against the other."""

from torch import nn

from openwork.nn.attention import Heads, MultiHeadAttention
from openwork.nn.feedforward import FeedForward
from openwork.nn.layers import Decoder, DecoderLayer, Encoder, EncoderLayer
from openwork.nn.normalisation import layer_norm
from openwork.nn.residual import PreNorm
from openwork.study import annotated
from openwork.study.annotated.model import EncoderDecoder


def encoder_of(model: EncoderDecoder) -> Encoder:
    layers = [
        EncoderLayer(
            attention_of(one.self_attn), network_of(one.feed_forward), (wiring_of(one.sub1), wiring_of(one.sub2))
        )
        for one in model.encoder.layers
    ]
    return Encoder(layers, norm_of(model.encoder.norm))


def decoder_of(model: EncoderDecoder) -> Decoder:
    layers = [
        DecoderLayer(
            attention_of(one.self_attn), attention_of(one.src_attn), network_of(one.feed_forward),
            (wiring_of(one.sub1), wiring_of(one.sub2), wiring_of(one.sub3)),
        )
        for one in model.decoder.layers
    ]  # fmt: skip
    return Decoder(layers, norm_of(model.decoder.norm))


def attention_of(one: annotated.MultiHeadAttention) -> MultiHeadAttention:
    width = one.final_linear.weight.shape[0]
    made = MultiHeadAttention(width, Heads(one.h, one.d_k, one.d_k), bias=True)
    made.query, made.key, made.value = one.linears
    made.output = one.final_linear
    return made


def network_of(one: annotated.FeedForward) -> FeedForward:
    made = FeedForward(*reversed(one.l1.weight.shape))
    made.expand, made.contract = one.l1, one.l2
    return made


def wiring_of(one: annotated.ResidualConnection) -> PreNorm:
    made = PreNorm(one.norm.gamma.shape[0], 0.0)
    made.norm = norm_of(one.norm)
    return made


def norm_of(one: annotated.LayerNorm) -> nn.LayerNorm:
    made = layer_norm(one.gamma.shape[0], one.eps)
    made.weight, made.bias = one.gamma, one.beta
    return made
