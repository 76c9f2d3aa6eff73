"""CTranslate2's folders of Whisper, read as bundles; faster-whisper's models have this form.

The folder has the tokens in vocabulary.json or vocabulary.txt, how a text is cut into them in tokenizer.json, and
languages and suppressed tokens in config.json. Sounds are prepared as the paper says (Radford et al. 2023, 2.2).
"""

from pathlib import Path

import torch
from pydantic import BaseModel, ValidationError
from torch import Tensor

from openwork.base.messages import msg
from openwork.bundles.bundle import Bundle
from openwork.bundles.settings import BundleSettings
from openwork.decoding.settings import DecodingSettings, TranscriptSettings
from openwork.interop.ctranslate2.binary import Contents
from openwork.interop.ctranslate2.layout import DECODER, EMBEDDINGS, ENCODER, GELU, OUTPUT, POSITIONS
from openwork.interop.ctranslate2.reading import layer_tensors
from openwork.interop.ctranslate2.settings import Weights, alike, embedding_scale, layer_count
from openwork.interop.ctranslate2.vocabulary import CONFIG, read_config, read_vocabulary, unusable
from openwork.interop.transcripts import own_transcript, with_timestamps
from openwork.interop.vocabulary import Vocabulary, sizes_differ
from openwork.models.build import model_with_weights
from openwork.models.settings import SpeechSettings
from openwork.nn.positions import is_split_sinusoids
from openwork.signals.mel import SoundFrames
from openwork.signals.settings import SoundSettings
from openwork.text.external.adapted import AdaptedTokenizer
from openwork.text.external.library import HuggingFaceTokenizer
from openwork.text.external.reading import read_tokenizer
from openwork.text.pair import TokenizerPair

SPECIFICATION = "WhisperSpec"
START, END, NO_TIMESTAMPS = "<|startoftranscript|>", "<|endoftext|>", "<|notimestamps|>"
TASKS = ("transcribe", "translate")
MULTILINGUAL = 51865  # tokens from which CTranslate2 takes a model to know several languages
FIXED = {"activation": GELU, "pre_norm": 1, "start_from_zero_embedding": 0}  # numbers of every Whisper
POSITIONS_A_SECOND = 50
LATEST_START = 50  # CTranslate2's default: a first timestamp of at most a second
# faster-whisper's defaults
DECODING = DecodingSettings(beam=5, length_penalty=1.0, length_rule="power", unfinished="ranked", maximum_length=448)


class _Config(BaseModel, frozen=True, strict=True):
    """The keys of config.json that matter here."""

    lang_ids: list[int] = []
    suppress_ids: list[int] = []
    suppress_ids_begin: list[int] = []


def bundle_from_whisper(folder: Path, contents: Contents) -> Bundle:
    """The bundle of a folder whose model.bin has these contents.

    BundleError where it is damaged or has parts that openwork has not, DataError for an unreadable tokenizer.
    """
    names = read_vocabulary(folder)
    tokenizer = _tokenizer(folder, names)
    external = list(tokenizer.theirs)
    ids = {name: number for number, name in enumerate(names)}
    if START not in ids or END not in ids:
        raise sizes_differ(folder, len(names), tokenizer.vocabulary_size)
    external[tokenizer.start_id], external[tokenizer.end_id] = ids[START], ids[END]
    vocabulary = Vocabulary(tuple(external))
    weights = Weights(folder, contents)
    settings, sound = _settings(weights)
    tensors = _tensors(weights, settings, vocabulary)
    for name in weights.unused():
        raise weights.unsupported(name)
    model = model_with_weights(settings, (sound.mels, vocabulary.size), tensors, weights.size_error, str(folder))
    transcript = own_transcript(_transcript(folder, ids), vocabulary, folder)
    made = BundleSettings(model=settings, sound=sound, decoding=DECODING, transcript=transcript)
    card = f"# Whisper from CTranslate2\n\nRead from the folder {folder.name} by openwork.\n"
    return Bundle(made, TokenizerPair(SoundFrames(sound), tokenizer), model, card=card)


def _tokenizer(folder: Path, names: list[str]) -> AdaptedTokenizer:
    """The folder's tokenizer, with the timestamps as pieces; BundleError where its pieces are not these."""
    found = read_tokenizer(folder / "tokenizer.json")
    if isinstance(found, HuggingFaceTokenizer):
        found = with_timestamps(found, len(names))
        if [found.library.id_to_token(number) for number in range(found.vocabulary_size)] == names:
            return AdaptedTokenizer(found)
    raise sizes_differ(folder, len(names), found.vocabulary_size)


