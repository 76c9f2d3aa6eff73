"""Which models and tokenizers other toolkits can run. No torch here.

Checked before a training (`runs/preflight`), and again when a bundle is exported.

    encoder-decoder    Hugging Face: the BART family; CTranslate2; Marian; ONNX
    encoder            Hugging Face: BERT
    vit                Hugging Face: ViT
    whisper            Hugging Face: Whisper
    decoder            Hugging Face: GPT-2 with learned positions, LLaMA with rotary ones
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from openwork.base.messages import msg
from openwork.base.sources import SourceEncoder
from openwork.interop.ctranslate2.layout import FEEDFORWARDS
from openwork.models.families import ModelSettings
from openwork.models.layer_settings import LayerSettings
from openwork.models.settings import (
    DecoderSettings,
    EncoderSettings,
    SpeechSettings,
    TransformerSettings,
    VisionSettings,
)
from openwork.signals.mel import SoundFrames
from openwork.signals.settings import SoundSettings
from openwork.text.external.adapted import AdaptedTokenizer
from openwork.text.external.library import HuggingFaceTokenizer
from openwork.text.forms import unwrapped
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.tokenizer import Tokenizer

MARIAN_EPSILON = 1e-6  # of its norms
HF_EPSILON = 1e-5  # of the norms of the BART family; no configuration names it
WHISPER_RATE = 16_000  # samples a second; no configuration of its bands names another
BERT_TASKS = ("classify", "fill", "embed")

# Hugging Face's name of an activation -> openwork's feed-forward network; the usual name first.
HF_ACTIVATIONS: dict[str, Literal["relu", "gelu", "gelu-tanh", "swish"]] = {  # of BERT and the BART family
    "relu": "relu", "gelu": "gelu", "gelu_new": "gelu-tanh", "gelu_pytorch_tanh": "gelu-tanh",
    "swish": "swish", "silu": "swish",
}  # fmt: skip
GPT2_ACTIVATIONS = {"gelu_new": "gelu-tanh", "gelu_pytorch_tanh": "gelu-tanh", "gelu": "gelu", "relu": "relu"}
LLAMA_ACTIVATIONS = {"silu": "swiglu", "gelu": "geglu", "relu": "reglu"}  # its networks are gated
T5_ACTIVATIONS = {
    "relu": "relu", "gelu": "gelu", "silu": "swish",
    "gated-relu": "reglu", "gated-gelu": "geglu-tanh", "gated-silu": "swiglu",
}  # fmt: skip


def hf_activation(feedforward: str, table: Mapping[str, str]) -> str:
    """Hugging Face's usual name of the activation of a feed-forward network."""
    return next(hf_name for hf_name, known in table.items() if known == feedforward)


class Unsupported(NamedTuple):
    """Why another toolkit cannot run a model, and what to do instead."""

    why: str
    hint: str


class Architecture(NamedTuple):
    """One of Hugging Face's models of the BART family, and the settings of a model that it can run."""

    model_type: str
    class_name: str
    norm: Literal["post", "pre"]
    positions: Literal["sinusoidal", "learned"]
    embedding_norm: bool
    separate: bool = False  # whether source and target may have separate embeddings


ARCHITECTURES: dict[str, Architecture] = {
    one.model_type: one
    for one in (
        Architecture("marian", "MarianMTModel", "post", "sinusoidal", False, separate=True),
        Architecture("pegasus", "PegasusForConditionalGeneration", "pre", "sinusoidal", False),
        Architecture("bart", "BartForConditionalGeneration", "post", "learned", True),
        Architecture("mbart", "MBartForConditionalGeneration", "pre", "learned", True),
    )
}


def architecture_of(settings: TransformerSettings) -> Architecture | None:
    """The architecture with these norms and positions; `unsupported_seq2seq` checks the other settings."""
    wanted = (settings.norm, settings.positions, settings.embedding_norm)
    found = (one for one in ARCHITECTURES.values() if (one.norm, one.positions, one.embedding_norm) == wanted)
    return next(found, None)


def unsupported_seq2seq(settings: ModelSettings) -> Unsupported | None:
    """Why no model of the BART family is one with these settings; None if there is one."""
    if not isinstance(settings, TransformerSettings):
        return Unsupported(
            f'a model of the kind "{settings.kind}" has no counterpart among the architectures of Hugging Face',
            "use the bundle with openwork translate, or train a Transformer to export",
        )
    s, kind = settings, architecture_of(settings)
    allowed = {"attention": {"scaled"}, "normalisation": {"layer"}, "feedforward": set(HF_ACTIVATIONS.values())}
    if s.norm_epsilon > HF_EPSILON:
        allowed["norm_epsilon"] = set()
    key = _first_other(s, allowed, _standard_heads(s))
    if key is not None:
        return Unsupported(
            f"none of them has this model.{key}", "try openwork export --to ct2, or train a model without that setting"
        )
    if kind is None:
        return Unsupported(
            f'none has model.norm "{s.norm}" with model.positions "{s.positions}" and this model.embedding_norm',
            "sinusoidal positions have one, and learned ones with model.embedding_norm = true",
        )
    if s.tying != "three-way" and not kind.separate:
        return Unsupported(
            f'{kind.model_type} has one table of embeddings for all, and model.tying is "{s.tying}"',
            'a post-norm model with sinusoidal positions has one, and any with model.tying = "three-way"',
        )
    return None


