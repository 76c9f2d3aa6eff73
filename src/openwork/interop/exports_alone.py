"""Which of our encoders and decoders without the other half Hugging Face has counterparts of. No torch here.

encoder    BERT
decoder    GPT-2 with learned positions, LLaMA with rotary ones
"""

from collections.abc import Iterable

from openwork.interop.activations import GPT2_ACTIVATIONS, HUGGING_FACE_ACTIVATIONS, LLAMA_ACTIVATIONS
from openwork.interop.closed import Closed
from openwork.models.decoder_settings import DecoderSettings
from openwork.models.encoder_lm_settings import EncoderSettings
from openwork.models.layer_settings import LayerSettings

WRITTEN_TASKS = ("classify", "fill", "embed")

Facts = Iterable[tuple[bool, str]]


def encoder_closed(settings: EncoderSettings) -> Closed | None:
    """What keeps an encoder out of the form of Hugging Face's BERT; None: nothing."""
    if settings.task not in WRITTEN_TASKS:
        return Closed(
            f'a BERT for the task "{settings.task}" reads words there, and openwork the first piece of each',
            "use the bundle with openwork tag or openwork answer",
        )
    s = settings
    facts = [
        (s.norm == "post", "norm"),
        (s.positions == "learned", "positions"),
        (s.embedding_norm, "embedding_norm"),
        (s.feedforward in HUGGING_FACE_ACTIVATIONS.values(), "feedforward"),
        (not s.embedding_scale or s.tying == "none", "embedding_scale"),
        (s.normalisation == "layer", "normalisation"),
        (_has_standard_heads(s), "head_width, value_width, key_value_heads"),
    ]
    return _closed("BERT", [*facts, *_common(s)], "bert-small")


def decoder_closed(settings: DecoderSettings) -> Closed | None:
    """What keeps a language model out of the forms of GPT-2 and LLaMA; None: nothing."""
    s = settings
    if s.positions == "learned":
        facts = [
            (s.norm == "pre", "norm"),
            (s.normalisation == "layer", "normalisation"),
            (s.feedforward in GPT2_ACTIVATIONS.values(), "feedforward"),
            (_has_standard_heads(s), "head_width, value_width, key_value_heads"),
        ]
        return _closed("GPT-2", [*facts, *_of_decoders(s)], "gpt-small")
    facts = [
        (s.positions == "rotary", "positions"),
        (s.norm == "pre", "norm"),
        (s.normalisation == "rms", "normalisation"),
        (s.feedforward in LLAMA_ACTIVATIONS.values(), "feedforward"),
        (s.value_head_width == s.key_width, "value_width"),
    ]
    return _closed("LLaMA", [*facts, *_of_decoders(s)], "llama-small")


def _of_decoders(s: DecoderSettings) -> Facts:
    return (
        (not s.embedding_norm, "embedding_norm"),
        (not s.output_bias, "output_bias"),
        (not s.separate_prompt, "separate_prompt"),
        *_common(s),
    )


def _common(s: LayerSettings) -> Facts:
    return (s.attention == "scaled", "attention"), (s.stream_start == s.width, "embedding_width")


def _has_standard_heads(s: LayerSettings) -> bool:
    return s.value_head_width == s.key_width == s.width / s.heads and s.key_value_count == s.heads


def _closed(theirs: str, facts: Facts, preset: str) -> Closed | None:
    for fits, key in facts:
        if not fits:
            return Closed(f"{theirs} has another model.{key}", f'train a model of the preset "{preset}" to export')
    return None