def _settings(weights: Weights) -> tuple[SpeechSettings, SoundSettings]:
    """The settings of the model, and how its sounds are prepared."""
    for name, value in FIXED.items():
        if weights.number(f"{DECODER}/{name}") not in (value, None):
            raise weights.unsupported(f"{DECODER}/{name}, another one than Whisper's,")
    layers = [layer_count(side, weights.contents.variables) for side in (ENCODER, DECODER)]
    waves, stem = weights.matrix(f"{ENCODER}/{POSITIONS}"), weights.required(f"{ENCODER}/conv1/weight")
    if not is_split_sinusoids(torch.tensor(waves)) or len(waves) % POSITIONS_A_SECOND:
        raise weights.unsupported(f"{ENCODER}/{POSITIONS}, which is not of whole seconds of sinusoids,")
    if stem.ndim != 3:
        raise weights.mismatch(f"{ENCODER}/conv1/weight is no convolution")
    sound = {"mels": stem.shape[1], "seconds": len(waves) // POSITIONS_A_SECOND}
    table, places = (weights.matrix(f"{DECODER}/{name}") for name in (EMBEDDINGS, POSITIONS))
    values = {
        "width": int(table.shape[1]),
        "encoder_layers": layers[0],
        "decoder_layers": layers[1],
        "heads": int(alike(weights, "num_heads", None)),
        "feedforward_width": int(weights.matrix(f"{ENCODER}/layer_0/ffn/linear_0/weight").shape[0]),
        "feedforward": "gelu",
        "norm": "pre",
        "norm_epsilon": 1e-5,
        "positions": "learned",
        "maximum_length": len(places),
        "embedding_scale": embedding_scale(weights, DECODER, table.shape[1]) != 1,
        "attention_bias": True,
        "tying": "target" if weights.same(OUTPUT, f"{DECODER}/{EMBEDDINGS}") else "none",
    }
    try:
        return SpeechSettings.model_validate(values), SoundSettings.model_validate(sound)
    except ValidationError as error:
        raise weights.mismatch(str(error.errors()[0]["msg"])) from error


def _tensors(weights: Weights, settings: SpeechSettings, vocabulary: Vocabulary) -> dict[str, Tensor]:
    """The weights by openwork's names."""
    tensors = layer_tensors(weights, settings)
    for own, name in (("first", "conv1"), ("second", "conv2")):
        for kind in ("weight", "bias"):
            tensors[f"source_embedding.{own}.{kind}"] = torch.tensor(weights.required(f"{ENCODER}/{name}/{kind}"))
    table, output = weights.matrix(f"{DECODER}/{EMBEDDINGS}"), weights.matrix(OUTPUT)
    if len(table) != vocabulary.external_size or len(output) != len(table):
        raise sizes_differ(weights.folder, len(table), vocabulary.external_size)
    tensors["target_embedding.table.weight"] = vocabulary.gather(torch.tensor(table))
    tensors["output"] = vocabulary.gather(torch.tensor(output))
    tensors["target_positions.table.weight"] = torch.tensor(weights.matrix(f"{DECODER}/{POSITIONS}"))
    return tensors


def _transcript(folder: Path, ids: dict[str, int]) -> TranscriptSettings:
    """The symbols and suppressed tokens, with CTranslate2's ids."""
    try:
        config = _Config.model_validate(read_config(folder))
    except ValidationError as error:
        key = error.errors()[0]["loc"][0]
        raise unusable(folder / CONFIG, msg(f"{key} is no list of ids")) from error
    names = {number: name for name, number in ids.items()}
    known = len(ids) >= MULTILINGUAL
    languages = {name[2:-2]: number for number in config.lang_ids if (name := names.get(number, "")).startswith("<|")}
    no_timestamps = ids.get(NO_TIMESTAMPS)
    return TranscriptSettings(
        languages=languages if known else {},
        tasks={task: ids[f"<|{task}|>"] for task in TASKS if f"<|{task}|>" in ids} if known else {},
        no_timestamps=no_timestamps,
        timestamps=None if no_timestamps is None else no_timestamps + 1,
        latest_start=LATEST_START,
        suppressed=tuple(number for number in config.suppress_ids if number >= 0),
        suppressed_first=tuple(number for number in config.suppress_ids_begin if number >= 0),
    )