def unsupported_encoder(s: EncoderSettings) -> Unsupported | None:
    """Why Hugging Face's BERT is no encoder with these settings; None if it is."""
    if s.task not in BERT_TASKS:
        return Unsupported(
            f'a BERT for the task "{s.task}" reads words there, and openwork the first piece of each',
            "use the bundle with openwork tag or openwork answer",
        )
    allowed = {
        "norm": {"post"},
        "positions": {"learned"},
        "embedding_norm": {True},
        "feedforward": set(HF_ACTIVATIONS.values()),
        "embedding_scale": {False, s.tying == "none"},
        "normalisation": {"layer"},
    }
    return _other("BERT", "bert-small", s, allowed, _standard_heads(s))


def unsupported_vit(s: VisionSettings) -> Unsupported | None:
    """Why Hugging Face's ViT is no model with these settings; None if it is."""
    allowed = {
        "norm": {"pre"},
        "pooling": {"class"},
        "positions": {"learned"},
        "embedding_norm": {False},
        "feedforward": set(HF_ACTIVATIONS.values()),
        "normalisation": {"layer"},
    }
    return _other("ViT", "vit-small", s, allowed, _standard_heads(s))


def unsupported_whisper(s: SpeechSettings, sound: SoundSettings) -> Unsupported | None:
    """Why Hugging Face's Whisper is no model with these settings; None if it is."""
    if sound.words is not None:
        return Unsupported("its sounds come without questions", "train without sound.words to export")
    if sound.rate != WHISPER_RATE or not sound.padded or sound.centred:
        return Unsupported(
            f"its sounds have {WHISPER_RATE:,} samples a second, all the same length, and bands that are not centred",
            f"train with sound.rate = {WHISPER_RATE}, sound.padded = true and sound.centred = false to export",
        )
    allowed = {
        "norm": {"pre"},
        "positions": {"learned"},
        "embedding_norm": {False},
        "embedding_scale": {False},
        "output_bias": {False},
        "feedforward": set(HF_ACTIVATIONS.values()),
        "normalisation": {"layer"},
        "norm_epsilon": {min(s.norm_epsilon, HF_EPSILON)},
    }
    return _other("Whisper", "whisper-small", s, allowed, _standard_heads(s))


def unsupported_decoder(s: DecoderSettings) -> Unsupported | None:
    """Why neither GPT-2 nor LLaMA is a language model with these settings; None if one of them is."""
    common = {"norm": {"pre"}, "embedding_norm": {False}, "output_bias": {False}, "separate_prompt": {False}}
    if s.positions == "learned":
        allowed = common | {"normalisation": {"layer"}, "feedforward": set(GPT2_ACTIVATIONS.values())}
        return _other("GPT-2", "gpt-small", s, allowed, _standard_heads(s))
    llama = {"positions": {"rotary"}, "normalisation": {"rms"}, "feedforward": set(LLAMA_ACTIVATIONS.values())}
    heads = s.value_head_width == s.key_width, "value_width"
    return _other("LLaMA", "llama-small", s, llama | common, heads)


def _standard_heads(s: LayerSettings) -> tuple[bool, str]:
    standard = s.value_head_width == s.key_width == s.width / s.heads and s.key_value_count == s.heads
    return standard, "head_width, value_width, key_value_heads"


def _other(
    toolkit_model: str, preset: str, s: LayerSettings, allowed: Mapping[str, set[Any]], heads: tuple[bool, str]
) -> Unsupported | None:
    key = _first_other(s, {**allowed, "attention": {"scaled"}}, heads)
    if key is None:
        return None
    return Unsupported(f"{toolkit_model} has another model.{key}", f'train a model of the preset "{preset}" to export')


def _first_other(s: LayerSettings, allowed: Mapping[str, set[Any]], heads: tuple[bool, str]) -> str | None:
    """The first key whose value the toolkit has not; `heads`: whether it has those, and their keys."""
    facts = [(getattr(s, key) in values, key) for key, values in allowed.items()]
    facts += [
        (s.attention_pattern == "full", "attention_pattern"),
        (s.feedforward_rank is None, "feedforward_rank"),
        (not s.layer_sharing, "layer_sharing"),
        heads,
        (s.stream_start == s.width, "embedding_width"),
    ]
    return next((key for fits, key in facts if not fits), None)


