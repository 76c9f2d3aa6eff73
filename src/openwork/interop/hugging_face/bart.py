"""Hugging Face's encoder-decoders, the BART family: read from their folders, and written.

Four architectures are openwork's model with certain settings, and their weights have the same names:

    marian     post-norm, sinusoidal positions          as the paper's model
    pegasus    pre-norm,  sinusoidal positions
    bart       post-norm, learned positions, a norm after the embeddings
    mbart      pre-norm,  learned positions, a norm after the embeddings

Their sinusoids have all sines first and all cosines after them; openwork's alternate. That is no other model: the order
of the numbers in the residual stream is free as long as every weight has the same, so weights are reordered along it.

    MarianMTModel.from_pretrained(FOLDER).generate(ids)

An exported model keeps openwork's ids. Its generation_config.json describes openwork's search: symbols that are never
produced are suppressed, the length rule and the stopping are the bundle's where transformers has them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import torch
from jaxtyping import Int
from pydantic import Field
from torch import Tensor

from openwork.base.errors import BundleError
from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.settings import DecodingSettings
from openwork.interop.exports import (
    ARCHITECTURES,
    HF_ACTIVATIONS,
    HF_EPSILON,
    Architecture,
    architecture_of,
    hf_activation,
    unsupported_seq2seq,
)
from openwork.interop.hugging_face import folder as hf
from openwork.interop.vocabulary import Vocabulary
from openwork.models.families import ModelSettings
from openwork.models.interfaces import SequenceModel
from openwork.models.settings import TransformerSettings, Tying
from openwork.nn.positions import sinusoids

BIAS = "final_logits_bias"
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


def stream_order(settings: TransformerSettings) -> Int[Tensor, "width"]:
    """For each number of Hugging Face's stream its place in openwork's."""
    order = torch.arange(settings.width)
    return torch.cat((order[0::2], order[1::2])) if settings.positions == "sinusoidal" else order


def places(settings: TransformerSettings) -> Iterator[hf.WeightPlace]:
    """Every weight of a model with these settings, and the biases that it may lack."""
    yield from _tables(settings)
    for stack, side, layers in (
        ("encoder", "source", settings.encoder_layers),
        ("decoder", "target", settings.decoder_layers),
    ):
        added = f"{side}_positions.added" if settings.embedding_norm else f"{side}_positions"
        if settings.positions == "learned":
            hf_names = (f"model.{stack}.embed_positions.weight",)
            yield hf.WeightPlace(f"{added}.table.weight", hf_names, stream=1, before=POSITION_ROWS)
        if settings.embedding_norm:
            yield from hf.with_bias(f"{side}_positions.norm", f"model.{stack}.layernorm_embedding", 0)
        for number in range(layers):
            for own, hf_name, axis in LAYERS[stack]:
                yield from hf.with_bias(
                    f"{stack}.layers.{number}.{own}", f"model.{stack}.layers.{number}.{hf_name}", axis
                )
        if settings.norm == "pre":
            yield from hf.with_bias(f"{stack}.final_norm", f"model.{stack}.layer_norm", 0)


def _tables(settings: TransformerSettings) -> Iterator[hf.WeightPlace]:
    source, target = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
    shared, output = "model.shared.weight", "lm_head.weight"
    if settings.tying == "three-way":
        names = {"source": (shared, source, target, output)}
        names["target"] = names["output"] = names["source"]
    elif settings.tying == "target":
        names = {"source": (source,), "target": (target, output), "output": (target, output)}
    else:
        names = {"source": (source, shared), "target": (target, shared), "output": (output,)}
    yield hf.WeightPlace("source_embedding.table.weight", names["source"], stream=1, pieces="source")
    yield hf.WeightPlace("target_embedding.table.weight", names["target"], stream=1, pieces="target")
    yield hf.WeightPlace("output", names["output"], stream=1, pieces="target")
    yield hf.WeightPlace("bias", (BIAS,), pieces="target")


class EncoderDecoderConfig(hf.ConfigKeys):
    """The keys of the layers of both sides."""

    vocab_size: hf.Count
    width: hf.Count = Field(alias="d_model")
    encoder_layers: hf.Layers
    decoder_layers: hf.Layers
    heads: hf.Count = Field(alias="encoder_attention_heads")
    decoder_attention_heads: hf.Count
    feedforward_width: hf.Count = Field(alias="encoder_ffn_dim")
    decoder_ffn_dim: hf.Count
    activation: str = Field("gelu", alias="activation_function")
    tie_word_embeddings: bool = True
    dropout: hf.Probability = 0.1
    attention_dropout: hf.Probability = 0.0
    feedforward_dropout: hf.Probability = Field(0.0, alias="activation_dropout")
    pad_token_id: hf.Id
    eos_token_id: hf.Id
    decoder_start_token_id: hf.Id


def check_layers(config: EncoderDecoderConfig, path: Path) -> None:
    """BundleError for an encoder and a decoder with layers of different sizes."""
    encoder = (config.heads, config.feedforward_width)
    decoder = (config.decoder_attention_heads, config.decoder_ffn_dim)
    if encoder != decoder:
        raise BundleError(
            f"{path}: encoder and decoder have layers of different kinds",
            why=f"heads and feed-forward width are {encoder} in the encoder and {decoder} in the decoder",
            hint="openwork has one number of heads and one feed-forward width for both",
            code="B020",
        )


class HuggingFaceConfig(EncoderDecoderConfig):
    """The keys of the BART family that matter, with Hugging Face's defaults."""

    model_type: Literal["marian", "pegasus", "bart", "mbart"]
    decoder_vocab_size: hf.Count | None = None
    maximum_length: hf.Positions = Field(1024, alias="max_position_embeddings")
    embedding_scale: bool = Field(False, alias="scale_embedding")
    share_encoder_decoder_embeddings: bool = True
    unk_token_id: hf.Id | None = None

    @property
    def target_size(self) -> int:
        return self.vocab_size if self.tying == "three-way" else self.decoder_vocab_size or self.vocab_size

    @property
    def tying(self) -> Tying:
        """Which of the three tables are one."""
        if not self.tie_word_embeddings:
            return "none"
        return "three-way" if self.model_type != "marian" or self.share_encoder_decoder_embeddings else "target"


