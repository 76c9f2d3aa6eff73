"""All attention weights of a text and its translation, by teacher forcing: one step of the model over the whole target.

The weights are those of equation 1 (Vaswani et al. 2017, section 3.2.1) as the model's own attentions compute them.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any, Literal, get_args

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from openwork.base.errors import UsageError
from openwork.base.messages import msg
from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import Bundle
from openwork.documents.alignment import Span
from openwork.inference.attention_maps.forced import ForcedTranslation
from openwork.inference.attention_maps.labels import found_places, piece_label
from openwork.inference.documents.aligning import encode_pair
from openwork.inference.translation import Translation
from openwork.inference.translator import BatchTranslator
from openwork.models.seq2seq import Transformer
from openwork.nn.low_rank_attention import LowRankAttention
from openwork.nn.recording import recording
from openwork.text.tokenizer import Tokenizer

Kind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[Kind, ...] = get_args(Kind)
ATTENTIONS: dict[Kind, tuple[str, str]] = {
    "encoder": ("encoder", "self_attention"),
    "decoder": ("decoder", "self_attention"),
    "cross": ("decoder", "cross_attention"),
}
"""For each kind, how the names of its attentions begin and end: encoder.layers.0.self_attention."""
LONGEST = 512  # pieces of either side
MOST_WEIGHTS = 40_000_000  # of all maps together: 107 MB of JSON
FULL = 65_535


@dataclass(frozen=True)
class ShownPiece:
    """A piece and the characters of the text that it stands for; a symbol such as the end has none."""

    text: str
    span: Span | None

    def to_json(self) -> dict[str, Any]:
        begin, end = self.span or (None, None)
        return {"start": begin, "end": end, "special": self.span is None}


@dataclass(frozen=True)
class AttentionLayer:
    """The weights (head, query, key) of a layer, counted from 0; each row adds up to 1."""

    kind: Kind
    layer: int
    weights: np.ndarray

    def to_json(self) -> dict[str, Any]:
        """Weights as base64 of little-endian 16-bit shares of 65,535: each is within 7.7e-6 of its own."""
        return {"kind": self.kind, "layer": self.layer, "heads": len(self.weights), **packed(self.weights)}


def packed(weights: Float[np.ndarray, "*heads query key"]) -> dict[str, Any]:
    """Rows, columns, and weights from 0 to 1 as `AttentionLayer.to_json` writes them."""
    rows, columns = weights.shape[-2:]
    shares = np.round(weights.clip(0, 1) * FULL).astype("<u2")
    return {"rows": rows, "columns": columns, "weights": base64.b64encode(shares.tobytes()).decode()}


@dataclass(frozen=True)
class SentenceAttention:
    """What the heads attend to while the model reads a text and predicts its translation.

    Attributes:
        source_pieces: what the encoder reads, the end symbol last.
        target_pieces: what the decoder predicts at each of its positions, the end symbol last. It reads the start
            symbol, then the same but the last.
        log_probabilities: in nats, of each predicted piece.
        layers: of all kinds.
        source_ids, output_ids: of the pieces of the source, and of those that are predicted.
        languages: of the text and its translation, empty where the bundle does not say.
    """

    source: str
    translation: str
    source_pieces: tuple[ShownPiece, ...]
    target_pieces: tuple[ShownPiece, ...]
    start: str
    log_probabilities: tuple[float, ...]
    layers: tuple[AttentionLayer, ...]
    source_ids: tuple[int, ...]
    output_ids: tuple[int, ...]
    languages: tuple[str, str] = ("", "")

    @property
    def inputs(self) -> tuple[str, ...]:
        """What the decoder reads at each of its positions."""
        return (self.start, *(piece.text for piece in self.target_pieces[:-1]))

    def of(self, kind: Kind) -> tuple[AttentionLayer, ...]:
        """The layers of a kind, in order."""
        return tuple(one for one in self.layers if one.kind == kind)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON, as the page reads them."""
        read = zip(self.inputs, self.target_pieces, self.log_probabilities, strict=True)
        return {
            "source": self.source,
            "translation": self.translation,
            "sourcePieces": [{"text": piece.text, **piece.to_json()} for piece in self.source_pieces],
            "targetPieces": [
                {
                    "input": given, "predicted": piece.text, **piece.to_json(),
                    "logProbability": term if np.isfinite(term) else None,
                }
                for given, piece, term in read
            ],
            "maps": [one.to_json() for one in self.layers],
        }  # fmt: skip


