"""A look inside as lines for a terminal, in the reader's language."""

from collections.abc import Callable, Iterator

from openwork.base.messages import msg
from openwork.base.printing import one_line
from openwork.inference.attention_maps.capture import SentenceAttention
from openwork.inference.attention_maps.deletion import Reasons
from openwork.inference.attention_maps.facts import HeadFacts
from openwork.inference.attention_maps.look import LookInside
from openwork.inference.attention_maps.views import MapChoice, alignment_line, chosen_map, masked_cells
from openwork.inspection.attention_text import MASKED, map_lines, table_lines
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
    "random": msg("random order, the mean of several"),
}
NO_EXPLANATION = msg("Attention shows what the model attends to; it is not by itself an explanation of its output.")


def attention_lines(found: SentenceAttention, choice: MapChoice, width: int, translate: Translate) -> Iterator[str]:
    """The sentence, the chosen map and the alignment."""
    shown = chosen_map(found, choice, translate)
    yield from wrapped(f"{one_line(found.source)} → {one_line(found.translation)}", width, "  ")
    yield translate(msg(f"ln p = {found.log_probability:.4f} nats"))
    yield ""
    yield from wrapped(translate(choice.name), width, "  ")
    yield from wrapped(f"{translate(shown.row_title)} / {translate(shown.column_title)}", width, "  ")
    masked = masked_cells(shown, choice.kind)
    yield from map_lines(shown, width, translate, masked)
    if masked is not None:
        yield f"{MASKED} {translate(msg('masked: a decoder does not see later pieces'))}"
    yield ""
    yield from wrapped(translate(msg("alignment of pieces, source-target:")), width, "  ")
    yield from wrapped(alignment_line(found), width, "  ")


def fact_lines(facts: list[HeadFacts], width: int, translate: Translate) -> Iterator[str]:
    """A line for each head: how spread its weights are, how far it looks, and how often at a neighbour."""
    names = [translate(msg("layer, head")), *(f"{one.kind} {one.layer}, {one.head}" for one in facts)]
    numbers = {
        msg("entropy"): [one.entropy for one in facts],
        msg("distance"): [one.distance for one in facts],
        "-1": [one.before for one in facts],
        "0": [one.same for one in facts],
        "+1": [one.after for one in facts],
        msg("largest"): [one.largest for one in facts],
    }
    yield from wrapped(
        translate(msg("each head: entropy in nats, distance in positions, mean weight at offsets, largest weight")),
        width, "  ",
    )  # fmt: skip
    columns = [[translate(name), *(f"{value:.2f}" for value in values)] for name, values in numbers.items()]
    yield from table_lines(names, columns, width)


def reason_lines(found: SentenceAttention, why: Reasons, width: int, translate: Translate) -> Iterator[str]:
    """The scores of each source piece, and the area under each method's deletion curve."""
    scores = why.attributions.scores
    yield from wrapped(translate(NO_EXPLANATION), width, "  ")
    letters = dict(zip([*scores, "random"], "abcdefghijkl", strict=False))
    names = ["", *(visible(piece.text) for piece in found.source_pieces)]
    columns = [[letters[name], *(f"{value:.3f}" for value in values)] for name, values in scores.items()]
    yield from wrapped(
        translate(msg("scores of the source pieces, the mean of all pieces of the translation")), width, "  "
    )
    yield from table_lines(names, columns, width)
    yield ""
    yield from wrapped(
        translate(
            msg("area under the deletion curve in nats: the lower, the better the method says what the model goes by")
        ),
        width, "  ",
    )  # fmt: skip
    for curve in sorted(why.curves, key=lambda one: one.area):
        line = f"{curve.area:9.3f}  {letters[curve.method]}  {translate(METHODS[curve.method])}"
        yield from wrapped(line, width, " " * 14)
    for name, reason in why.attributions.left_out.items():
        yield from wrapped(f"{translate(METHODS[name])}: {translate(reason)}", width, "  ")


def look_lines(inside: LookInside, choice: MapChoice, width: int, translate: Translate) -> Iterator[str]:
    """All of it; of the facts those of the chosen kind, layer and head."""
    if inside.removed is not None and inside.changed is not None:
        texts = {
            translate(msg("with all heads")): inside.attention.translation,
            translate(msg(f"without {inside.removed}")): inside.changed.text,
        }
        for name, text in texts.items():
            yield from wrapped(f"{name}: {one_line(text)}", width, "  ")
        yield ""
    yield from attention_lines(inside.attention, choice, width, translate)
    yield ""
    chosen = [one for one in inside.facts if one.kind == choice.kind and choice.layer in (None, one.layer)]
    yield from fact_lines([one for one in chosen if choice.head in (None, one.head)], width, translate)
    if inside.reasons is not None:
        yield ""
        yield from reason_lines(inside.attention, inside.reasons, width, translate)
