"""The figures drawn with characters, from below to above as in the paper, in the names of our own parts."""

from collections.abc import Sequence
from dataclasses import dataclass

from openwork.nn.attention import MultiHeadAttention
from openwork.nn.kernels.reference import attention, attention_scores, masked_scores, softmax_over, weighted_sum

CELL, MARK = 24, 4  # columns of a name, and of what stands before it


@dataclass(frozen=True)
class Drawn:
    """A box: the name of its part, and how many of it there are; boxes of which there are several make a layer."""

    name: str
    copies: int


def draw_stacks(left: Sequence[Drawn], right: Sequence[Drawn], asks: int, ends: tuple[str, str, str]) -> list[str]:
    """Two stacks side by side, given from below; the box `asks` of the right one reads what the left one gives.

    That box stands below the top of the left stack. `ends`: what goes in on the left and on the right, and what comes
    out on the right.
    """
    top = len(left) - 1
    source, target, output = (" " * (MARK + 2) + end for end in ends)
    rows = [
        _line(_cell(left, place), _joint(place, asks, top), _cell(right, place))
        for place in reversed(range(len(right)))
    ]
    return [_line("", "", output), *rows, _line(source, "", target)]


def _line(left: str, joint: str, right: str) -> str:
    width = MARK + 2 + CELL
    return f"{left:<{width}}{joint:<6}{right}".rstrip()


def _joint(place: int, asks: int, top: int) -> str:
    """The way from the top of the left stack down to the box that reads it."""
    return {top: "─┐", asks: " └──▶"}.get(place, " │" if asks < place < top else "")


def _cell(stack: Sequence[Drawn], place: int) -> str:
    """A box's name; the layers are held together by a bracket, with their number at its lower end."""
    if place >= len(stack):
        return ""
    box = stack[place]
    if box.copies == 1:
        return " " * (MARK + 2) + box.name
    layered = [at for at, other in enumerate(stack) if other.copies > 1]
    bracket = {layered[0]: "└ ", layered[-1]: "┌ "}.get(place, "│ ")
    mark = f"{box.copies} × " if place == layered[0] else ""
    return f"{mark:<{MARK}}{bracket}{box.name}"


def draw_attention(heads: int) -> list[str]:
    """Both halves of figure 2: equation 1 by the functions of the reference kernel, and the heads around it."""
    values = CELL + MARK  # the column in which the values go up
    up = f"{'▲':<{values}}│"
    rows = (
        (f"{weighted_sum.__name__} ◀{'─' * (values - len(weighted_sum.__name__) - 2)}┐", "output"),
        (up, "▲"),
        (f"{softmax_over.__name__:<{values}}│", MultiHeadAttention.join.__name__),
        (up, "▲"),
        (f"{masked_scores.__name__:<{values}}│", f"{heads} × {attention.__name__}"),
        (up, "▲"),
        (f"{attention_scores.__name__ + ', scale':<{values}}│", MultiHeadAttention.split.__name__),
        (up, "▲"),
        (f"{'Q, K':<{values}}V", "query, key, value"),
    )
    return [f"{left:<{values + 5}}{right}" for left, right in rows]
