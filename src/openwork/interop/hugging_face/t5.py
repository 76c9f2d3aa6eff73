"""Hugging Face's T5, T5 1.1 and mT5 (Raffel et al. 2020), read as encoder-decoders.

    T5ForConditionalGeneration.from_pretrained(FOLDER).generate(**AutoTokenizer.from_pretrained(FOLDER)(text))

T5 does not divide scores by sqrt(d_k), and has no biases: a network without a gate gets zeros for its own. All layers
of a stack share one table of biases by distance; here each layer has its own, equal ones at first. The first T5 divides
the decoder's vectors by sqrt(d_model) before the output matrix, which is that of the embeddings: the same as scaled
embeddings whose table is so much smaller.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import Field

from openwork.bundles.bundle import Bundle
from openwork.bundles.settings import BundleSettings
from openwork.interop.exports import T5_ACTIVATIONS
from openwork.interop.hugging_face import folder as hf
from openwork.interop.hugging_face.tokenizers import read_single
from openwork.interop.vocabulary import Vocabulary, sizes_differ
from openwork.models.settings import TransformerSettings
from openwork.text.external.adapted import AdaptedTokenizer
from openwork.text.pair import TokenizerPair
from openwork.text.tokenizer import Tokenizer

SOURCE, TARGET, OUTPUT = "source_embedding.table.weight", "target_embedding.table.weight", "output"
SHARED, HEAD = "shared.weight", "lm_head.weight"
GATED = {name for activation, name in T5_ACTIVATIONS.items() if activation.startswith("gated")}
# The sub-layers of a layer in their order: openwork's name, Hugging Face's, and openwork's name of their connection.
SUBLAYERS = {
    "encoder": (("self_attention", "SelfAttention", "attention_wiring"), ("feedforward", "", "feedforward_wiring")),
    "decoder": (
        ("self_attention", "SelfAttention", "self_wiring"),
        ("cross_attention", "EncDecAttention", "cross_wiring"),
        ("feedforward", "", "feedforward_wiring"),
    ),
}
PROJECTIONS = {"query": "q", "key": "k", "value": "v", "output": "o"}
NETWORK = {"expand": "wi", "contract": "wo"}
GATED_NETWORK = {"gate": "wi_0", "expand": "wi_1", "contract": "wo"}


class T5Config(hf.ConfigKeys):
    """The keys of T5 that matter, with Hugging Face's defaults."""

    model_type: Literal["t5", "mt5"]
    vocab_size: hf.Count
    width: hf.Count = Field(512, alias="d_model")
    head_width: hf.Count = Field(64, alias="d_kv")
    value_width: hf.Count = Field(64, alias="d_kv")
    feedforward_width: hf.Count = Field(2048, alias="d_ff")
    encoder_layers: hf.Layers = Field(6, alias="num_layers")
    num_decoder_layers: hf.Layers | None = None
    heads: hf.Count = Field(8, alias="num_heads")
    relative_attention_num_buckets: Literal[32] = 32  # of `BucketedBiases`, as all published models have them
    relative_attention_max_distance: Literal[128] = 128
    dropout: hf.Probability = Field(0.1, alias="dropout_rate")
    norm_epsilon: hf.Epsilon = Field(1e-6, alias="layer_norm_epsilon")
    activation: str = Field("relu", alias="feed_forward_proj")
    tie_word_embeddings: bool = True
    scale_decoder_outputs: bool | None = None  # in newer files; before, T5 scaled where it tied
    pad_token_id: hf.Id = 0
    eos_token_id: hf.Id = 1
    decoder_start_token_id: hf.Id | None = None

    @property
    def start(self) -> int:
        return self.pad_token_id if self.decoder_start_token_id is None else self.decoder_start_token_id

    @property
    def is_scaled(self) -> bool:
        """Whether the decoder's vectors are divided by sqrt(d_model)."""
        known = self.scale_decoder_outputs
        return self.model_type == "t5" and (self.tie_word_embeddings if known is None else known)


