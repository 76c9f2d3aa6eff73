"""Facts of heads and what explains a translation, as tables for a terminal.

Columns are aligned by display cell: a Chinese character takes two.
"""

from collections.abc import Callable, Iterator, Sequence

from openwork.base.messages import msg
from openwork.base.phrases import Padded, shown_width
from openwork.base.printing import one_line
from openwork.inference.attention_maps.capture import SentenceAttention
from openwork.inference.attention_maps.chosen import ChosenMap
from openwork.inference.attention_maps.deletion import RANDOM, Reasons
from openwork.inference.attention_maps.look import LookInside, RemovedHead
from openwork.inference.attention_maps.text import attention_text
from openwork.inspection.attention_view import visible
from openwork.inspection.trace_text import wrapped

Translate = Callable[[str], str]

METHODS = {
    "gradient-input": msg("gradient x input"),
    "integrated-gradients": msg("integrated gradients, from zero vectors"),
    "occlusion": msg("occlusion: the piece replaced by <unk>"),
    "value-zeroing": msg("value zeroing"),
    "attention-last": msg("attention, the mean of the last layer's heads"),
    "attention-all": msg("attention, the mean of all layers and heads"),
    "attention-rollout": msg("attention, all layers, through the encoder (rollout)"),
    RANDOM: msg("random order, the mean of several"),
}
LETTERS = dict(zip(METHODS, "abcdefgh", strict=True))  # name the columns of the table
FACTS = msg("each head: entropy in nats, distance in positions, mean weight at offsets, largest weight")
NO_EXPLANATION = msg("Attention shows what the model attends to; it is not by itself an explanation of its output.")
SCORES = msg("scores of the source pieces, the mean of all pieces of the translation:")
AREAS = msg("area under the deletion curve in nats; the lower, the better the method says what the model goes by:")
INDENT = "  "


def look_text(inside: LookInside, chosen: ChosenMap, width: int, translate: Translate) -> str:
    """The map with its alignment, the facts of the chosen heads, and what else was asked for."""
    parts = [attention_text(inside.attention, chosen, width, translate)]
    parts.append("\n".join(fact_lines(inside, chosen, width, translate)))
    if inside.removed is not None:
        parts.insert(0, "\n".join(_both_translations(inside.removed, width, translate)))
    if inside.reasons is not None:
        parts.append("\n".join(reason_lines(inside.attention, inside.reasons, width, translate)))
    return "\n\n".join(parts)


def _both_translations(removed: RemovedHead, width: int, translate: Translate) -> Iterator[str]:
    texts = {msg("with all heads"): removed.original, msg(f"without {removed.head}"): removed.changed.text}
    for name, text in texts.items():
        yield from wrapped(f"{translate(name)}: {one_line(text)}", width, INDENT)


def fact_lines(inside: LookInside, chosen: ChosenMap, width: int, translate: Translate) -> Iterator[str]:
    """A line for each head of the chosen kind, layer and head."""
    facts = [
        one
        for one in inside.facts
        if one.kind == chosen.kind and chosen.layer in (None, one.layer) and chosen.head in (None, one.head)
    ]
    names = [translate(msg("layer, head")), *(f"{one.layer}, {one.head}" for one in facts)]
    numbers = {
        translate(msg("entropy")): [one.entropy for one in facts],
        translate(msg("distance")): [one.distance for one in facts],
        "-1": [one.before for one in facts],
        "0": [one.same for one in facts],
        "+1": [one.after for one in facts],
        translate(msg("largest")): [one.largest for one in facts],
    }
    yield from wrapped(translate(FACTS), width, INDENT)
    yield from table_lines(names, [[name, *(f"{value:.2f}" for value in values)] for name, values in numbers.items()])


def reason_lines(found: SentenceAttention, why: Reasons, width: int, translate: Translate) -> Iterator[str]:
    """The scores of each source piece by each method, and the area under each method's deletion curve."""
    yield from wrapped(translate(NO_EXPLANATION), width, INDENT)
    yield from wrapped(translate(SCORES), width, INDENT)
    names = ["", *(visible(piece.text) for piece in found.source_pieces)]
    scores = [(name, why.attributions.scores[name]) for name in METHODS if name in why.attributions.scores]
    yield from table_lines(names, [[LETTERS[name], *(f"{value:.3f}" for value in values)] for name, values in scores])
    yield ""
    yield from wrapped(translate(AREAS), width, INDENT)
    for curve in sorted(why.curves, key=lambda one: one.area):
        line = f"{curve.area:9.3f}  {LETTERS[curve.method]}  {translate(METHODS[curve.method])}"
        yield from wrapped(line, width, " " * 14)
    for name, reason in why.attributions.left_out.items():
        yield from wrapped(f"{translate(METHODS[name])}: {translate(reason)}", width, INDENT)


def table_lines(names: Sequence[str], columns: Sequence[Sequence[str]]) -> Iterator[str]:
    """Names on the left, the columns right-aligned; the first name and the first of each column are the head."""
    beside = max(map(shown_width, names))
    widths = [max(map(shown_width, column)) for column in columns]
    for name, *cells in zip(names, *columns, strict=True):
        padded = (Padded(cell, width, right=True) for cell, width in zip(cells, widths, strict=True))
        yield " ".join([Padded(name, beside), *padded]).rstrip()
