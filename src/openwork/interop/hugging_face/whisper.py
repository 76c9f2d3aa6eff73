"""Hugging Face's Whisper, read as a bundle and written; it is openwork's `whisper` with pre-norm and biases.

A bias of the keys adds the same number to all scores of a query, which the softmax does not see: Hugging Face's has
none, and openwork's is left out. preprocessor_config.json says how sounds are prepared, and config.json how long they
are: the section [sound].
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from pydantic import Field
from torch import Tensor

from openwork.base.errors import BundleError
from openwork.base.files import atomic_write_text
from openwork.base.printing import json_text
from openwork.bundles.bundle import Bundle
from openwork.bundles.settings import BundleSettings
from openwork.decoding.settings import DecodingSettings
from openwork.interop.exports import HF_ACTIVATIONS, HF_EPSILON, WHISPER_RATE, hf_activation, unsupported_whisper
from openwork.interop.hugging_face import folder as hf
from openwork.interop.hugging_face.bart import LAYERS, EncoderDecoderConfig, check_layers
from openwork.interop.hugging_face.tokenizers import never_written, read_single, symbol_ids, write_framed
from openwork.interop.hugging_face.whisper_symbols import read_symbols, symbol_keys
from openwork.interop.transcripts import own_transcript, with_timestamps
from openwork.interop.vocabulary import Vocabulary, own_vocabulary, sizes_differ
from openwork.models.build import model_with_weights
from openwork.models.settings import SpeechSettings
from openwork.nn.positions import is_split_sinusoids, split_sinusoids
from openwork.signals.mel import SoundFrames
from openwork.signals.settings import SoundSettings
from openwork.text.external.adapted import AdaptedTokenizer
from openwork.text.external.library import HuggingFaceTokenizer
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.tokenizer import Tokenizer

PREPROCESSOR = "preprocessor_config.json"
CLASS = "WhisperForConditionalGeneration"
WAVES = "model.encoder.embed_positions.weight"  # constants, which Hugging Face's files keep among the weights
KEY_BIAS = "k_proj.bias"


def whisper_places(settings: SpeechSettings) -> Iterator[hf.WeightPlace]:
    """Every weight of a model with these settings."""
    for own, hf_name in (("first", "conv1"), ("second", "conv2")):
        yield from hf.with_bias(f"source_embedding.{own}", f"model.encoder.{hf_name}")
    table, output = "model.decoder.embed_tokens.weight", "proj_out.weight"
    yield hf.WeightPlace("target_embedding.table.weight", (table,), pieces="target")
    yield hf.WeightPlace("output", (table,) if settings.tying == "target" else (output,), pieces="target")
    yield hf.WeightPlace("target_positions.table.weight", ("model.decoder.embed_positions.weight",))
    for stack, count in (("encoder", settings.encoder_layers), ("decoder", settings.decoder_layers)):
        for number in range(count):
            for own, hf_name, _ in LAYERS[stack]:
                yield from hf.with_bias(f"{stack}.layers.{number}.{own}", f"model.{stack}.layers.{number}.{hf_name}")
        yield from hf.with_bias(f"{stack}.final_norm", f"model.{stack}.layer_norm")


class WhisperConfig(EncoderDecoderConfig):
    """The keys that matter, with Hugging Face's defaults."""

    mels: hf.Count = Field(80, alias="num_mel_bins")
    max_source_positions: hf.Positions = 1500
    maximum_length: hf.Positions = Field(448, alias="max_target_positions")


class SoundPreprocessor(hf.ConfigKeys):
    """How sounds are prepared, with Hugging Face's defaults."""

    sampling_rate: int = WHISPER_RATE
    hop_length: int = WHISPER_RATE // 100
    n_fft: int = WHISPER_RATE // 40


def bundle_from_whisper(folder: Path, content: Mapping[str, object]) -> Bundle:
    """The folder's model as a bundle in memory; `content` is that of its config.json.

    BundleError for what is missing, damaged, pickled, or of a kind that openwork has not.
    """
    found, symbols = read_single(folder), read_symbols(folder)
    size = hf.validated(WhisperConfig, dict(content), folder / hf.CONFIG).vocab_size
    if isinstance(found, HuggingFaceTokenizer) and symbols.timestamps == found.vocabulary_size < size:
        found = with_timestamps(found, size)
    tokenizer = found if isinstance(found, Tokenizer) else AdaptedTokenizer(found)
    assert isinstance(tokenizer, AdaptedTokenizer | LearntTokenizer)
    read, sound = read_whisper(folder, content, tokenizer)
    transcript = own_transcript(symbols, read.target, folder)
    settings = BundleSettings(model=read.settings, sound=sound, decoding=read.decoding, transcript=transcript)
    return Bundle(settings, TokenizerPair(SoundFrames(sound), tokenizer), read.model, card=hf.card_of(folder))