def hugging_face_keeps(tokenizer: SourceEncoder) -> bool:
    """Whether Hugging Face's library can run the tokenizer with openwork's ids: an external one has its own ids."""
    return isinstance(tokenizer, LearntTokenizer)


def hugging_face_runs(tokenizer: SourceEncoder) -> bool:
    """Whether Hugging Face's library can run the tokenizer: one that openwork learnt, or one of its own."""
    inner = unwrapped(tokenizer) if isinstance(tokenizer, Tokenizer) else tokenizer
    return hugging_face_keeps(inner) or (
        isinstance(inner, AdaptedTokenizer) and isinstance(inner.external, HuggingFaceTokenizer)
    )


def ctranslate2_reason(settings: object) -> str:
    """Why CTranslate2 has no model of these settings; empty where it has one."""
    if not isinstance(settings, TransformerSettings):
        return msg("it knows Transformers of encoder and decoder alone")
    allowed: dict[str, set[Any]] = {
        "attention": {"scaled"},
        "norm": {"pre", "post"},
        "normalisation": {"layer", "rms"},
        "feedforward": set(FEEDFORWARDS),
        "positions": {"none", "sinusoidal", "split-sinusoidal", "learned", "rotary", "relative"},
        "rotary_base": {None},  # their usual base alone is written
    }
    key = _first_other(settings, allowed, (settings.key_width == settings.value_head_width, "value_width"))
    return msg(f"it has no models with model.{key} = {getattr(settings, key)}") if key else ""


def marian_reason(settings: ModelSettings) -> str:
    """Why Marian has no model of these settings; empty where it has one."""
    if not isinstance(settings, TransformerSettings):
        return msg("it knows Transformers of encoder and decoder alone")
    if settings.norm == "pre":
        return msg("its search leaves the norm out of the keys and values of pre-norm models")
    allowed: dict[str, set[Any]] = {
        "positions": {"split-sinusoidal"},
        "start_vector": {"zeros"},
        "attention": {"scaled"},
        "norm": {"post"},
        "normalisation": {"layer"},
        "norm_epsilon": {MARIAN_EPSILON},
        "feedforward": {"relu", "swish"},
        "embedding_scale": {True},
    }
    key = _first_other(settings, allowed, _standard_heads(settings))
    return msg(f"it has no models with model.{key} = {getattr(settings, key, None)}") if key else ""


def onnx_reason(settings: ModelSettings, tokenizers: tuple[SourceEncoder, ...]) -> str:
    """Why no graph of ONNX is made of a model of these settings that reads such sources; empty where one is."""
    if not isinstance(settings, TransformerSettings) or any(one.numbers is not None for one in tokenizers):
        return msg("graphs are made of Transformers with encoder and decoder that read text")
    for key, values in {"attention": {"linear"}, "attention_pattern": {"low-rank"}}.items():
        if (value := getattr(settings, key)) in values:
            return msg(f"no graph is made of models with model.{key} = {value}")
    return ""


def _hugging_face_reason(settings: ModelSettings, tokenizers: tuple[SourceEncoder, ...]) -> str:
    if isinstance(settings, VisionSettings):
        reason = unsupported_vit(settings)
        return "" if reason is None else reason.why
    if isinstance(settings, SpeechSettings):
        encoder, target = tokenizers
        reason = unsupported_whisper(settings, encoder.settings) if isinstance(encoder, SoundFrames) else None
        return reason.why if reason is not None else "" if hugging_face_runs(target) else NO_TOKENIZER
    one_vocabulary: dict[Any, Callable[[Any], Unsupported | None]] = {
        EncoderSettings: unsupported_encoder,
        DecoderSettings: unsupported_decoder,
    }
    unsupported = one_vocabulary.get(type(settings), unsupported_seq2seq)(settings)
    if unsupported is not None:
        return unsupported.why
    if type(settings) in one_vocabulary:
        return "" if all(map(hugging_face_runs, tokenizers)) else NO_TOKENIZER
    return "" if all(map(hugging_face_keeps, tokenizers)) else msg("a tokenizer from a file has ids of its own there")


NO_TOKENIZER = "the library tokenizers does not run its tokenizer"

# By the names of the command line, as `interop.forms` has them; without Marian, which runs only what was made for it.
REASONS: dict[str, tuple[str, Callable[[ModelSettings, tuple[SourceEncoder, ...]], str]]] = {
    "ct2": ("CTranslate2", lambda settings, _: ctranslate2_reason(settings)),
    "hf": ("Hugging Face", _hugging_face_reason),
    "onnx": ("ONNX", onnx_reason),
}


def unsupported_exports(settings: ModelSettings, tokenizers: tuple[SourceEncoder, ...]) -> dict[str, str]:
    """The toolkits, by name, that cannot run a bundle of this model, and why."""
    reasons = {name: reason(settings, tokenizers) for name, reason in REASONS.values()}
    return {name: reason for name, reason in reasons.items() if reason}