def read_config(folder: Path) -> HuggingFaceConfig:
    """The folder's config.json; BundleError where it is missing, damaged, or of a model that openwork has not."""
    content = hf.read_json_object(folder / hf.CONFIG)
    if content.get("model_type") not in ARCHITECTURES:
        raise BundleError(
            f"{folder / hf.CONFIG}: a model of type {content.get('model_type')!r} cannot be read",
            why=f"openwork reads {', '.join((*ARCHITECTURES, 't5', 'mt5', 'bert', 'gpt2', 'llama', 'vit', 'whisper'))}",
            hint="import a model of one of these types, or convert this one with CTranslate2 and import it as ct2",
            code="B019",
        )
    return hf.validated(HuggingFaceConfig, content, folder / hf.CONFIG)


def model_settings(config: HuggingFaceConfig, path: Path, *, output_bias: bool) -> TransformerSettings:
    """The settings of the model that computes the same; BundleError names `path` where there is none."""
    check_layers(config, path)
    kind = ARCHITECTURES[config.model_type]
    return hf.validated(
        TransformerSettings,
        config.settings_for(TransformerSettings)
        | {
            "feedforward": hf.known_activation(config.activation, HF_ACTIVATIONS, path),
            "norm": kind.norm,
            "norm_epsilon": HF_EPSILON,
            "positions": kind.positions,
            "maximum_length": config.maximum_length if kind.positions == "learned" else None,
            "embedding_norm": kind.embedding_norm,
            "tying": config.tying,
            "attention_bias": True,
            "output_bias": output_bias,
        },
        path,
    )


def read_hugging_face(folder: Path, unknown: int | None = None) -> hf.ImportedModel:
    """The model that `save_pretrained` wrote into the folder, of a type in `ARCHITECTURES`, in evaluation mode.

    `unknown`: the id of the unknown symbol, which configurations leave to the tokenizer. BundleError for what is
    missing, damaged, pickled, or a model that openwork has not.
    """
    config, generation = read_config(folder), hf.read_generation(folder)
    weights = hf.read_weights(folder)
    settings = model_settings(config, folder / hf.CONFIG, output_bias=BIAS in weights and bool(weights[BIAS].any()))
    decoding = hf.decoding_settings(generation)
    source, target = _vocabularies(config, unknown)
    order, pieces = stream_order(settings).argsort(), {"source": source, "target": target}
    wanted = (place for place in places(settings) if place.openwork_name != "bias" or settings.output_bias)
    found = hf.own_weights(wanted, weights, pieces, folder, order)
    model = hf.build_imported(folder, settings, source, target, found)
    return hf.ImportedModel(settings, decoding, source, target, model)


