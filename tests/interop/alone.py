"""Small encoders and language models with every number unlike what it begins as; tokenizers of ours and of others."""

from pathlib import Path
from typing import Any

import torch

from interop.bert_folder import NAMES
from interop.small_bundles import tokenizers
from openwork.decoding.settings import DecodingSettings
from openwork.models.build import build_model
from openwork.models.decoder_settings import DecoderSettings
from openwork.models.encoder_lm_settings import EncoderSettings
from openwork.models.presets import PRESETS
from openwork.systems.bundle import Bundle, BundleSettings
from openwork.systems.tasks import in_form
from openwork.text.foreign.adopted import Adopted
from openwork.text.foreign.bert import read_bert
from openwork.text.labels import Labels
from openwork.text.pair import TokenizerPair
from openwork.text.tokenizer import Tokenizer

SIZES: dict[str, Any] = {"width": 16, "heads": 2, "feedforward_width": 24, "layers": 2}
LABELS = ["good", "bad", "neither"]


def own() -> Tokenizer:
    return tokenizers().source


def adopted(folder: Path) -> Adopted:
    """BERT's, whose ids are others than ours."""
    (folder / "vocab.txt").write_text("".join(f"{name}\n" for name in NAMES), encoding="utf-8")
    return Adopted(read_bert(folder / "vocab.txt"))


def encoder(tokenizer: Tokenizer, task: str, **changes: Any) -> Bundle:
    settings = EncoderSettings.model_validate({**PRESETS["bert-small"], **SIZES, "task": task, **changes})
    target = Labels.of(LABELS) if task == "classify" else tokenizer
    return _bundle(settings, in_form(TokenizerPair(tokenizer, target), settings.task))


def decoder(tokenizer: Tokenizer, preset: str, **changes: Any) -> Bundle:
    settings = DecoderSettings.model_validate({**PRESETS[preset], **SIZES, **changes})
    return _bundle(settings, TokenizerPair(tokenizer, tokenizer))


def _bundle(settings: EncoderSettings | DecoderSettings, pair: TokenizerPair) -> Bundle:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = build_model(settings, pair.source.vocabulary_size, pair.target.vocabulary_size)
        for parameter in model.parameters():
            parameter.data.add_(torch.randn_like(parameter) * 0.15)
    decoding = DecodingSettings(beam=1, maximum_length=8)
    return Bundle(BundleSettings(model=settings, decoding=decoding), pair, model.eval(), card="# small\n")
