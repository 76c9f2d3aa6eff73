"""All attention weights of a sentence and its translation, the bundle's own or a given one.

The model reads the whole translation in one step (teacher forcing), by the formula of attention instead of the fused
kernel, which keeps no weights (`nn/recording.py`); the tests hold both equal. Row t of the decoder's maps belongs to
the step that reads piece t - 1 and predicts piece t, and is labelled by both.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from openwork.base.errors import OpenworkError, UsageError
from openwork.base.messages import msg
from openwork.bundles.bundle import Bundle
from openwork.decoding.rescore import token_log_probabilities
from openwork.inference.attention_maps.forced import ForcedTranslation
from openwork.inference.attention_maps.maps import Kind, LayerMap
from openwork.inference.attention_maps.pieces import (
    SYMBOLS,
    Place,
    SourcePiece,
    TargetPiece,
    found_places,
    given_places,
    labels,
    source_places,
)
from openwork.inference.attention_maps.views import View
from openwork.inference.explainable import check_text, check_translation, translation_to_explain
from openwork.inference.translation import Translation
from openwork.models.interfaces import Seq2SeqModel, can_attend
from openwork.nn.low_rank_attention import LowRankAttention
from openwork.nn.recording import recording
from openwork.text.pair import TokenizerPair

MOST_PIECES = 512  # of a source, and of a translation, end symbols included
MOST_WEIGHTS = 40_000_000  # of all maps together: 107 MB in JSON
_ATTENTION = re.compile(r"(encoder|decoder)\.layers\.(\d+)\.(self|cross)_attention")


@dataclass(frozen=True, eq=False)
class SentenceAttention:
    """A source and its translation as pieces, and the maps of all attentions between them.

    `source_ids` and `output_ids` (what is predicted) end with the end symbol, but for a translation that a search cut.
    A picture or a sound has no `source_ids` and a `view`; its `source` is the path.
    """

    source: str
    translation: str
    source_pieces: tuple[SourcePiece, ...]
    target_pieces: tuple[TargetPiece, ...]
    maps: tuple[LayerMap, ...]
    source_ids: tuple[int, ...]
    output_ids: tuple[int, ...]
    view: View | None = None

    def of_kind(self, kind: Kind) -> tuple[LayerMap, ...]:
        """The maps of a kind, by layer; none where the model has none."""
        return tuple(one for one in self.maps if one.kind == kind)

    @property
    def log_probability(self) -> float:
        """ln P(translation | source), in nats."""
        return float(sum(piece.log_probability for piece in self.target_pieces))

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; weights in 16 bits (`maps.py`), so that none differs by more than 7.7e-6."""
        return {
            "source": self.source,
            "translation": self.translation,
            "sourcePieces": [piece.to_json() for piece in self.source_pieces],
            "targetPieces": [piece.to_json() for piece in self.target_pieces],
            "maps": [one.to_json() for one in self.maps],
            **({} if self.view is None else self.view.to_json()),
        }


def capture(
    bundle: Bundle, text: str, translation: str | Translation | None = None, most: int = MOST_PIECES
) -> SentenceAttention:
    """The attention of a text and a translation; without one, of the best that the bundle's own search finds.

    One that a search has found already keeps its pieces, which need not be those that its text is cut into.
    UsageError for a text without visible characters, for one that has no translation, and for a model without
    attention to show. OpenworkError for more than `most` pieces on a side, or than the model reads.
    """
    model = attending_model(bundle)
    check_text(text)
    tokenizers, longest = bundle.tokenizers, longest_side(bundle, most)
    ((ids, spans),) = tokenizers.encode_sources([text])
    check_length(len(ids) + 1, longest)
    if not isinstance(translation, str):
        own = translation_to_explain(bundle, text) if translation is None else check_translation(translation)
        output, translation, is_ended = list(own.pieces), own.text, own.finished
        places = found_places(tokenizers, translation, spans, output)
    else:
        output, is_ended = tokenizers.encode_target(translation, spans), True
        places = given_places(tokenizers, translation, spans, output)
    check_length(len(output) + is_ended, longest)
    source_ids = [*ids, tokenizers.source.end_id]
    output_ids = [*output, *[tokenizers.target.end_id] * is_ended]
    maps, logits = recorded(ForcedTranslation.of(model, source_ids, output_ids))
    sources = zip(
        labels(tokenizers.source, source_ids), [*source_places(tokenizers, text, ids), None],
        [one in SYMBOLS for one in source_ids], strict=True,
    )  # fmt: skip
    return SentenceAttention(
        text, translation, tuple(SourcePiece(*one) for one in sources),
        target_pieces(tokenizers, output_ids, logits, places, is_ended=is_ended),
        tuple(maps), tuple(source_ids), tuple(output_ids),
    )  # fmt: skip