def read_t5(folder: Path, tokenizer: AdaptedTokenizer | None = None) -> hf.ImportedModel:
    """The model that `save_pretrained` wrote into the folder, in evaluation mode.

    The ids are those of `tokenizer`, or without one those of `Vocabulary.of`. BundleError for what is missing, damaged,
    pickled, or a model that openwork has not.
    """
    path = folder / hf.CONFIG
    config = hf.validated(T5Config, hf.read_json_object(path), path)
    weights = hf.read_weights(folder)
    is_tied = HEAD not in weights or torch.equal(weights[HEAD], weights[SHARED])
    settings = _settings(config, path, is_tied=is_tied)
    vocabulary = _vocabulary(config, tokenizer, folder)
    pieces = {"source": vocabulary, "target": vocabulary}
    found = hf.own_weights(_places(settings), weights, pieces, folder, rows=config.vocab_size)
    for name in (SOURCE, TARGET, OUTPUT) if is_tied else (OUTPUT,):
        found[name] = found[name] / settings.width**0.5 if config.is_scaled else found[name]
    if settings.feedforward not in GATED:
        found |= {name.replace(".weight", ".bias"): tensor.new_zeros(tensor.shape[0])
                  for name, tensor in found.items() if ".feedforward." in name}  # fmt: skip
    model = hf.build_imported(folder, settings, vocabulary, vocabulary, found)
    decoding = hf.decoding_settings(hf.read_generation(folder))
    return hf.ImportedModel(settings, decoding, vocabulary, vocabulary, model)


def bundle_from_t5(folder: Path, content: dict[str, Any]) -> Bundle:
    """The model and its tokenizer as a bundle; the errors of `read_t5`. `content`: of its configuration."""
    found = read_single(folder)
    tokenizer = AdaptedTokenizer(found) if not isinstance(found, Tokenizer) else found
    assert isinstance(tokenizer, AdaptedTokenizer)
    read = read_t5(folder, tokenizer)
    settings = BundleSettings(model=read.settings, decoding=read.decoding)
    return Bundle(settings, TokenizerPair(tokenizer, tokenizer), read.model, card=hf.card_of(folder))


def _settings(config: T5Config, path: Path, *, is_tied: bool) -> TransformerSettings:
    own = config.settings_for(TransformerSettings) | {
        "decoder_layers": config.num_decoder_layers or config.encoder_layers,
        "feedforward": hf.known_activation(config.activation, T5_ACTIVATIONS, path),
        "attention": "unscaled",
        "norm": "pre",
        "normalisation": "rms",
        "positions": "bucketed",
        "tying": "three-way" if is_tied else "none",
        "embedding_scale": is_tied and config.is_scaled,
    }
    return hf.validated(TransformerSettings, own, path)


def _vocabulary(config: T5Config, tokenizer: AdaptedTokenizer | None, folder: Path) -> Vocabulary:
    """Targets start with the padding symbol: its row of the table is then repeated for the start."""
    if tokenizer is None:
        return Vocabulary.of(
            config.vocab_size, pad=config.pad_token_id, unknown=None, start=config.start, end=config.eos_token_id
        )
    external = list(tokenizer.theirs)
    external[tokenizer.start_id] = config.start
    if max(number or 0 for number in external) >= config.vocab_size:
        raise sizes_differ(folder, config.vocab_size, tokenizer.vocabulary_size)
    return Vocabulary(tuple(external))


def _places(settings: TransformerSettings) -> Iterator[hf.WeightPlace]:
    yield hf.WeightPlace(SOURCE, (SHARED, "encoder.embed_tokens.weight"), pieces="source")
    yield hf.WeightPlace(TARGET, (SHARED, "decoder.embed_tokens.weight"), pieces="target")
    yield hf.WeightPlace(OUTPUT, (HEAD, SHARED), pieces="target")
    network = GATED_NETWORK if settings.feedforward in GATED else NETWORK
    for stack, layers in (("encoder", settings.encoder_layers), ("decoder", settings.decoder_layers)):
        table = f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        for number in range(layers):
            own = f"{stack}.layers.{number}"
            yield hf.WeightPlace(f"{own}.self_attention.distances.table.weight", (table,))
            for place, (name, hf_name, wiring) in enumerate(SUBLAYERS[stack]):
                theirs = f"{stack}.block.{number}.layer.{place}"
                yield hf.WeightPlace(f"{own}.{wiring}.norm.weight", (f"{theirs}.layer_norm.weight",))
                for part, hf_part in (PROJECTIONS if hf_name else network).items():
                    inner = f"{theirs}.{hf_name or 'DenseReluDense'}.{hf_part}.weight"
                    yield hf.WeightPlace(f"{own}.{name}.{part}.weight", (inner,))
        yield hf.WeightPlace(f"{stack}.final_norm.weight", (f"{stack}.final_layer_norm.weight",))
