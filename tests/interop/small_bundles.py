"""Small bundles whose models have learnt nothing, but have every number unlike what it begins as, and end in time."""

from functools import cache

import torch

from openwork.bundles.bundle import Bundle
from openwork.bundles.settings import BundleSettings
from openwork.data.corpora.synthetic import copy
from openwork.decoding.settings import DecodingSettings
from openwork.models.build import build_model
from openwork.models.families import ModelSettings
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings
from openwork.text.pair import TokenizerPair, train_pair
from openwork.text.settings import TextSettings

PAIRS = list(copy("train", 200))
TEXTS, TARGETS = [pair.source for pair in PAIRS[:12]], [pair.target for pair in PAIRS[12:24]]
SIZES: dict[str, object] = {
    "width": 16, "heads": 2, "feedforward_width": 24, "encoder_layers": 2, "decoder_layers": 2, "norm": "pre",
}  # fmt: skip
FOR_MARIAN: dict[str, object] = {"norm": "post", "positions": "split-sinusoidal", "start_vector": "zeros"}
"""What a model needs that Marian can run too."""


@cache
def tokenizers(shared: bool = True) -> TokenizerPair:
    settings = TextSettings(vocabulary_size=400, shared=shared)
    return train_pair([pair.source for pair in PAIRS], [pair.target for pair in PAIRS], settings)


def small_bundle(shared: bool = True, **changes: object) -> Bundle:
    settings = TransformerSettings.model_validate({**SIZES, **changes})
    return random_bundle(settings, tokenizers(shared), DecodingSettings(beam=2, maximum_length=12))


def random_bundle(settings: ModelSettings, pieces: TokenizerPair, decoding: DecodingSettings) -> Bundle:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = build_model(settings, pieces.source.vocabulary_size, pieces.target.vocabulary_size)
        for parameter in model.parameters():
            parameter.data.add_(torch.randn_like(parameter) * 0.15)
        if isinstance(model, Transformer) and model.starts_with_zeros:
            model.make_start_zero()
    return Bundle(BundleSettings(model=settings, decoding=decoding), pieces, model.eval(), card="# small\n")
