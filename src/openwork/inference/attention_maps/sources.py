"""The attention of a text to the picture or the sound that a model wrote it of.

A picture's positions are its patches; one of a sound is 20 ms of it, two rows of its spectrogram. The words of a
question follow. Where a model reads windows of one length, what follows the end of a shorter sound is one column: its
weights are added up.
"""

from typing import Any, NamedTuple

import numpy as np
import torch

from openwork.base.errors import UsageError
from openwork.bundles.bundle import Bundle
from openwork.inference.attention_maps.capture import (
    MOST_PIECES,
    MOST_WEIGHTS,
    SentenceAttention,
    check_length,
    recorded,
    target_pieces,
)
from openwork.inference.attention_maps.forced import ForcedTranslation
from openwork.inference.attention_maps.maps import LayerMap
from openwork.inference.attention_maps.pieces import Place, SourcePiece, found_places
from openwork.inference.attention_maps.views import PictureView, SoundView, View
from openwork.inference.explainable import check_translation
from openwork.inference.requests import opening_of
from openwork.inference.transcriber import SoundTranscriber
from openwork.inference.translation import Translation
from openwork.inference.translator import BatchTranslator
from openwork.models.settings import CaptionSettings, SpeechSettings
from openwork.models.stem import StemTransformer
from openwork.signals.mel import STRIDE
from openwork.signals.pictures import read_picture
from openwork.signals.sounds import read_sound
from openwork.text.pair import TokenizerPair

FRAME = 0.01  # seconds of a row of a spectrogram
UNIT = "\u202fs"  # a narrow space, which keeps number and unit together, and the second


class _Read(NamedTuple):
    """A source as it was read: the text written of it, the symbols before that text, its view and its columns.

    `window`: positions before the question's words; those after the view's are silence after a sound.
    """

    own: Translation
    symbols: tuple[int, ...]
    view: View
    labels: tuple[str, ...]
    window: int


def capture_source(bundle: Bundle, source: Any, translation: str | None = None) -> SentenceAttention:
    """The attention of a text to a picture or a sound; without a text, of the one that the bundle writes.

    `source`: a path or an array, or a pair of one and a question. The maps of the encoder are left out where they are
    too large. UsageError for a model that writes no text of such sources; DataError for one that cannot be read.
    """
    model, settings = bundle.model, bundle.settings.model
    if not isinstance(model, StemTransformer) or not isinstance(settings, CaptionSettings | SpeechSettings):
        raise _no_text(settings.kind)
    file, question = source if isinstance(source, tuple) else (source, "")
    read = _read_picture if isinstance(settings, CaptionSettings) else _read_sound
    own, symbols, view, labels, window = read(bundle, file, question)
    tokenizers = bundle.tokenizers
    if translation is None:
        output, is_ended = list(check_translation(own).pieces), own.finished
    else:
        output, is_ended = [*symbols, *tokenizers.encode_target(translation, ())], True
    text, places = _text_and_places(tokenizers, output[len(symbols) :])
    places = [*[None] * len(symbols), *places]
    ((numbers, _),) = tokenizers.encode_sources([source])
    device = next(model.parameters()).device
    rows, _ = BatchTranslator.of(bundle).sources.padded([numbers], device)
    output_ids = [*output, *[tokenizers.target.end_id] * is_ended]
    asked = question.split()
    positions, heads = window + len(asked), settings.heads
    check_length(len(output_ids), min(MOST_PIECES, MOST_WEIGHTS // (settings.decoder_layers * heads * positions)))
    has_encoder = settings.encoder_layers * heads * positions**2 <= MOST_WEIGHTS
    forced = ForcedTranslation(model.eval(), rows[0], torch.tensor(output_ids, device=device))
    maps, logits = recorded(forced, with_encoder=has_encoder)
    return SentenceAttention(
        settings.reads.removesuffix("s") if isinstance(file, np.ndarray) else str(file),
        text,
        (
            *(SourcePiece(one, None, is_special=place >= view.positions) for place, one in enumerate(labels)),
            *(SourcePiece(one, None, is_special=False) for one in asked),
        ),
        target_pieces(tokenizers, output_ids, logits, places, is_ended=is_ended, symbols=len(symbols)),
        tuple(_joined(one, view.positions, window) for one in maps),
        (),
        tuple(output_ids),
        view,
    )


def _text_and_places(tokenizers: TokenizerPair, output: list[int]) -> tuple[str, list[Place]]:
    """The text of ids without white space around it, and which of its characters each id is."""
    whole = tokenizers.decode_target(output).text
    text, before = whole.strip(), len(whole) - len(whole.lstrip())

    def within(place: int) -> int:
        return min(max(place - before, 0), len(text))

    places = found_places(tokenizers, whole, (), output)
    return text, [None if one is None else (within(one[0]), within(one[1])) for one in places]


def _read_picture(bundle: Bundle, file: Any, question: str) -> _Read:
    settings = bundle.settings.picture
    assert settings is not None, "the bundle reads pictures"
    rows, columns = settings.grid
    asked = (file, question) if question else file
    ((own, *_),) = BatchTranslator.of(bundle).translate([asked])
    labels = tuple(f"{row},{column}" for row in range(rows) for column in range(columns))
    return _Read(own, (), PictureView(read_picture(file, settings), rows, columns), labels, rows * columns)


def _read_sound(bundle: Bundle, file: Any, question: str) -> _Read:
    settings = bundle.settings.sound
    assert settings is not None, "the bundle reads sounds"
    samples = read_sound(file, settings)
    ((own, *_),) = SoundTranscriber(bundle, bundle.settings.decoding, question=question).transcribe([samples])
    symbols = opening_of(bundle.settings.transcript, own.language or None).symbols
    ((numbers, _),) = bundle.tokenizers.encode_sources([samples])
    window = -(-len(numbers) // STRIDE)
    positions = min(window, -(-len(samples) // (settings.hop * STRIDE)))
    seconds = STRIDE * FRAME
    labels = [f"{seconds * place:.2f}{UNIT}" for place in range(positions)]
    if positions < window:
        labels.append(f"{seconds * positions:.2f}–{seconds * window:.2f}{UNIT}")
    shown = numbers[: positions * STRIDE, : settings.mels].T
    least, most = shown.min(), shown.max()
    spectrogram = (shown - least) / ((most - least) or 1)
    return _Read(own, symbols, SoundView(spectrogram, positions, seconds), tuple(labels), window)


def _joined(of: LayerMap, seen: int, window: int) -> LayerMap:
    """The map whose positions from `seen` to `window`, the silence after a sound, are one: sums, and means of rows."""
    if seen == window or of.kind == "decoder":
        return of
    before, silence, after = np.split(of.weights, [seen, window], axis=2)
    weights = np.concatenate([before, silence.sum(2, keepdims=True), after], axis=2)
    if of.kind == "encoder":
        before, silence, after = np.split(weights, [seen, window], axis=1)
        weights = np.concatenate([before, silence.mean(1, keepdims=True), after], axis=1)
    return LayerMap(of.kind, of.layer, weights)


def _no_text(kind: str) -> UsageError:
    return UsageError(
        "this model has no attention of a text to its source",
        why=f"it is of the kind {kind}, and of those that read pictures or sounds only two write texts of them",
        hint='give a bundle that was trained with model.kind = "whisper" or "captioner"; openwork explain shows what a '
        "Vision Transformer attends to",
        code="U164",
    )
