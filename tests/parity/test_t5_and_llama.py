"""T5 and LLaMA of Hugging Face's transformers: their layers are our parts, once the weights are in our places.

T5 does not scale its scores, so its queries' weights are multiplied by what ours divide by; its layers share one table
of biases. LLaMA turns number i of a head together with number i + d/2, ours with the next one: so the rows of its
queries and keys are reordered within each head.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

pytest.importorskip("transformers", reason="the extra parity is not installed: make parity")

from transformers import LlamaConfig, LlamaModel, T5Config, T5ForConditionalGeneration

from openwork.models.build import build_transformer
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings
from openwork.nn.attention import Heads, MultiHeadAttention
from openwork.nn.distances import Rotary
from openwork.nn.feedforward import GatedFeedForward
from openwork.nn.kernels import Kernel, fused, reference
from openwork.nn.layers import EncoderLayer
from openwork.nn.masks import Mask
from openwork.nn.normalisation import RMSNorm
from openwork.nn.residual import PreNorm

pytestmark = pytest.mark.slow  # what is held against needs seconds to load

TOLERANCE = 1e-4
LENGTHS = torch.tensor([150, 90, 7])  # beyond T5's furthest distance
KERNELS = {"reference": reference.attention, "fused": fused.attention}


def disturb(model: nn.Module, scale: float = 0.25) -> None:
    """Random weights everywhere, norms near one."""
    generator = torch.Generator().manual_seed(7)
    for name, tensor in model.named_parameters():
        noise = torch.randn(tensor.shape, generator=generator) * scale
        tensor.data = noise + (1.0 if "norm" in name else 0.0)


def put(place: Tensor, value: Tensor, factor: float = 1.0) -> None:
    assert place.shape == value.shape
    place.data.copy_(value * factor)


# ---------------------------------------------------------------------------------------------- T5


def t5(**changes: Any) -> Any:
    sizes = {
        "vocab_size": 19, "d_model": 16, "d_kv": 6, "d_ff": 20, "num_layers": 2, "num_decoder_layers": 2,
        "num_heads": 3, "decoder_start_token_id": 0, "tie_word_embeddings": False,
    }  # fmt: skip
    model = T5ForConditionalGeneration(T5Config(**sizes | changes)).eval()
    disturb(model)
    return model


def as_ours(theirs: Any, feedforward: str, kernel: Kernel) -> Transformer:
    config = theirs.config
    settings = TransformerSettings(
        width=config.d_model, encoder_layers=2, decoder_layers=2, heads=config.num_heads, head_width=config.d_kv,
        value_width=config.d_kv, feedforward_width=config.d_ff, feedforward=feedforward, norm="pre",
        normalisation="rms", positions="bucketed", embedding_scale=False, tying="none",
    )  # type: ignore[arg-type]  # fmt: skip
    ours = build_transformer(settings, config.vocab_size, config.vocab_size, kernel).eval()
    for table in (ours.source_embedding.table, ours.target_embedding.table):
        put(table.weight, theirs.shared.weight)
    put(ours.output, theirs.lm_head.weight)
    for stack, blocks in ((ours.encoder, theirs.encoder), (ours.decoder, theirs.decoder)):
        put(stack.final_norm.weight, blocks.final_layer_norm.weight)
        table = blocks.block[0].layer[0].SelfAttention.relative_attention_bias.weight
        for layer, block in zip(stack.layers, blocks.block, strict=True):
            parts = list(block.layer)
            put(layer.self_attention.distances.table.weight, table)
            _t5_attention(layer.self_attention, parts[0].SelfAttention)
            if len(parts) == 3:
                _t5_attention(layer.cross_attention, parts[1].EncDecAttention)
            _t5_network(layer.feedforward, parts[-1].DenseReluDense)
            wirings = [module for module in layer.children() if isinstance(module, PreNorm)]
            for wiring, part in zip(wirings, parts, strict=True):
                put(wiring.norm.weight, part.layer_norm.weight)
    return ours


def _t5_attention(ours: MultiHeadAttention, theirs: Any) -> None:
    put(ours.query.weight, theirs.q.weight, 1 / ours.scale)
    for mine, other in ((ours.key, theirs.k), (ours.value, theirs.v), (ours.output, theirs.o)):
        put(mine.weight, other.weight)


def _t5_network(ours: Any, theirs: Any) -> None:
    gated = hasattr(theirs, "wi_0")
    if gated:
        put(ours.gate.weight, theirs.wi_0.weight)
    else:  # theirs has no biases
        ours.expand.bias.data.zero_()
        ours.contract.bias.data.zero_()
    put(ours.expand.weight, theirs.wi_1.weight if gated else theirs.wi.weight)
    put(ours.contract.weight, theirs.wo.weight)
    if gated and theirs.act.__class__.__name__.startswith("NewGELU"):
        ours.activation = nn.GELU(approximate="tanh")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("projection", "feedforward"), [("relu", "relu"), ("gated-silu", "swiglu"), ("gated-gelu", "geglu")]
)
def test_t5(projection: str, feedforward: str, kernel: str) -> None:
    theirs = t5(feed_forward_proj=projection)
    ours = as_ours(theirs, feedforward, KERNELS[kernel])
    generator = torch.Generator().manual_seed(1)
    source, target = (
        torch.randint(1, 19, (3, 150), generator=generator),
        torch.randint(1, 19, (3, 140), generator=generator),
    )
    real = (torch.arange(150) < LENGTHS[:, None]).long()
    with torch.no_grad():
        expected = theirs(input_ids=source, attention_mask=real, decoder_input_ids=target)
        memory = ours.encode(source, LENGTHS)
        logits, state = ours.step(target[:, :60], ours.start(source, LENGTHS))
        later, _ = ours.step(target[:, 60:], state)  # with a cache
    for row, length in enumerate(LENGTHS.tolist()):
        close(memory[row, :length], expected.encoder_last_hidden_state[row, :length])
    close(torch.cat([logits, later], dim=1), expected.logits)


def close(found: Tensor, expected: Tensor) -> None:
    assert expected.std() > 0.3
    torch.testing.assert_close(found, expected, rtol=0, atol=TOLERANCE)


# ---------------------------------------------------------------------------------------------- LLaMA


def llama(**changes: Any) -> Any:
    sizes = {
        "vocab_size": 17, "hidden_size": 24, "intermediate_size": 20, "num_hidden_layers": 2, "num_attention_heads": 6,
        "num_key_value_heads": 2, "head_dim": 4, "max_position_embeddings": 256, "pad_token_id": 0,
    }  # fmt: skip
    model = LlamaModel(LlamaConfig(**sizes | changes)).eval()
    disturb(model)
    return model


def neighbours(weight: Tensor, head_width: int) -> Tensor:
    """Rows of one head: those that turn together one beside the other."""
    heads = weight.unflatten(0, (-1, 2, head_width // 2))
    return heads.transpose(1, 2).flatten(0, 2)


def as_our_layers(theirs: Any, kernel: Kernel) -> Sequence[EncoderLayer]:
    config, layers = theirs.config, []
    norm = partial(RMSNorm, epsilon=config.rms_norm_eps)
    heads = Heads(config.num_attention_heads, config.head_dim, config.head_dim, config.num_key_value_heads)
    for block in theirs.layers:
        width = config.hidden_size
        attention = MultiHeadAttention(width, heads, kernel=kernel, distances=Rotary(config.head_dim))
        network = GatedFeedForward(width, config.intermediate_size, 0.0, nn.SiLU)
        wirings = (PreNorm(width, 0.0, norm), PreNorm(width, 0.0, norm))
        put(attention.query.weight, neighbours(block.self_attn.q_proj.weight, config.head_dim))
        put(attention.key.weight, neighbours(block.self_attn.k_proj.weight, config.head_dim))
        put(attention.value.weight, block.self_attn.v_proj.weight)
        put(attention.output.weight, block.self_attn.o_proj.weight)
        for mine, other in zip(("gate", "expand", "contract"), ("gate_proj", "up_proj", "down_proj"), strict=True):
            put(getattr(network, mine).weight, getattr(block.mlp, other).weight)
        put(wirings[0].norm.weight, block.input_layernorm.weight)
        put(wirings[1].norm.weight, block.post_attention_layernorm.weight)
        layers.append(EncoderLayer(attention, network, wirings).eval())
    return layers


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("shared", [1, 2, 6], ids=["multi-query", "grouped", "full"])
def test_llama(shared: int, kernel: str) -> None:
    theirs = llama(num_key_value_heads=shared, rms_norm_eps=1e-5)
    layers = as_our_layers(theirs, KERNELS[kernel])
    x = torch.randn(3, 150, 24, generator=torch.Generator().manual_seed(2))
    real = (torch.arange(150) < LENGTHS[:, None]).long()
    with torch.no_grad():
        expected = theirs(inputs_embeds=x, attention_mask=real).last_hidden_state
        for layer in layers:
            x = layer(x, Mask(LENGTHS, is_causal=True))
        closing = RMSNorm(24, theirs.config.rms_norm_eps)
        put(closing.weight, theirs.norm.weight)
        found = closing(x)
    for row, length in enumerate(LENGTHS.tolist()):
        close(found[row, :length], expected[row, :length])
