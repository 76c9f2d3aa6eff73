"""A chosen part of a sentence's attention, as what is shown: a map, a file of its weights, an alignment."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool

from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined
from openwork.base.printing import one_line
from openwork.inference.attention_maps.capture import SentenceAttention, column_names, no_attention, row_names
from openwork.inference.attention_maps.maps import Kind, LayerMap, mean_of
from openwork.inspection.attention_view import COLUMN_TITLE, ROW_TITLE, AttentionMap
from openwork.inspection.trace import check_head, check_layer

KIND_NAMES: dict[Kind, str] = {
    "encoder": msg("self-attention of the encoder"),
    "decoder": msg("self-attention of the decoder"),
    "cross": msg("attention of the decoder to the source"),
}
TITLES: dict[Kind, tuple[str, str]] = {
    "encoder": (msg("source, each piece that attends"), msg("source, the pieces that are attended to")),
    "decoder": (ROW_TITLE, msg("decoder's input")),
    "cross": (ROW_TITLE, COLUMN_TITLE),
}
CSV_HEADER = ("kind", "layer", "head", "query", "key", "query_piece", "key_piece", "weight")


@dataclass(frozen=True)
class MapChoice:
    """Which weights are shown: of one kind, of a layer or of all, of a head or of all; both count from 0."""

    kind: Kind = "cross"
    layer: int | None = None
    head: int | None = None

    def of(self, found: SentenceAttention) -> list[LayerMap]:
        """The chosen maps with the chosen heads. UsageError for a kind, a layer or a head that the model has not."""
        maps = found.of_kind(self.kind)
        if not maps:
            raise no_attention(KIND_NAMES[self.kind], msg("its layers have no weights between pieces of this kind"))
        check_layer(self.layer, len(maps))
        check_head(self.head, maps[0].heads)
        heads = slice(None) if self.head is None else slice(self.head, self.head + 1)
        layers = maps if self.layer is None else maps[self.layer : self.layer + 1]
        return [LayerMap(one.kind, one.layer, one.weights[heads]) for one in layers]

    @property
    def name(self) -> str:
        """What is chosen, in words."""
        if self.layer is None and self.head is None:
            which = msg("the mean of all heads of all layers")
        elif self.head is None:
            which = msg(f"layer {self.layer}, the mean of its heads")
        elif self.layer is None:
            which = msg(f"head {self.head}, the mean of all layers")
        else:
            which = msg(f"layer {self.layer}, head {self.head}")
        return Joined(KIND_NAMES[self.kind], ": ", which)


def chosen_map(found: SentenceAttention, choice: MapChoice, translate: Callable[[str], str]) -> AttentionMap:
    """The mean of what is chosen, with the sentence and the choice as its title. UsageError as of `MapChoice.of`."""
    weights = mean_of(choice.of(found))
    title = f"{one_line(found.source)} → {one_line(found.translation)}"
    return AttentionMap(
        translate(Joined(AsIs(title), AsIs(" · "), choice.name)), weights, row_names(found, choice.kind),
        column_names(found, choice.kind), choice.name, *TITLES[choice.kind],
    )  # fmt: skip


def masked_cells(shown: AttentionMap, kind: Kind) -> Bool[np.ndarray, "query key"] | None:
    """Where a decoder may not look: the later positions. None: everywhere it may."""
    return np.triu(np.ones(shown.weights.shape, bool), 1) if kind == "decoder" else None


def alignment_line(found: SentenceAttention) -> str:
    """Each piece of the translation with the source piece that it attends to most, as "source-target" (Pharaoh's form).

    By the mean of all heads of all layers, as `documents/aligning.py` aligns; symbols are left out, pieces count from
    0.
    """
    weights = mean_of(found.of_kind("cross"))
    sources = [place for place, piece in enumerate(found.source_pieces) if not piece.is_special]
    targets = [place for place, piece in enumerate(found.target_pieces) if not piece.is_special]
    if not sources:
        return ""
    return " ".join(f"{sources[int(weights[target, sources].argmax())]}-{target}" for target in targets)


def csv_text(found: SentenceAttention, choice: MapChoice) -> str:
    """The weights of each chosen head, one a line, under `CSV_HEADER`; layers, heads and pieces count from 0."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_HEADER)
    queries = [" → ".join(names) for names in row_names(found, choice.kind)]
    keys = column_names(found, choice.kind)
    for one in choice.of(found):
        for (head, query, key), weight in np.ndenumerate(one.weights):
            number = head if choice.head is None else choice.head
            writer.writerow([one.kind, one.layer, number, query, key, queries[query], keys[key], f"{weight:.8g}"])
    return text.getvalue()


def is_csv(path: Path) -> bool:
    """Whether the file is one that `csv_text` made."""
    with path.open("rb") as file:
        return file.read(200).startswith(",".join(CSV_HEADER).encode() + b"\n")


def is_svg(path: Path) -> bool:
    """Whether the file is a figure of openwork's."""
    with path.open("rb") as file:
        start = file.read(2000)
    return start.startswith(b"<svg ") and b'class="openwork-figure"' in start