def read_whisper(
    folder: Path, content: Mapping[str, object], tokenizer: AdaptedTokenizer | LearntTokenizer | None = None
) -> tuple[hf.ImportedModel, SoundSettings]:
    """The model that `save_pretrained` wrote into the folder, in evaluation mode, and how its sounds are prepared.

    The ids are those of `tokenizer`, or without one those of `Vocabulary.of`.
    """
    path = folder / hf.CONFIG
    config, weights = hf.validated(WhisperConfig, dict(content), path), dict(hf.read_weights(folder))
    check_layers(config, path)
    sound = _sound(config, folder, weights)
    settings = hf.validated(
        SpeechSettings,
        config.settings_for(SpeechSettings)
        | {
            "norm": "pre",
            "norm_epsilon": HF_EPSILON,
            "positions": "learned",
            "feedforward": hf.known_activation(config.activation, HF_ACTIVATIONS, path),
            "embedding_scale": False,
            "attention_bias": True,
            "tying": "target" if config.tie_word_embeddings else "none",
        },
        path,
    )
    vocabulary, places = _vocabulary(config, tokenizer, folder), list(whisper_places(settings))
    no_bias = {place.hf_names[0]: torch.zeros(config.width) for place in places if KEY_BIAS in place.hf_names[0]}
    found = hf.own_weights(places, no_bias | weights, {"target": vocabulary}, folder, rows=config.vocab_size)
    sizes = sound.mels, vocabulary.size
    model = model_with_weights(settings, sizes, found, partial(hf.size_error, folder), str(folder))
    decoding = hf.decoding_settings(hf.read_generation(folder))
    return hf.ImportedModel(settings, decoding, vocabulary, vocabulary, model), sound


def _vocabulary(
    config: WhisperConfig, tokenizer: AdaptedTokenizer | LearntTokenizer | None, folder: Path
) -> Vocabulary:
    pad, start, end = config.pad_token_id, config.decoder_start_token_id, config.eos_token_id
    if tokenizer is None:
        return Vocabulary.of(config.vocab_size, pad=pad, unknown=None, start=start, end=end)
    if isinstance(tokenizer, LearntTokenizer):
        return own_vocabulary(folder, tokenizer, config.vocab_size)
    external = list(tokenizer.theirs)
    external[tokenizer.start_id], external[tokenizer.end_id] = start, end
    if max(number or 0 for number in external) >= config.vocab_size:
        raise sizes_differ(folder, config.vocab_size, tokenizer.vocabulary_size)
    return Vocabulary(tuple(external))


def _sound(config: WhisperConfig, folder: Path, weights: Mapping[str, Tensor]) -> SoundSettings:
    """How sounds are prepared; BundleError where openwork prepares none so."""
    path = folder / PREPROCESSOR
    prepared = hf.validated(SoundPreprocessor, hf.read_json_object(path) if path.is_file() else {}, path)
    seconds, rest = divmod(config.max_source_positions, 50)
    waves = weights.get(WAVES)
    shape = (config.max_source_positions, config.width)
    is_sinusoidal = waves is None or (waves.shape == shape and is_split_sinusoids(waves))
    if prepared != SoundPreprocessor() or rest or not is_sinusoidal:
        raise BundleError(
            f"{folder}: a Whisper that reads sounds in another way",
            why=f"positions {config.max_source_positions}, {prepared.sampling_rate:,} samples a second, "
            f"rows of {prepared.n_fft} every {prepared.hop_length}; sinusoidal: {is_sinusoidal}",
            hint="openwork reads whole seconds of 16,000 samples, 400 every 160, with 50 sinusoidal positions a second",
            code="B077",
        )
    return hf.validated(SoundSettings, {"mels": config.mels, "seconds": seconds}, folder / hf.CONFIG)


def write_whisper(folder: Path, bundle: Bundle) -> None:
    """The bundle's files in the folder; ConfigError for a model or a tokenizer that Hugging Face has not."""
    settings, sound = bundle.settings.model, bundle.settings.sound
    assert isinstance(settings, SpeechSettings) and sound is not None
    hf.check_supported(unsupported_whisper(settings, sound))
    vocabulary = write_framed(folder, bundle.tokenizers.target, "translation")
    own = dict(bundle.model.named_parameters(remove_duplicate=False))
    found = hf.external_weights(whisper_places(settings), own, pieces={"target": vocabulary})
    found = {name: tensor for name, tensor in found.items() if KEY_BIAS not in name}
    found[WAVES] = split_sinusoids(sound.rows // 2, settings.width).clone()
    symbols = {**symbol_ids(vocabulary), "decoder_start_token_id": vocabulary.external[Tokenizer.start_id]}
    config = {
        "architectures": [CLASS],
        "model_type": "whisper",
        **WhisperConfig.keys_of(settings),
        "decoder_attention_heads": settings.heads,
        "decoder_ffn_dim": settings.feedforward_width,
        "activation_function": hf_activation(settings.feedforward, HF_ACTIVATIONS),
        "num_mel_bins": sound.mels,
        "max_source_positions": sound.rows // 2,
        "max_target_positions": settings.table_size,
        "vocab_size": vocabulary.external_size,
        "tie_word_embeddings": settings.tying == "target",
        **symbols,
    }
    generation = _generation(bundle.settings.decoding, vocabulary, settings.table_size)
    written = symbol_keys(bundle.settings.transcript, vocabulary, folder)
    never = {*generation["suppress_tokens"], *written.get("suppress_tokens", ())}
    generation |= {**written, "suppress_tokens": sorted(never)}
    hf.write_files(folder, config, symbols | generation, found)
    preparation = {
        "feature_extractor_type": "WhisperFeatureExtractor",
        "processor_class": "WhisperProcessor",
        "feature_size": sound.mels,
        "chunk_length": sound.seconds,
        **SoundPreprocessor().model_dump(),
    }
    atomic_write_text(folder / PREPROCESSOR, json_text(preparation, indent=2) + "\n")


def _generation(decoding: DecodingSettings, vocabulary: Vocabulary, most: int) -> dict[str, Any]:
    return {
        "num_beams": decoding.beam,
        "length_penalty": decoding.length_penalty,
        "early_stopping": decoding.stopping == "enough",
        "max_length": min(decoding.maximum_length + 1, most),
        "suppress_tokens": list(never_written(vocabulary)),
        "renormalize_logits": True,
    }