def _vocabularies(config: HuggingFaceConfig, unknown: int | None) -> tuple[Vocabulary, Vocabulary]:
    """Of source and target. A separate source vocabulary may lack the symbol that targets start with."""
    unknown = config.unk_token_id if unknown is None else unknown
    pad, start, end = config.pad_token_id, config.decoder_start_token_id, config.eos_token_id
    source_start = start if start < config.vocab_size or config.tying == "three-way" else None
    return (
        Vocabulary.of(config.vocab_size, pad=pad, unknown=unknown, start=source_start, end=end),
        Vocabulary.of(config.target_size, pad=pad, unknown=unknown, start=start, end=end),
    )


def write_model_files(folder: Path, settings: ModelSettings, model: SequenceModel, decoding: DecodingSettings) -> None:
    """Writes config.json, generation_config.json and model.safetensors into the folder.

    The BART family's norms have an epsilon of 1e-5 and no other: a model trained with 1e-6, openwork's default, gives
    logits that differ from the fifth digit on; a larger epsilon is refused. ConfigError for a model that no
    architecture of Hugging Face is.
    """
    hf.check_supported(unsupported_seq2seq(settings))
    assert isinstance(settings, TransformerSettings)
    kind = architecture_of(settings)
    assert kind is not None
    tensors = _weights(settings, dict(model.named_parameters(remove_duplicate=False)))
    sizes = model.get_parameter("source_embedding.table.weight").shape[0], model.output_weight.shape[0]
    hf.write_files(folder, _config(settings, kind, sizes), _generation(decoding), tensors)


def _weights(settings: TransformerSettings, own: dict[str, Tensor]) -> dict[str, Tensor]:
    order = stream_order(settings)
    found = hf.external_weights(places(settings), own, order=order)
    found[BIAS] = found[BIAS][None]
    if settings.positions == "sinusoidal":  # constants, which Hugging Face's files keep among the weights
        for stack in ("encoder", "decoder"):
            name = f"model.{stack}.embed_positions.weight"
            found[name] = sinusoids(hf.LONGEST, settings.width).index_select(1, order).contiguous()
    return found


def _config(s: TransformerSettings, kind: Architecture, sizes: tuple[int, int]) -> dict[str, Any]:
    return {
        "architectures": [kind.class_name],
        "model_type": kind.model_type,
        "vocab_size": sizes[0],
        "decoder_vocab_size": sizes[1],
        **HuggingFaceConfig.keys_of(s),
        "decoder_attention_heads": s.heads,
        "decoder_ffn_dim": s.feedforward_width,
        "activation_function": hf_activation(s.feedforward, HF_ACTIVATIONS),
        "max_position_embeddings": s.table_size if s.positions == "learned" else hf.LONGEST,
        "share_encoder_decoder_embeddings": s.tying == "three-way",
        "tie_word_embeddings": s.tying != "none",
        **_symbols(),
        "unk_token_id": SYMBOL_IDS.unknown,
    }


def _symbols() -> dict[str, int | None]:
    """Null where Hugging Face's default is another symbol."""
    return {
        "pad_token_id": SYMBOL_IDS.pad,
        "bos_token_id": None,
        "eos_token_id": SYMBOL_IDS.end,
        "decoder_start_token_id": SYMBOL_IDS.start,
        "forced_eos_token_id": None,
    }


def _generation(decoding: DecodingSettings) -> dict[str, Any]:
    """The search. Its only length rule is the power; its limit counts the start symbol."""
    return {
        **_symbols(),
        "num_beams": decoding.beam,
        "num_return_sequences": decoding.best,
        "length_penalty": decoding.length_penalty,
        "early_stopping": decoding.stopping == "enough",
        "max_length": decoding.maximum_length + 1,
        "suppress_tokens": list(SYMBOL_IDS.forbidden),
        "renormalize_logits": True,  # so that probabilities are those given that no such symbol comes
        "no_repeat_ngram_size": decoding.no_repeat,
    }
