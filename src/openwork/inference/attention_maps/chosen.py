"""One map of a sentence's attention: of a head, or the mean over heads and layers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from openwork.base.messages import msg
from openwork.inference.attention_maps.capture import SentenceAttention, column_names, no_attention, row_names
from openwork.inference.attention_maps.maps import Kind
from openwork.inspection.trace import check_head, check_layer

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
        """UsageError for a kind, layer or head that the model does not have."""
        layers = found.of_kind(kind)
        if not layers:
            raise no_attention(TITLES[kind], msg("this bundle was trained without it"))
        check_layer(layer, len(layers))
        check_head(head, layers[0].heads)
        kept = [one.weights for one in layers if layer in (None, one.layer)]
        weights = np.mean([one.mean(0) if head is None else one[head] for one in kept], axis=0)
        return cls(kind, layer, head, weights, row_names(found, kind), column_names(found, kind))

    def title(self, translate: Callable[[str], str]) -> str:
        which = [translate("all layers") if self.layer is None else f"{translate('layer')} {self.layer}"]
        which += [translate("mean of the heads") if self.head is None else f"{translate('head')} {self.head}"]
        return f"{translate(TITLES[self.kind])}: {', '.join(which)}"
