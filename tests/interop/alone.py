"""Small encoders and language models with every number unlike what it begins as; tokenizers of ours and of others."""

from pathlib import Path
from typing import Any

from interop.bert_folder import NAMES
from interop.small_bundles import random_bundle, tokenizers
from openwork.bundles.bundle import Bundle
from openwork.bundles.settings import tokenizers_for_task
from openwork.decoding.settings import DecodingSettings
from openwork.models.presets import PRESETS
from openwork.models.settings import DecoderSettings, EncoderSettings
from openwork.text.external.adapted import AdaptedTokenizer
from openwork.text.external.reading import read_bert
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.words import Labels
from openwork.text.tokenizer import Tokenizer

SIZES: dict[str, Any] = {"width": 16, "heads": 2, "feedforward_width": 24, "layers": 2}
DECODING = DecodingSettings(beam=1, maximum_length=8)
LABELS = ["good", "bad", "neither"]


def own() -> Tokenizer:
    return tokenizers().source


def adopted(folder: Path) -> AdaptedTokenizer:
    """BERT's, whose ids are others than ours."""
    (folder / "vocab.txt").write_text("".join(f"{name}\n" for name in NAMES), encoding="utf-8")
    return AdaptedTokenizer(read_bert(folder / "vocab.txt"))


def encoder(tokenizer: Tokenizer, task: str, **changes: Any) -> Bundle:
    settings = EncoderSettings.model_validate({**PRESETS["bert-small"], **SIZES, "task": task, **changes})
    target = Labels.of(LABELS) if task == "classify" else tokenizer
    return random_bundle(settings, tokenizers_for_task(TokenizerPair(tokenizer, target), settings.task), DECODING)


def decoder(tokenizer: Tokenizer, preset: str, **changes: Any) -> Bundle:
    settings = DecoderSettings.model_validate({**PRESETS[preset], **SIZES, **changes})
    return random_bundle(settings, TokenizerPair(tokenizer, tokenizer), DECODING)
