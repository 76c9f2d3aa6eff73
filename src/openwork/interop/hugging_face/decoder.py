"""GPT-2 and LLaMA in Hugging Face's folders, read as our language models.

GPT-2 keeps the projections of queries, keys and values side by side, and all matrices with their input first. LLaMA
turns number i of a head with number i + d/2, ours neighbours: queries and keys are reordered within each head.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field
from torch import Tensor

from openwork.base.errors import BundleError
from openwork.interop.activations import GPT2_ACTIVATIONS, LLAMA_ACTIVATIONS
from openwork.interop.building import model_of
from openwork.interop.hugging_face.config import (
    CONFIG,
    Count,
    Layers,
    Read,
    known_activation,
    read_json_object,
    understood,
)
from openwork.interop.hugging_face.weights import read_weights
from openwork.interop.vocabulary import Vocabulary, not_together, own_vocabulary
from openwork.models.decoder_settings import DecoderSettings
from openwork.models.interfaces import SequenceModel
from openwork.text.foreign.adopted import Adopted
from openwork.text.pieces.learnt import LearntTokenizer

Weights = Mapping[str, Tensor]
Probability = Annotated[float, Field(ge=0, lt=1)]
Number = Annotated[int, Field(ge=0)]


class _Symbols(Read):
    """`bos_token_id` begins a row; of several ends the first is ours."""

    vocab_size: Count
    bos_token_id: Number | None = None
    eos_token_id: Number | list[Number] | None = None
    pad_token_id: Number | None = None

    @property
    def end(self) -> int | None:
        return self.eos_token_id[0] if isinstance(self.eos_token_id, list) else self.eos_token_id


class Gpt2Config(_Symbols):
    """The keys that matter, with their own defaults."""

    model_type: Literal["gpt2"]
    n_embd: Count = 768
    n_layer: Layers = 12
    n_head: Count = 12
    n_inner: Count | None = None
    n_positions: Annotated[int, Field(ge=2, le=1 << 20)] = 1024
    activation_function: str = "gelu_new"
    layer_norm_epsilon: Annotated[float, Field(gt=0, lt=1)] = 1e-5
    resid_pdrop: Probability = 0.1
    attn_pdrop: Probability = 0.1
    tie_word_embeddings: bool = True
    scale_attn_weights: Literal[True] = True
    scale_attn_by_inverse_layer_idx: Literal[False] = False


class LlamaConfig(_Symbols):
    """The keys that matter, with their own defaults; the base of the angles stands in one of two places."""

    model_type: Literal["llama"]
    hidden_size: Count = 4096
    intermediate_size: Count = 11008
    num_hidden_layers: Layers = 32
    num_attention_heads: Count = 32
    num_key_value_heads: Count | None = None
    head_dim: Count | None = None
    hidden_act: str = "silu"
    rms_norm_eps: Annotated[float, Field(gt=0, lt=1)] = 1e-6
    rope_theta: Annotated[float, Field(gt=1)] | None = None
    rope_scaling: dict[str, Any] | None = None
    rope_parameters: dict[str, Any] | None = None
    attention_bias: bool = False
    mlp_bias: Literal[False] = False
    tie_word_embeddings: bool = False
    attention_dropout: Probability = 0.0

    @property
    def rotation(self) -> dict[str, Any]:
        """What is said of the angles, wherever it stands."""
        return {"rope_theta": self.rope_theta, **(self.rope_scaling or {}), **(self.rope_parameters or {})}


Config = Gpt2Config | LlamaConfig


@dataclass(frozen=True)
class ReadDecoder:
    """A language model of others as one of ours, and whose id is whose."""

    settings: DecoderSettings
    vocabulary: Vocabulary
    model: SequenceModel


def read_decoder(folder: Path, tokenizer: Adopted | LearntTokenizer | None = None) -> ReadDecoder:
    """The model that `save_pretrained` wrote into the folder, of a type in `DECODERS`, in evaluation mode.

    The ids are those of `tokenizer`, or without one those of `Vocabulary.of`. BundleError for what is missing, damaged,
    pickled, or a model that we have not.
    """
    kind, config = _config(folder)
    settings = kind.settings(config, folder / CONFIG)
    vocabulary = _vocabulary(config, tokenizer, folder)
    weights = {name.removeprefix("transformer."): tensor for name, tensor in read_weights(folder).items()}
    found = {ours: _taken(weights, theirs, folder).float() for ours, theirs in kind.places(settings)}
    table, output = found.pop("table"), found.pop("output", None)
    for one in (table, *([output] if output is not None else [])):
        if one.ndim != 2 or one.shape[0] != config.vocab_size:
            raise _misfit(folder, "embeddings", one, (config.vocab_size, settings.width))
    found = kind.arranged(found, settings)
    found["embedding.table.weight"] = vocabulary.rows(table)  # one matrix has the name of the output
    found["output"] = found["embedding.table.weight"] if output is None else vocabulary.rows(output)

    def misfit(name: str, tensor: Tensor, shape: tuple[int, ...]) -> BundleError:
        return _misfit(folder, name, tensor, shape)

    model = model_of(settings, (vocabulary.size, vocabulary.size), found, misfit, folder)
    return ReadDecoder(settings, vocabulary, model)


def _config(folder: Path) -> "tuple[_Kind, Any]":
    content = read_json_object(folder / CONFIG)
    kind = DECODERS[content["model_type"]]
    return kind, understood(kind.config, content, folder / CONFIG)


def _vocabulary(config: Config, tokenizer: Adopted | LearntTokenizer | None, folder: Path) -> Vocabulary:
    """One id may begin and end a row, as GPT-2's does; the start is then a second row of the table with the same."""
    if tokenizer is None:
        return Vocabulary.of(
            config.vocab_size, pad=config.pad_token_id, unknown=None, start=config.bos_token_id, end=config.end
        )
    if isinstance(tokenizer, LearntTokenizer):
        return own_vocabulary(folder, tokenizer, config.vocab_size)
    theirs = list(tokenizer.theirs)
    theirs[tokenizer.start_id] = config.bos_token_id if config.bos_token_id is not None else theirs[tokenizer.end_id]
    if max(number or 0 for number in theirs) >= config.vocab_size:
        raise not_together(folder, config.vocab_size, tokenizer.vocabulary_size)
    return Vocabulary(tuple(theirs))


