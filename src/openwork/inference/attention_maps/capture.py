"""All attention weights of a text and its translation, by teacher forcing: one step of the model over the whole target.

The weights are those of equation 1 (Vaswani et al. 2017, section 3.2.1) as the model's own attentions compute them.
"""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from openwork.base.errors import UsageError
from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import Bundle
from openwork.decoding.rescore import token_log_probabilities
from openwork.documents.alignment import Span
from openwork.inference.batches import padded
from openwork.inference.documents.aligning import EncodedPair, encode_pair
from openwork.inference.translator import BatchTranslator
from openwork.models.seq2seq import Transformer
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
FULL = 65_535
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


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
        heads, rows, columns = self.weights.shape
        shares = np.round(self.weights.clip(0, 1) * FULL).astype("<u2")
        written = base64.b64encode(shares.tobytes()).decode()
        return {
            "kind": self.kind, "layer": self.layer, "heads": heads, "rows": rows, "columns": columns,
            "weights": written,
        }  # fmt: skip


@dataclass(frozen=True)
class SentenceAttention:
    """What the heads attend to while the model reads a text and predicts its translation.

    Attributes:
        source_pieces: what the encoder reads, the end symbol last.
        target_pieces: what the decoder predicts at each of its positions, the end symbol last. It reads the start
            symbol, then the same but the last.
        log_probabilities: in nats, of each predicted piece.
        layers: of all kinds.
        languages: of the text and its translation, empty where the bundle does not say.
    """

    source: str
    translation: str
    source_pieces: tuple[ShownPiece, ...]
    target_pieces: tuple[ShownPiece, ...]
    start: str
    log_probabilities: tuple[float, ...]
    layers: tuple[AttentionLayer, ...]
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

    UsageError for a model that is no Transformer with an encoder and a decoder.
    """

    def __init__(self, bundle: Bundle) -> None:
        if not isinstance(bundle.model, Transformer) or bundle.tokenizers.encoder.numbers is not None:
            raise UsageError(
                "attention is shown for Transformers that translate texts",
                why=f"the model of this bundle is of the kind {bundle.settings.model.kind}",
                hint='give a bundle that was trained with model.kind = "transformer"',
                code="U154",
            )
        self.model, self.tokenizers = bundle.model.eval(), bundle.tokenizers
        self.languages = (bundle.settings.source_language or "", bundle.settings.target_language or "")
        self.longest = min(LONGEST, self.model.maximum_length or LONGEST)

    def of(self, source: str, translation: str) -> SentenceAttention:
        """The attention while a translation is predicted, whoever made it. UsageError for an empty or too long side."""
        pair = encode_pair(self.tokenizers, source, translation)
        lengths = len(pair.source), len(pair.target)
        is_blank = not source.strip() or not translation.strip()
        if is_blank or not 0 < min(lengths) <= max(lengths) < self.longest:
            raise UsageError(
                f"the text and its translation have {lengths[0]:,} and {lengths[1]:,} pieces",
                why=f"attention is shown for 1 to {self.longest - 1:,} of each",
                hint="give a sentence",
                code="U155",
            )
        layers, terms = self._captured(pair)
        tokenizers = self.tokenizers
        return SentenceAttention(
            source,
            translation,
            _pieces(tokenizers.source, pair.source, pair.source_places),
            _pieces(tokenizers.target, pair.target, pair.target_places),
            piece_label(tokenizers.target.piece(SYMBOL_IDS.start)),
            tuple(terms.tolist()),
            layers,
            self.languages,
        )

    @torch.inference_mode()
    def _captured(self, pair: EncodedPair) -> tuple[tuple[AttentionLayer, ...], Tensor]:
        """The weights of all layers, and the log-probability of each piece with the end symbol."""
        device = next(self.model.parameters()).device
        ids, lengths = padded([pair.source], device)
        given = torch.tensor([[SYMBOL_IDS.start, *pair.target]], device=device)
        predicted = torch.tensor([[*pair.target, SYMBOL_IDS.end]], device=device)
        with recording(self.model) as kept:
            logits, _ = self.model.step(given, self.model.start(ids, lengths))
        found = []
        for kind in KINDS:
            begin, end = ATTENTIONS[kind]
            calls = [kept[name] for name in kept if name.startswith(begin) and name.endswith(end)]
            found += [
                AttentionLayer(kind, number, weights[-1][0].double().cpu().numpy())
                for number, weights in enumerate(calls)
                if weights
            ]
        return tuple(found), token_log_probabilities(logits, predicted)[0].double().cpu()


def attention_of(bundle: Bundle, source: str, translation: str | None = None) -> SentenceAttention:
    """The attention of a text and its translation: a given one, or the bundle's own.

    UsageError: no such model, an empty text, one that cannot be translated, or one that is too long.
    """
    capture = AttentionCapture(bundle)
    if translation is None:
        found = BatchTranslator.of(bundle).translate([source])[0][0]
        if found.problem:
            raise UsageError(
                "there is no translation whose attention could be shown",
                why=found.problem,
                hint="mend the sentence",
                code="U156",
            )
        translation = found.text
    return capture.of(source, translation)


def piece_label(name: str) -> str:
    """A piece as it is shown: a byte of a character as ⟨E6⟩, never as a broken character."""
    return _BYTE.sub(r"⟨\1⟩", name)


def _pieces(tokenizer: Tokenizer, ids: Sequence[int], places: Sequence[Span]) -> tuple[ShownPiece, ...]:
    named = [ShownPiece(piece_label(tokenizer.piece(number)), place) for number, place in zip(ids, places, strict=True)]
    return (*named, ShownPiece(tokenizer.piece(SYMBOL_IDS.end), None))