class AttentionCapture:
    """Captures the attention of a bundle's translations.

    `longest`: pieces of either side, the end symbol included. UsageError for a model that is no Transformer with an
    encoder and a decoder, or whose weights do not add up to 1.
    """

    def __init__(self, bundle: Bundle, longest: int = LONGEST) -> None:
        settings = bundle.settings.model
        if not isinstance(bundle.model, Transformer) or bundle.tokenizers.encoder.numbers is not None:
            raise _not_shown(msg(f"the model of this bundle is of the kind {settings.kind}"))
        if getattr(settings, "attention", "") == "relu":
            raise _not_shown(msg('the weights of model.attention = "relu" do not add up to 1'))
        self.model, self.tokenizers = bundle.model.eval(), bundle.tokenizers
        self.languages = (bundle.settings.source_language or "", bundle.settings.target_language or "")
        self.longest = min(longest, self.model.maximum_length or longest, self._fitting())

    def _fitting(self) -> int:
        """The most pieces of a side with which all maps together have at most `MOST_WEIGHTS`."""
        layers = [*self.model.encoder.layers, *self.model.decoder.layers, *self.model.decoder.layers]
        heads = sum(layer.self_attention.heads.count for layer in layers)  # type: ignore[union-attr]
        return isqrt(MOST_WEIGHTS // heads)

    def of(self, source: str, translation: str, pieces: Sequence[int] | None = None) -> SentenceAttention:
        """The attention while a translation is predicted, whoever made it. UsageError for an empty or too long side.

        `pieces`: the ids of its pieces where a search found it, which need not be those that its text is cut into.
        """
        pair = encode_pair(self.tokenizers, source, translation)
        if pieces is not None and list(pieces) != pair.target:
            _, spans = self.tokenizers.encode_sources([source])[0]
            places = found_places(self.tokenizers, translation, spans, pieces)
            pair = pair if places is None else pair._replace(target=list(pieces), target_places=places)
        lengths = len(pair.source), len(pair.target)
        is_blank = not source.strip() or not translation.strip()
        if is_blank or not 0 < min(lengths) <= max(lengths) < self.longest:
            raise UsageError(
                f"the text and its translation have {lengths[0]:,} and {lengths[1]:,} pieces",
                why=f"attention is shown for 1 to {self.longest - 1:,} of each",
                hint="give a sentence",
                code="U155",
            )
        source_ids, output_ids = (*pair.source, SYMBOL_IDS.end), (*pair.target, SYMBOL_IDS.end)
        layers, terms = recorded(ForcedTranslation.of(self.model, source_ids, output_ids))
        tokenizers = self.tokenizers
        return SentenceAttention(
            source,
            translation,
            _pieces(tokenizers.source, pair.source, pair.source_places),
            _pieces(tokenizers.target, pair.target, pair.target_places),
            piece_label(tokenizers.target.piece(SYMBOL_IDS.start)),
            tuple(terms.tolist()),
            layers,
            source_ids,
            output_ids,
            self.languages,
        )


def _not_shown(why: str) -> UsageError:
    return UsageError(
        "attention is shown for Transformers that translate texts",
        why=why,
        hint='give a bundle that was trained with model.kind = "transformer"',
        code="U154",
    )


@torch.inference_mode()
def recorded(forced: ForcedTranslation) -> tuple[tuple[AttentionLayer, ...], Tensor]:
    """The weights of all layers, and the log-probability of each piece with the end symbol.

    Layers that share their weights are one module, which is called once for each of them.
    """
    with recording(forced.model) as kept:
        terms = forced.terms(forced.source[None])[0]
    found = []
    for kind in KINDS:
        begin, end = ATTENTIONS[kind]
        names = [name for name in kept if name.startswith(begin) and name.endswith(end)]
        calls = [call for name in names if _has_weights(forced.model, name) for call in kept[name]]
        found += [AttentionLayer(kind, number, call[0].double().cpu().numpy()) for number, call in enumerate(calls)]
    return tuple(found), terms.double().cpu()


def _has_weights(model: Transformer, name: str) -> bool:
    """Whether the weights of an attention are between pieces; those of low rank are between pieces and mixtures."""
    return not isinstance(model.get_submodule(name), LowRankAttention)


def attention_of(
    bundle: Bundle, source: str, translation: str | None = None, longest: int = LONGEST
) -> SentenceAttention:
    """The attention of a text and its translation: a given one, or the bundle's own.

    UsageError: no such model, an empty text, one that cannot be translated, or one that is too long.
    """
    capture = AttentionCapture(bundle, longest)
    if translation is not None:
        return capture.of(source, translation)
    found = own_translation(bundle, source)
    return capture.of(source, found.text, found.pieces)


def own_translation(bundle: Bundle, source: str) -> Translation:
    """The best translation that the bundle's own search finds; UsageError where there is none."""
    found = BatchTranslator.of(bundle).translate([source])[0][0]
    if found.problem:
        raise UsageError(
            "there is no translation whose attention could be shown",
            why=found.problem,
            hint="mend the sentence",
            code="U156",
        )
    return found


def _pieces(tokenizer: Tokenizer, ids: Sequence[int], places: Sequence[Span]) -> tuple[ShownPiece, ...]:
    named = [ShownPiece(piece_label(tokenizer.piece(number)), place) for number, place in zip(ids, places, strict=True)]
    return (*named, ShownPiece(tokenizer.piece(SYMBOL_IDS.end), None))
