"""Hugging Face's GPT-2 and LLaMA, read as language models and written.

    AutoModelForCausalLM.from_pretrained(FOLDER).generate(**AutoTokenizer.from_pretrained(FOLDER)(text))

GPT-2 and LLaMA do not scale embeddings: scaled ones are written so, and the output matrix separately. GPT-2 keeps the
projections of queries, keys and values side by side, and all matrices with their input first. LLaMA rotates number i of
a head with number i + d/2, openwork neighbours.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from openwork.base.errors import BundleError
from openwork.bundles.bundle import Bundle
from openwork.decoding.settings import DecodingSettings
from openwork.interop.exports import GPT2_ACTIVATIONS, LLAMA_ACTIVATIONS, hf_activation, unsupported_decoder
from openwork.interop.hugging_face import folder as hf
from openwork.interop.hugging_face.tokenizers import never_written, symbol_ids, write_framed
from openwork.interop.vocabulary import Vocabulary, own_vocabulary, sizes_differ
from openwork.models.settings import DecoderSettings
from openwork.nn.positions import LONGEST_WAVE
from openwork.text.external.adapted import AdaptedTokenizer
from openwork.text.pieces.learnt import LearntTokenizer


class _Symbols(hf.ConfigKeys):
    """Symbols: `bos_token_id` starts a row; of several ends the first counts."""

    vocab_size: hf.Count
    bos_token_id: hf.Id | None = None
    eos_token_id: hf.Id | list[hf.Id] | None = None
    pad_token_id: hf.Id | None = None

    @property
    def end(self) -> int | None:
        return self.eos_token_id[0] if isinstance(self.eos_token_id, list) else self.eos_token_id


class Gpt2Config(_Symbols):
    """The keys of GPT-2 that matter, with Hugging Face's defaults."""

    model_type: Literal["gpt2"]
    width: hf.Count = Field(768, alias="n_embd")
    layers: hf.Layers = Field(12, alias="n_layer")
    heads: hf.Count = Field(12, alias="n_head")
    feedforward_width: hf.Count | None = Field(None, alias="n_inner")
    maximum_length: hf.Positions = Field(1024, alias="n_positions")
    activation: str = Field("gelu_new", alias="activation_function")
    norm_epsilon: hf.Epsilon = Field(1e-5, alias="layer_norm_epsilon")
    dropout: hf.Probability = Field(0.1, alias="resid_pdrop")
    attention_dropout: hf.Probability = Field(0.1, alias="attn_pdrop")
    tie_word_embeddings: bool = True
    scale_attn_weights: Literal[True] = True
    scale_attn_by_inverse_layer_idx: Literal[False] = False


class LlamaConfig(_Symbols):
    """The keys of LLaMA that matter, with Hugging Face's defaults; the base of the angles has two possible places."""

    model_type: Literal["llama"]
    width: hf.Count = Field(4096, alias="hidden_size")
    feedforward_width: hf.Count = Field(11008, alias="intermediate_size")
    layers: hf.Layers = Field(32, alias="num_hidden_layers")
    heads: hf.Count = Field(32, alias="num_attention_heads")
    key_value_heads: hf.Count | None = Field(None, alias="num_key_value_heads")
    head_width: hf.Count | None = Field(None, alias="head_dim")
    activation: str = Field("silu", alias="hidden_act")
    norm_epsilon: hf.Epsilon = Field(1e-6, alias="rms_norm_eps")
    rope_theta: Annotated[float, Field(gt=1)] | None = None
    rope_scaling: dict[str, Any] | None = None
    rope_parameters: dict[str, Any] | None = None
    attention_bias: bool = False
    mlp_bias: Literal[False] = False
    tie_word_embeddings: bool = False
    attention_dropout: hf.Probability = 0.0

    @property
    def rotation(self) -> dict[str, Any]:
        """What the configuration says of the angles, under either key."""
        return {"rope_theta": self.rope_theta, **(self.rope_scaling or {}), **(self.rope_parameters or {})}