def _taken(weights: Weights, name: str, folder: Path) -> Tensor:
    if name not in weights:
        raise BundleError(
            f"{folder}: a weight is missing",
            why=f"there is no {name}",
            hint="fetch the folder again: config.json and weights must be of one model",
            code="B016",
        )
    return weights[name]


def _misfit(folder: Path, name: str, tensor: Tensor, shape: tuple[int, ...]) -> BundleError:
    return BundleError(
        f"{folder}: these weights belong to a model of other sizes",
        why=f"{name} is {tuple(tensor.shape)} there, and its configuration makes it ({', '.join(map(str, shape))})",
        hint="fetch the folder again: config.json and weights must be of one model",
        code="B017",
    )


def _gpt2_settings(config: Gpt2Config, path: Path) -> DecoderSettings:
    values = {
        "width": config.n_embd, "layers": config.n_layer, "heads": config.n_head,
        "feedforward_width": config.n_inner or 4 * config.n_embd,
        "feedforward": known_activation(config.activation_function, GPT2_ACTIVATIONS, path),
        "norm": "pre", "norm_epsilon": config.layer_norm_epsilon, "positions": "learned",
        "maximum_length": config.n_positions, "embedding_scale": False, "attention_bias": True,
        "dropout": config.resid_pdrop, "attention_dropout": config.attn_pdrop,
        "tying": "three-way" if config.tie_word_embeddings else "embeddings",
    }  # fmt: skip
    return _settings(values, path)


def _gpt2_places(settings: DecoderSettings) -> Iterator[tuple[str, str]]:
    yield "table", "wte.weight"
    if settings.tying != "three-way":
        yield "output", "lm_head.weight"
    yield "positions.table.weight", "wpe.weight"
    yield from _both("stack.final_norm", "ln_f")
    for number in range(settings.layers):
        ours, theirs = f"stack.layers.{number}", f"h.{number}"
        yield from _both(f"{ours}.self_wiring.norm", f"{theirs}.ln_1")
        yield from _both(f"{ours}.self_attention.all", f"{theirs}.attn.c_attn")
        yield from _both(f"{ours}.self_attention.output", f"{theirs}.attn.c_proj")
        yield from _both(f"{ours}.feedforward_wiring.norm", f"{theirs}.ln_2")
        yield from _both(f"{ours}.feedforward.expand", f"{theirs}.mlp.c_fc")
        yield from _both(f"{ours}.feedforward.contract", f"{theirs}.mlp.c_proj")


