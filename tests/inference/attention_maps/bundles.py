"""Small bundles of other models and tokenizers, which have learnt nothing."""

from typing import Any

import torch

from openwork.bundles.bundle import Bundle
from openwork.bundles.settings import BundleSettings
from openwork.data.corpora.synthetic import copy
from openwork.decoding.settings import DecodingSettings
from openwork.models.build import build_model
from openwork.models.families import model_settings
from openwork.signals.mel import SoundFrames
from openwork.signals.patches import PicturePatches
from openwork.signals.settings import PictureSettings, SoundSettings
from openwork.text.pair import train_pair, with_target
from openwork.text.settings import TextSettings

SMALL = {"width": 16, "heads": 2, "feedforward_width": 24, "encoder_layers": 2, "decoder_layers": 2}
CONVOLUTIONS = {"kind": "convs2s", "width": 8, "encoder_layers": 1, "decoder_layers": 2, "maximum_length": 40}
TEXTS = ["a red box", "a blue ball", "one two", "blue boxes"]
RATE = 8000


def bundle_of(text_kind: str = "byte-pair", **model: Any) -> Bundle:
    """A bundle of a small Transformer, or of what `model` says of the kind that it names."""
    pairs = list(copy("train", 100))
    text = TextSettings.model_validate({"kind": text_kind, "vocabulary_size": 320})
    tokenizers = train_pair([p.source for p in pairs], [p.target for p in pairs], text)
    settings = model_settings(model if "kind" in model else SMALL | model)
    with torch.random.fork_rng():
        torch.manual_seed(5)
        made = build_model(settings, *tokenizers.sizes)
        for parameter in made.parameters():  # larger than usual, so that it does not say the same of everything
            parameter.data.mul_(1.5)
    decoding = DecodingSettings(beam=2, extra_length=4, maximum_length=14)
    return Bundle(BundleSettings(model=settings, decoding=decoding), tokenizers, made.eval())


def made(kind: str, source: dict[str, Any], words: tuple[str, ...] | None = None, **rest: Any) -> Bundle:
    """A small model that reads sounds or pictures and has learnt nothing."""
    is_sound = kind == "whisper"
    read = SoundSettings(words=words, **source) if is_sound else PictureSettings(words=words, **source)
    encoder = SoundFrames(read) if isinstance(read, SoundSettings) else PicturePatches(read)
    pieces = with_target(encoder, TEXTS, TextSettings(kind="characters", minimum_frequency=1))
    settings = model_settings({"kind": kind, **SMALL})
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model = build_model(settings, *pieces.sizes)
        for parameter in model.parameters():
            parameter.data.mul_(1.5)
    decoding = DecodingSettings(beam=2, maximum_length=8)
    kept = {"sound": read} if is_sound else {"picture": read}
    return Bundle(BundleSettings(model=settings, decoding=decoding, **kept, **rest), pieces, model.eval())


def whisper(*, padded: bool = True, **rest: Any) -> Bundle:
    return made("whisper", {"rate": RATE, "mels": 12, "seconds": 1, "padded": padded}, **rest)


def captioner(**rest: Any) -> Bundle:
    return made("captioner", {"height": 8, "width": 12, "channels": 1, "patch": 4}, **rest)