def target_pieces(
    tokenizers: TokenizerPair,
    output_ids: Sequence[int],
    logits: Float[Tensor, "1 target vocabulary"],
    places: Sequence[Place],
    *,
    is_ended: bool,
    symbols: int = 0,
) -> tuple[TargetPiece, ...]:
    """The positions of the decoder. `places`: of the predicted pieces without the end symbol.

    `symbols`: of a transcript, which come before its text.
    """
    terms = token_log_probabilities(logits, torch.tensor([list(output_ids)], device=logits.device))[0].tolist()
    predicted = labels(tokenizers.target, output_ids)
    inputs = labels(tokenizers.target, [tokenizers.target.start_id])[:1] + predicted[:-1]
    are_symbols = [place < symbols or one in SYMBOLS for place, one in enumerate(output_ids)]
    columns = zip(inputs, predicted, terms, [*places, *[None] * is_ended], are_symbols, strict=True)
    return tuple(TargetPiece(*one) for one in columns)


def attending_model(bundle: Bundle) -> Seq2SeqModel[Any]:
    """The bundle's model. UsageError unless it reads a text with an encoder and attends to it with shares of 1."""
    model, settings = bundle.model, bundle.settings.model
    kind, attends = getattr(settings, "attention", ""), can_attend(bundle.model)
    if not isinstance(model, Seq2SeqModel) or not attends:
        raise no_attention(
            msg("attention of a translation to its source"),
            msg(f"it is of the kind {settings.kind}, and only encoder-decoders of texts have such weights"),
        )
    if kind in ("none", "relu"):
        raise no_attention(
            msg("attention of a translation to its source"),
            msg(f'it was trained with model.attention = "{kind}", which has no weights that add up to 1'),
        )
    return model


def no_attention(what: str, why: str) -> UsageError:
    """The error for a model that lacks what is to be shown."""
    return UsageError(
        f"this model has no {what}",
        why=why,
        hint="give the bundle of a translator that attends, such as a Transformer, and a kind of attention that it has",
        code="U154",
    )


def longest_side(bundle: Bundle, most: int) -> int:
    """The most pieces of a side: `most`, what the model reads, and so many that the maps have `MOST_WEIGHTS`."""
    settings = bundle.settings.model
    layers = getattr(settings, "encoder_layers", 1) + 2 * getattr(settings, "decoder_layers", 1)
    fitting = isqrt(MOST_WEIGHTS // (layers * getattr(settings, "heads", 1)))
    return min(most, fitting, bundle.model.maximum_length or most)


def check_length(pieces: int, most: int) -> None:
    """OpenworkError for a text with more pieces than `most`."""
    if pieces > most:
        raise OpenworkError(
            f"a text of {pieces:,} pieces is too long for this: {most:,} is the most",
            hint="give a shorter text, such as one sentence",
            code="E056",
        )


@torch.inference_mode()
def recorded(forced: ForcedTranslation, *, with_encoder: bool = True) -> tuple[list[LayerMap], Tensor]:
    """All maps by kind and layer, and the logits (1, target, vocabulary) of the same pass."""
    read = None if with_encoder else forced.start(forced.source[None])
    with recording(forced.model) as kept:
        state = forced.start(forced.source[None]) if read is None else read
        logits = forced.logits(state)
    maps = [one for kind in ("encoder", "decoder", "cross") for one in _maps(kind, forced, kept)]  # type: ignore[arg-type]
    if not any(one.kind == "cross" for one in maps):  # of a recurrent model, whose attention has no kernel
        assert can_attend(forced.model)
        weights = forced.model.attend(forced.given[None], forced.start(forced.source[None]))[1]
        maps.append(LayerMap("cross", 0, _array(weights)))
    return maps, logits


def _maps(kind: Kind, forced: ForcedTranslation, kept: dict[str, list[Tensor]]) -> list[LayerMap]:
    """Those of a kind. Layers that share their weights are one module, which is called once for each of them."""
    found: list[tuple[int, Tensor]] = []
    for name, calls in kept.items():
        match = _ATTENTION.fullmatch(name)
        if match is None or isinstance(forced.model.get_submodule(name), LowRankAttention):  # no weights of pieces
            continue
        if kind == ("cross" if match[3] == "cross" else match[1]):
            found += [(int(match[2]), call) for call in calls]
    ordered = [call for _, call in sorted(found, key=lambda one: one[0])]
    return [LayerMap(kind, layer, _array(call[0])) for layer, call in enumerate(ordered)]


def _array(weights: Tensor) -> np.ndarray:
    return weights.float().cpu().numpy()


def row_names(found: SentenceAttention, kind: Kind) -> Sequence[tuple[str, ...]]:
    """The labels of a map's rows: a source piece, or the piece that is read and the one that is predicted."""
    if kind == "encoder":
        return [(piece.text,) for piece in found.source_pieces]
    return [(piece.input, piece.predicted) for piece in found.target_pieces]


def column_names(found: SentenceAttention, kind: Kind) -> Sequence[str]:
    """The labels of its columns."""
    if kind == "decoder":
        return [piece.input for piece in found.target_pieces]
    return [piece.text for piece in found.source_pieces]