EMBEDDINGS = "embedding.table.weight"
GPT2_LAYER = {
    "self_wiring.norm": "ln_1",
    "self_attention.{}": "attn.c_attn",
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


def _gpt2_places(settings: DecoderSettings) -> Iterator[hf.WeightPlace]:
    yield hf.WeightPlace(EMBEDDINGS, ("transformer.wte.weight", "wte.weight"), pieces="source")
    if settings.tying != "three-way":
        yield hf.WeightPlace("output", ("lm_head.weight",), pieces="source")
    places = [hf.WeightPlace("positions.table.weight", ("wpe.weight",)), *hf.with_bias("stack.final_norm", "ln_f")]
    for number in range(settings.layers):
        for own, hf_name in GPT2_LAYER.items():
            parts = ("query", "key", "value") if "{}" in own else ()
            for place in hf.with_bias(f"stack.layers.{number}.{own}", f"h.{number}.{hf_name}"):
                places.append(place._replace(parts=parts, transposed=True))
    for place in places:  # some files have the names without the prefix
        (hf_name,) = place.hf_names
        yield place._replace(hf_names=(f"transformer.{hf_name}", hf_name))


def _llama_places(settings: DecoderSettings) -> Iterator[hf.WeightPlace]:
    yield hf.WeightPlace(EMBEDDINGS, ("model.embed_tokens.weight",), pieces="source")
    if settings.tying != "three-way":
        yield hf.WeightPlace("output", ("lm_head.weight",), pieces="source")
    yield hf.WeightPlace("stack.final_norm.weight", ("model.norm.weight",))
    for number in range(settings.layers):
        for own, hf_name in LLAMA_LAYER.items():
            halves = settings.key_width if own.endswith((".query", ".key")) else 0
            matrix, bias = hf.with_bias(f"stack.layers.{number}.{own}", f"model.layers.{number}.{hf_name}")
            yield matrix._replace(halves=halves)
            if settings.attention_bias and own.startswith("self_attention"):
                yield bias._replace(halves=halves)


class DecoderFamily(NamedTuple):
    """One architecture: its configuration, its class in transformers, its names of activations, and its weights."""

    config: "type[Config]"
    class_name: str
    activations: dict[str, str]
    places: Callable[[DecoderSettings], Iterator[hf.WeightPlace]]


Config = Gpt2Config | LlamaConfig
FAMILIES = {
    "gpt2": DecoderFamily(Gpt2Config, "GPT2LMHeadModel", GPT2_ACTIVATIONS, _gpt2_places),
    "llama": DecoderFamily(LlamaConfig, "LlamaForCausalLM", LLAMA_ACTIVATIONS, _llama_places),
}


def read_decoder(folder: Path, tokenizer: AdaptedTokenizer | LearntTokenizer | None = None) -> hf.ImportedModel:
    """The model that `save_pretrained` wrote into the folder, of a type in `FAMILIES`, in evaluation mode.

    The ids are those of `tokenizer`, or without one those of `Vocabulary.of`. BundleError for what is missing, damaged,
    pickled, or a model that openwork has not.
    """
    content = hf.read_json_object(folder / hf.CONFIG)
    family = FAMILIES[content["model_type"]]
    config = hf.validated(family.config, content, folder / hf.CONFIG)
    settings = _settings(config, folder / hf.CONFIG)
    vocabulary = _vocabulary(config, tokenizer, folder)
    places, pieces = family.places(settings), {"source": vocabulary}
    found = hf.own_weights(places, hf.read_weights(folder), pieces, folder, rows=config.vocab_size)
    found.setdefault("output", found[EMBEDDINGS])  # one matrix has both names
    model = hf.build_imported(folder, settings, vocabulary, vocabulary, found)
    return hf.ImportedModel(settings, DecodingSettings(beam=1), vocabulary, vocabulary, model)


def _vocabulary(config: Config, tokenizer: AdaptedTokenizer | LearntTokenizer | None, folder: Path) -> Vocabulary:
    """GPT-2 starts and ends a row with one id: its row of the table is then repeated for the start."""
    if tokenizer is None:
        return Vocabulary.of(
            config.vocab_size, pad=config.pad_token_id, unknown=None, start=config.bos_token_id, end=config.end
        )
    if isinstance(tokenizer, LearntTokenizer):
        return own_vocabulary(folder, tokenizer, config.vocab_size)
    external = list(tokenizer.theirs)
    external[tokenizer.start_id] = (
        config.bos_token_id if config.bos_token_id is not None else external[tokenizer.end_id]
    )
    if max(number or 0 for number in external) >= config.vocab_size:
        raise sizes_differ(folder, config.vocab_size, tokenizer.vocabulary_size)
    return Vocabulary(tuple(external))


def _settings(config: Config, path: Path) -> DecoderSettings:
    """The settings of the model that computes the same; BundleError for a model or sizes that openwork has not."""
    own = config.settings_for(DecoderSettings) | {
        "feedforward": hf.known_activation(config.activation, FAMILIES[config.model_type].activations, path),
        "norm": "pre",
        "embedding_scale": False,
        "tying": "three-way" if config.tie_word_embeddings else "embeddings",
    }
    if isinstance(config, Gpt2Config):
        width = config.feedforward_width or 4 * config.width
        own |= {"feedforward_width": width, "positions": "learned", "attention_bias": True}
    else:
        own |= _of_llama(config, path)
    return hf.validated(DecoderSettings, own, path)


def _of_llama(config: LlamaConfig, path: Path) -> dict[str, Any]:
    rotation = config.rotation
    kind = rotation.get("rope_type", rotation.get("type", "default"))
    if kind != "default":
        raise BundleError(
            f"{path}: rotary positions of the kind {kind!r} cannot be read",
            why="openwork rotates by angles that grow evenly with the position",
            hint="import a model without rope_scaling",
            code="B068",
        )
    return {
        "value_width": config.head_width,
        "normalisation": "rms",
        "positions": "rotary",
        "rotary_base": rotation.get("rope_theta"),
        "dropout": 0.0,
    }


def write_decoder(folder: Path, bundle: Bundle) -> None:
    """The bundle's files in the folder; ConfigError for a model or a tokenizer that Hugging Face has not."""
    settings = bundle.settings.model
    assert isinstance(settings, DecoderSettings)
    hf.check_supported(unsupported_decoder(settings))
    vocabulary = write_framed(folder, bundle.tokenizers.source, "prompt")
    kind = "gpt2" if settings.positions == "learned" else "llama"
    family, own = FAMILIES[kind], dict(bundle.model.named_parameters(remove_duplicate=False))
    own.setdefault("output", own[EMBEDDINGS])
    if settings.embedding_scale:  # then embeddings and output matrix differ
        own[EMBEDDINGS] = own[EMBEDDINGS].detach() * settings.width**0.5
        settings = settings.model_copy(update={"tying": "embeddings"})
    weights = hf.external_weights(family.places(settings), own, pieces={"source": vocabulary})
    config = {
        "architectures": [family.class_name],
        "model_type": kind,
        **family.config.keys_of(settings),
        str(family.config.model_fields["activation"].alias): hf_activation(settings.feedforward, family.activations),
        **(_gpt2_config if kind == "gpt2" else _llama_config)(settings),
        "vocab_size": vocabulary.external_size,
        "tie_word_embeddings": settings.tying == "three-way",
        **symbol_ids(vocabulary),
    }
    hf.write_files(folder, config, _generation(bundle.settings.decoding, vocabulary), weights)


def _gpt2_config(s: DecoderSettings) -> dict[str, Any]:
    return {"n_positions": s.table_size, "embd_pdrop": s.dropout}


def _llama_config(s: DecoderSettings) -> dict[str, Any]:
    base = s.rotary_base or LONGEST_WAVE
    return {
        "num_key_value_heads": s.key_value_count,
        "head_dim": s.key_width,
        "rope_theta": base,  # the old place of the base, and the new one
        "rope_parameters": {"rope_type": "default", "rope_theta": base},
        "max_position_embeddings": hf.LONGEST,
    }


def _generation(decoding: DecodingSettings, vocabulary: Vocabulary) -> dict[str, Any]:
    """The search, or the sampling, of the bundle."""
    drawn = {"do_sample": True, "temperature": decoding.temperature, "top_k": decoding.top_k, "top_p": decoding.top_p}
    found = {"num_beams": decoding.beam, "length_penalty": decoding.length_penalty}
    return {
        **symbol_ids(vocabulary),
        **(drawn if decoding.samples else found),
        "max_new_tokens": decoding.maximum_length,
        "suppress_tokens": never_written(vocabulary),
        "renormalize_logits": True,
        "no_repeat_ngram_size": decoding.no_repeat,
    }