def _gpt2_arranged(found: dict[str, Tensor], settings: DecoderSettings) -> dict[str, Tensor]:
    """Matrices with their output first, and each projection by itself."""
    arranged = {}
    for name, tensor in found.items():
        is_matrix = tensor.ndim == 2 and name != "positions.table.weight"
        turned = tensor.t() if is_matrix else tensor
        if ".self_attention.all." in name:
            for kind, part in zip(("query", "key", "value"), turned.chunk(3), strict=True):
                arranged[name.replace(".all.", f".{kind}.")] = part.contiguous()
        else:
            arranged[name] = turned.contiguous()
    return arranged


def _llama_settings(config: LlamaConfig, path: Path) -> DecoderSettings:
    rotation = config.rotation
    kind = rotation.get("rope_type", rotation.get("type", "default"))
    if kind != "default":
        raise BundleError(
            f"{path}: rotary positions of the kind {kind!r} cannot be read",
            why="openwork turns by angles that grow evenly with the position",
            hint="import a model without rope_scaling",
            code="B068",
        )
    values = {
        "width": config.hidden_size, "layers": config.num_hidden_layers, "heads": config.num_attention_heads,
        "key_value_heads": config.num_key_value_heads, "head_width": config.head_dim, "value_width": config.head_dim,
        "feedforward_width": config.intermediate_size,
        "feedforward": known_activation(config.hidden_act, LLAMA_ACTIVATIONS, path),
        "norm": "pre", "normalisation": "rms", "norm_epsilon": config.rms_norm_eps, "positions": "rotary",
        "rotary_base": rotation.get("rope_theta"), "embedding_scale": False, "attention_bias": config.attention_bias,
        "dropout": 0.0, "attention_dropout": config.attention_dropout,
        "tying": "three-way" if config.tie_word_embeddings else "embeddings",
    }  # fmt: skip
    return _settings(values, path)


def _llama_places(settings: DecoderSettings) -> Iterator[tuple[str, str]]:
    yield "table", "model.embed_tokens.weight"
    if settings.tying != "three-way":
        yield "output", "lm_head.weight"
    yield "stack.final_norm.weight", "model.norm.weight"
    kinds = ("weight", "bias") if settings.attention_bias else ("weight",)
    for number in range(settings.layers):
        ours, theirs = f"stack.layers.{number}", f"model.layers.{number}"
        yield f"{ours}.self_wiring.norm.weight", f"{theirs}.input_layernorm.weight"
        yield f"{ours}.feedforward_wiring.norm.weight", f"{theirs}.post_attention_layernorm.weight"
        for mine, other in (("query", "q"), ("key", "k"), ("value", "v"), ("output", "o")):
            for kind in kinds:
                yield f"{ours}.self_attention.{mine}.{kind}", f"{theirs}.self_attn.{other}_proj.{kind}"
        for mine, other in (("gate", "gate"), ("expand", "up"), ("contract", "down")):
            yield f"{ours}.feedforward.{mine}.weight", f"{theirs}.mlp.{other}_proj.weight"


def _llama_arranged(found: dict[str, Tensor], settings: DecoderSettings) -> dict[str, Tensor]:
    """What turns together stands together."""
    turned = (".query.weight", ".query.bias", ".key.weight", ".key.bias")
    return {name: _neighbours(one, settings.key_width) if name.endswith(turned) else one for name, one in found.items()}


def _neighbours(tensor: Tensor, head_width: int) -> Tensor:
    """Of each head the rows 0, d/2, 1, d/2 + 1, ...; what has another size is left for the comparison of shapes."""
    if tensor.shape[0] % head_width:
        return tensor
    return tensor.unflatten(0, (-1, 2, head_width // 2)).transpose(1, 2).flatten(0, 2)


def _both(ours: str, theirs: str) -> Iterator[tuple[str, str]]:
    yield f"{ours}.weight", f"{theirs}.weight"
    yield f"{ours}.bias", f"{theirs}.bias"


def _settings(values: dict[str, Any], path: Path) -> DecoderSettings:
    """BundleError for sizes that no model has, such as a width that its heads do not divide."""
    return understood(DecoderSettings, values, path)


@dataclass(frozen=True)
class _Kind:
    """How one type is read: its configuration, our settings, the places of its weights, and what is done with them."""

    config: type[Read]
    settings: Callable[[Any, Path], DecoderSettings]
    places: Callable[[DecoderSettings], Iterator[tuple[str, str]]]
    arranged: Callable[[dict[str, Tensor], DecoderSettings], dict[str, Tensor]]


DECODERS: dict[str, _Kind] = {
    "gpt2": _Kind(Gpt2Config, _gpt2_settings, _gpt2_places, _gpt2_arranged),
    "llama": _Kind(LlamaConfig, _llama_settings, _llama_places, _llama_arranged),
}
