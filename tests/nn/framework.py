"""Copies weights into torch's own layers, so that tests can hold ours against them."""

from torch import nn

from openwork.nn.attention import MultiHeadAttention
from openwork.nn.decoder import DecoderLayer
from openwork.nn.encoder import EncoderLayer
from openwork.nn.feedforward import FeedForward
from openwork.nn.residual import PostNorm, PreNorm, Wiring


def disturb(module: nn.Module) -> None:
    """Other values than zeros and ones everywhere, so that a forgotten bias or norm shows."""
    for parameter in module.parameters():
        nn.init.normal_(parameter.detach(), mean=0.1, std=0.3)


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    parts = (ours.query, ours.key, ours.value)
    for part, weight in zip(parts, theirs.in_proj_weight.detach().chunk(3), strict=True):
        weight.copy_(part.weight.detach())
    if theirs.in_proj_bias is not None:
        for part, bias in zip(parts, theirs.in_proj_bias.detach().chunk(3), strict=True):
            bias.copy_(part.bias.detach())
    theirs.out_proj.load_state_dict(ours.output.state_dict())


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


def _copy_feedforward(ours: FeedForward, theirs: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer) -> None:
    theirs.linear1.load_state_dict(ours.expand.state_dict())
    theirs.linear2.load_state_dict(ours.contract.state_dict())


def _copy_norm(ours: Wiring, theirs: nn.LayerNorm) -> None:
    assert isinstance(ours, PostNorm | PreNorm)
    theirs.load_state_dict(ours.norm.state_dict())
