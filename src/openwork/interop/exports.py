"""Which of our models and tokenizers other toolkits have counterparts of: known before a training, and asked again when
a bundle is written in their form (`interop`). No torch here.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

from openwork.interop.activations import HUGGING_FACE_ACTIVATIONS
from openwork.interop.closed import Closed
from openwork.interop.exports_alone import decoder_closed, encoder_closed
from openwork.models.decoder_settings import DecoderSettings
from openwork.models.encoder_lm_settings import EncoderSettings
from openwork.models.families import ModelSettings
from openwork.models.settings import TransformerSettings
from openwork.text.foreign.adopted import Adopted
from openwork.text.foreign.library import LibraryForeign
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.tokenizer import Tokenizer
from openwork.text.wrapped import unwrapped

HUGGING_FACE_EPSILON = 1e-5  # of their norms; no configuration says it


class Architecture(NamedTuple):
    """One of Hugging Face's models of the BART family, and the settings of ours that it stands for."""

    model_type: str
    class_name: str
    norm: Literal["post", "pre"]
    positions: Literal["sinusoidal", "learned"]
    embedding_norm: bool
    separate: bool = False  # whether source and target may have tables of their own


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
    """The one of Hugging Face's with this wiring; whether it has the rest too, `hugging_face_closed` knows."""
    wanted = (settings.norm, settings.positions, settings.embedding_norm)
    found = (one for one in ARCHITECTURES.values() if (one.norm, one.positions, one.embedding_norm) == wanted)
    return next(found, None)


def hugging_face_closed(settings: ModelSettings) -> Closed | None:
    """What keeps a model with these settings out of Hugging Face's form; None: nothing."""
    if isinstance(settings, EncoderSettings):
        return encoder_closed(settings)
    if isinstance(settings, DecoderSettings):
        return decoder_closed(settings)
    return transformer_closed(settings)


def transformer_closed(settings: ModelSettings) -> Closed | None:
    """What keeps it out of the forms of their encoder-decoders; None: nothing."""
    if not isinstance(settings, TransformerSettings):
        return Closed(
            f'a model of the kind "{settings.kind}" has no counterpart among the architectures of Hugging Face',
            "use the bundle with openwork translate, or train a Transformer to export",
        )
    s, kind = settings, architecture_of(settings)
    standard = s.value_head_width == s.key_width == s.width / s.heads and s.key_value_count == s.heads
    for fits, key in (
        (s.attention == "scaled", "attention"),
        (s.normalisation == "layer", "normalisation"),
        (s.norm_epsilon <= HUGGING_FACE_EPSILON, "norm_epsilon"),
        (s.feedforward in HUGGING_FACE_ACTIVATIONS.values(), "feedforward"),
        (s.stream_start == s.width, "embedding_width"),
        (standard, "head_width, value_width, key_value_heads"),
    ):
        if not fits:
            return Closed(
                f"none of them has this model.{key}",
                "try openwork export --to ct2, or train a model without that setting",
            )
    if kind is None:
        return Closed(
            f'none has model.norm "{s.norm}" with model.positions "{s.positions}" and this model.embedding_norm',
            "sinusoidal positions have one, and learned ones with model.embedding_norm = true",
        )
    if s.tying != "three-way" and not kind.separate:
        return Closed(
            f'{kind.model_type} has one table of embeddings for all, and model.tying is "{s.tying}"',
            'a post-norm model with sinusoidal positions has one, and any with model.tying = "three-way"',
        )
    return None


def hugging_face_keeps(tokenizer: Tokenizer) -> bool:
    """Whether their library can run the tokenizer under our ids: a foreign one has ids of its own."""
    return isinstance(tokenizer, LearntTokenizer)


def hugging_face_runs(tokenizer: Tokenizer) -> bool:
    """Whether their library can run the tokenizer under any ids: what it was read from, or what we have learnt."""
    inner = unwrapped(tokenizer)
    return hugging_face_keeps(inner) or (isinstance(inner, Adopted) and isinstance(inner.foreign, LibraryForeign))


def ctranslate2_reason(settings: object) -> str:
    """Why CTranslate2 has no model of these settings; empty where it has one."""
    if not isinstance(settings, TransformerSettings):
        return "it knows Transformers of encoder and decoder alone"
    if settings.attention != "scaled":
        return "its attention is the paper's alone (model.attention)"
    if settings.norm == "branch":
        return "its norms stand before or behind a residual, not on the branch (model.norm)"
    if settings.normalisation == "batch":
        return "it has no norms over batches (model.normalisation)"
    if settings.feedforward == "convolution":
        return "it has no convolutions for a feed-forward network (model.feedforward)"
    if settings.stream_start != settings.width:
        return "it has no embeddings of a width of their own (model.embedding_width)"
    if settings.key_width != settings.value_head_width:
        return "it has no heads whose values are wider or narrower than their keys (model.value_width)"
    if settings.rotary_base is not None:
        return "its rotary positions are written with their usual base alone (model.rotary_base)"
    if settings.positions == "alibi":
        return "its encoders have no ALiBi (model.positions)"
    if settings.positions == "bucketed":
        return "its distances have one table for all layers, and here each layer has its own (model.positions)"
    return ""


def _hugging_face_reason(settings: ModelSettings, tokenizers: tuple[Tokenizer, ...]) -> str:
    closed = hugging_face_closed(settings)
    if closed is not None:
        return closed.why
    if isinstance(settings, EncoderSettings | DecoderSettings):
        return "" if all(map(hugging_face_runs, tokenizers)) else NO_TOKENIZER
    return "" if all(map(hugging_face_keeps, tokenizers)) else "a tokenizer from a file has ids of its own there"


NO_TOKENIZER = "the library tokenizers does not run its tokenizer"

# By the names of the command line, as `interop.forms` has them.
REASONS: dict[str, tuple[str, Callable[[ModelSettings, tuple[Tokenizer, ...]], str]]] = {
    "ct2": ("CTranslate2", lambda settings, _: ctranslate2_reason(settings)),
    "hf": ("Hugging Face", _hugging_face_reason),
}


def closed_forms(settings: ModelSettings, tokenizers: tuple[Tokenizer, ...]) -> dict[str, str]:
    """The toolkits, by their names, in whose form a bundle of this model could not be written, and why."""
    reasons = {name: reason(settings, tokenizers) for name, reason in REASONS.values()}
    return {name: reason for name, reason in reasons.items() if reason}
