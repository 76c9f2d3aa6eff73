"""One map of a sentence's attention: of a head, or the mean over heads and layers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from openwork.base.errors import UsageError
from openwork.base.messages import msg
from openwork.inference.attention_maps.capture import Kind, SentenceAttention

TITLES: dict[Kind, str] = {
    "encoder": msg("Encoder self-attention"),
    "decoder": msg("Decoder self-attention"),
    "cross": msg("Cross-attention"),
}


@dataclass(frozen=True)
class ChosenMap:
    """The weights (query, key) of a head, or the mean over the heads, and over the layers, that are not chosen.

    Attributes:
        layer, head: counted from 0; None: the mean of all.
        rows: names; one of the decoder has what it reads and what it predicts.
    """

    kind: Kind
    layer: int | None
    head: int | None
    weights: np.ndarray
    rows: Sequence[tuple[str, ...]]
    columns: Sequence[str]

    @classmethod
    def of(cls, found: SentenceAttention, kind: Kind, layer: int | None = None, head: int | None = None) -> "ChosenMap":
        """UsageError for a layer or head that the model does not have."""
        layers = found.of(kind)
        for name, asked, count in (("layer", layer, len(layers)), ("head", head, layers[0].weights.shape[0])):
            if asked is not None and asked >= count:
                raise UsageError(
                    f"--{name} {asked}: there is no such {name}",
                    why=f"this attention has {count}, counted from 0",
                    hint="give a smaller number, or leave it out for the mean of all",
                    code="U157",
                )
        kept = [one.weights for one in layers if layer in (None, one.layer)]
        weights = np.mean([one.mean(0) if head is None else one[head] for one in kept], axis=0)
        return cls(kind, layer, head, weights, *_names(found, kind))

    def title(self, translate: Callable[[str], str]) -> str:
        which = [translate("all layers") if self.layer is None else f"{translate('layer')} {self.layer}"]
        which += [translate("mean of the heads") if self.head is None else f"{translate('head')} {self.head}"]
        return f"{translate(TITLES[self.kind])}: {', '.join(which)}"


def _names(found: SentenceAttention, kind: Kind) -> tuple[list[tuple[str, ...]], list[str]]:
    source = [piece.text for piece in found.source_pieces]
    if kind == "encoder":
        return [(text,) for text in source], source
    rows: list[tuple[str, ...]] = [
        (given, piece.text) for given, piece in zip(found.inputs, found.target_pieces, strict=True)
    ]
    return rows, list(found.inputs) if kind == "decoder" else source
