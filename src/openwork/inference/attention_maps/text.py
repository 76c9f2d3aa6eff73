"""Attention for a terminal: a map of shades with digits, as wide as the terminal, and the alignment of words."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from openwork.base.messages import msg
from openwork.base.phrases import Padded, fitted, shown_width
from openwork.inference.attention_maps.asking import AttentionFindings
from openwork.inference.attention_maps.capture import SentenceAttention
from openwork.inference.attention_maps.chosen import ChosenMap
from openwork.inference.attention_maps.deletion import Reasons
from openwork.inference.attention_maps.facts import HeadFacts
from openwork.inference.attention_maps.source_text import source_text
from openwork.inference.attention_maps.survey import HeadOnRelation
from openwork.inference.attention_maps.words import pieces_of, words_of
from openwork.inspection.attention_view import visible
from openwork.inspection.trace_text import wrapped

SHADES, STEPS = " ░▒▓█", (0.05, 0.2, 0.4, 0.6)
CELL = 5  # columns of the terminal: a shade, the weight, and a space
SMALLEST = 0.005  # weights below it are shown as a point
LONGEST_ROW = 32
LISTED = 20  # heads on relations
MASKED = "   -"


def findings_text(found: AttentionFindings, chosen: ChosenMap, width: int, translate: Callable[[str], str]) -> str:
    """The map, the alignment, the numbers of the heads, and what else was asked."""
    parts = [
        attention_text(found.sentence, chosen, width, translate),
        facts_text(found.facts, chosen, width, translate),
    ]
    if found.reasons is not None:
        parts.append(reasons_text(found.sentence, found.reasons, translate))
    if found.without is not None:
        head, other = found.without
        parts += ["", f"{translate('without')} {head}: {other.text}"]
    return "\n".join(parts)


def attention_text(found: SentenceAttention, chosen: ChosenMap, width: int, translate: Callable[[str], str]) -> str:
    """The map and the alignment, in lines of at most `width` columns where they can be so short."""
    if found.view is not None and chosen.kind != "decoder":
        return source_text(found, found.view, chosen, width, translate)
    rows, columns = chosen.rows, chosen.columns
    names = [fitted(" → ".join(map(visible, row)), LONGEST_ROW) for row in rows]
    beside = max(map(shown_width, names))
    together = max(1, (width - beside) // CELL)
    lines = [*wrapped(f"{found.source} → {found.translation}", width, "  ")]
    lines += wrapped(chosen.title(translate), width, "  ")
    for first in range(0, len(columns), together):
        places = range(first, min(first + together, len(columns)))
        lines += ["", " " * beside + "".join(Padded(str(place + 1), CELL, right=True) for place in places)]
        lines += [_row(Padded(name, beside), chosen, row, places) for row, name in enumerate(names)]
    lines += ["", *_numbered(columns, width)]
    if chosen.kind == "cross":
        lines += ["", *wrapped(f"{translate('alignment of words')}: {' '.join(word_links(found))}", width, "  ")]
    return "\n".join(lines)


def _row(name: str, chosen: ChosenMap, row: int, places: Sequence[int]) -> str:
    masked = [chosen.kind == "decoder" and place > row for place in places]
    return name + "".join(
        " " + (MASKED if hidden else _cell(chosen.weights[row, place]))
        for place, hidden in zip(places, masked, strict=True)
    )


def _numbered(names: Sequence[str], width: int) -> Iterator[str]:
    """Which name each number stands for, as many on a line as fit."""
    line = ""
    for number, name in enumerate(names, start=1):
        entry = f"{number} {visible(name)}"
        if line and shown_width(line) + 2 + shown_width(entry) > width:
            yield line
            line = ""
        line += f"  {entry}" if line else entry
    yield line


def _cell(weight: float) -> str:
    shade = SHADES[sum(weight >= step for step in STEPS)]
    if weight < SMALLEST:
        return "   ·"
    return shade + ("1.0" if weight >= 0.995 else f"{weight:.2f}".removeprefix("0"))


FACTS = msg("each head: entropy in nats, distance in positions, mean weight at offsets -1, 0 and +1, largest weight")


def facts_text(facts: Sequence[HeadFacts], chosen: ChosenMap, width: int, translate: Callable[[str], str]) -> str:
    """A row for each head of the chosen kind, layer and head."""
    of_kind = [one for one in facts if one.kind == chosen.kind and chosen.layer in (None, one.layer)]
    names = [translate(msg("layer, head")), translate(msg("entropy")), translate(msg("distance"))]
    table = [[*names, "-1", "0", "+1", translate(msg("largest"))]]
    for one in of_kind:
        if chosen.head in (None, one.head):
            values = (one.entropy, one.distance, one.before, one.same, one.after, one.largest)
            table.append([f"{one.layer}, {one.head}", *(f"{value:.2f}" for value in values)])
    widths = [max(map(shown_width, column)) for column in zip(*table, strict=True)]
    lines = ["  ".join(map(partial(Padded, right=True), row, widths)) for row in table]
    return "\n".join(["", *wrapped(translate(FACTS), width, "  "), *lines])


def reasons_text(found: SentenceAttention, why: Reasons, translate: Callable[[str], str]) -> str:
    """What the translation comes from: a row for each piece of the source, a column for each method, best last.

    Methods stand in the order of the areas under their deletion curves: the smaller, the more the order of a method's
    scores says what this translation comes from.
    """
    curves = sorted(why.curves, key=lambda curve: -curve.area)
    scores = why.attributions.scores
    names = [fitted(visible(piece.text), LONGEST_ROW) for piece in found.source_pieces]
    beside = max(map(shown_width, names))
    table = [["", *(str(number) for number in range(1, len(curves) + 1))]]
    for row, name in enumerate(names):
        cells = [f"{scores[curve.method][row]:.3f}" if curve.method in scores else "" for curve in curves]
        table.append([Padded(name, beside), *cells])
    width = 1 + max(len(cell) for row in table for cell in row[1:])
    lines = [Padded(row[0], beside) + "".join(cell.rjust(width) for cell in row[1:]) for row in table]
    listed = [f"{number}  {curve.method}: {curve.area:.3f}" for number, curve in enumerate(curves, start=1)]
    heading = translate("the area under each method's deletion curve, in nats; the smallest is the best order")
    return "\n".join(["", *lines, "", *wrapped(heading, 100, ""), *listed])


NOTE = msg(
    "weight: from the one word to the other; chance: to the other words; most: where no other word has more; p: by "
    "chance, corrected for all heads and relations"
)


def survey_text(found: Sequence[HeadOnRelation], width: int, translate: Callable[[str], str]) -> str:
    """A table of the first heads on relations, and what its columns are."""
    names = [msg("relation"), msg("pairs"), msg("layer, head"), msg("weight"), msg("chance"), msg("most"), "p"]
    table = [[translate(name) for name in names]]
    for one in found[:LISTED]:
        numbers = (f"{one.weight:.3f}", f"{one.chance:.3f}", f"{100 * one.most:.0f} %", f"{one.p:.4f}")
        table.append([fitted(one.relation, LONGEST_ROW), str(one.pairs), f"{one.layer}, {one.head}", *numbers])
    first, *others = (max(map(shown_width, column)) for column in zip(*table, strict=True))
    lines = ["  ".join([Padded(row[0], first), *map(partial(Padded, right=True), row[1:], others)]) for row in table]
    return "\n".join([*lines, "", *wrapped(translate(NOTE), width, "")])


def word_links(found: SentenceAttention) -> Iterator[str]:
    """For each word of the translation its source word, as 0-0 1-2 (Pharaoh's format), by the mean of all heads.

    Words stand between white space; Chinese and Japanese characters are words by themselves. Of a word's pieces the
    weights are added up, over both sides.
    """
    weights = ChosenMap.of(found, "cross").weights
    sources = [pieces_of(word, [one.place for one in found.source_pieces]) for word in words_of(found.source)]
    for number, word in enumerate(words_of(found.translation)):
        rows = pieces_of(word, [one.place for one in found.target_pieces])
        sums = [weights[np.ix_(rows, columns)].sum() for columns in sources]
        if sums and max(sums) > 0:
            yield f"{int(np.argmax(sums))}-{number}"
