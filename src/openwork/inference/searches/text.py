"""The tree of a search for a terminal, and the table of its finished hypotheses; widths are those of the display."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from openwork.base.messages import msg
from openwork.base.phrases import Padded, shown_width
from openwork.decoding.search_tree import SearchNode, SearchTree
from openwork.inference.searches.outline import WHOLE, Entry, Extent, outline, reasons
from openwork.inspection.attention_view import visible
from openwork.inspection.trace_text import wrapped

Translate = Callable[[str], str]
NUMBER = 10  # columns of a number
STEP = 4
BESIDE = STEP + 2 * NUMBER + 2  # columns before the tree
NOTE = 30  # columns that are kept free for a reason


class TreeLine(NamedTuple):
    """A line of text: of the path to the best hypothesis, of something dropped, or any other."""

    text: str
    look: Literal["best", "dropped", ""]


def search_text(tree: SearchTree, width: int, translate: Translate, extent: Extent = WHOLE) -> Iterator[TreeLine]:
    """What was searched, the tree, and the table of the finished hypotheses, in this order."""
    for line in (*heading_lines(tree, width, translate), ""):
        yield TreeLine(line, "")
    yield from tree_lines(tree, width, translate, extent)
    for line in ("", *finished_lines(tree, translate)):
        yield TreeLine(line, "")


def tree_lines(tree: SearchTree, width: int, translate: Translate, extent: Extent = WHOLE) -> Iterator[TreeLine]:
    """The tree: on each line a step, the log-probability of a piece (nats), the sum up to it, the piece, and its fate.

    The tree is narrower where it would be deeper than `width` columns allow.
    """
    entries = list(outline(tree, extent))
    deepest = max(len(entry.lasts) for entry in entries)
    indent = 2 if BESIDE + 2 * deepest + NOTE <= width else 1
    best = set(tree.path(tree.finished[0].node)) if tree.finished else set()
    cells = [_branch(entry, indent) + _name(entry, translate) for entry in entries]
    sentences = reasons(tree)
    notes = ["" if entry.node is None else translate(sentences[entry.node.id]) for entry in entries]
    column = max((shown_width(cell) for cell, note in zip(cells, notes, strict=True) if note), default=0)
    if BESIDE + column + 2 + max(map(shown_width, notes)) > width:
        column = 0  # reasons then follow their pieces
    titles = [Padded(translate(title), columns, right=True) for title, columns in _TITLES]
    yield TreeLine("".join(titles), "")
    for entry, cell, note in zip(entries, cells, notes, strict=True):
        filled = f"{Padded(cell, column)}  {note}" if note else cell
        look = "dropped" if entry.node is None or entry.node.fate == "dropped" else ""
        look = "best" if entry.node is not None and entry.node.id in best else look
        yield TreeLine(f"{_numbers(entry)}  {filled}", look)


_TITLES = ((msg("step"), STEP), (msg("log p"), NUMBER), (msg("sum"), NUMBER))


def _numbers(entry: Entry) -> str:
    node = entry.node
    if node is None or node.parent is None:
        return " " * (BESIDE - 2)
    return f"{node.step:{STEP}d}{node.log_probability:{NUMBER}.4f}{node.score:{NUMBER}.4f}"


def _branch(entry: Entry, indent: int) -> str:
    if not entry.lasts:
        return ""
    before = "".join((" " if last else "│").ljust(indent) for last in entry.lasts[:-1])
    return before + ("└" if entry.lasts[-1] else "├") + "─" * (indent - 1)


def _name(entry: Entry, translate: Translate) -> str:
    return f"× {translate(more_words(entry.more))}" if entry.node is None else shown_piece(entry.node)


def more_words(count: int) -> str:
    """So many that were dropped."""
    return msg(f"{count} further candidates")


def shown_piece(node: SearchNode) -> str:
    """The piece with its spaces visible, behind a mark where it is finished or dropped."""
    return {"kept": "", "finished": "✓ ", "dropped": "× "}[node.fate] + visible(node.piece)


def heading_lines(tree: SearchTree, width: int, translate: Translate) -> Iterator[str]:
    """The source with the best hypothesis, the settings, and why the search ended."""
    best = f" → {tree.finished[0].text}" if tree.finished else ""
    yield from wrapped(f"{tree.source}{best}", width, "  ")
    base = "length" if tree.length_rule == "power" else "((5 + length) / 6)"
    facts = [msg(f"beam {tree.beam}"), msg(f"length penalty {base}^{tree.length_penalty:g}")]
    facts.append(msg(f"at most {tree.limit} pieces"))
    yield from wrapped(translate("; ".join(facts)), width, "  ")
    ends = {
        "limit": msg("it ended at the length limit"),
        "enough": msg("it ended when enough hypotheses were finished"),
        "better": msg("it ended when no continuation could be better than the finished hypotheses"),
    }
    yield from wrapped(translate(ends.get(tree.stopped, msg("it ended when nothing could go on"))), width, "  ")


def finished_lines(tree: SearchTree, translate: Translate) -> Iterator[str]:
    """The finished hypotheses, best first: final = log-probability / penalty + credit of the coverage penalty."""
    if not tree.finished:
        yield translate(msg("no hypothesis is finished"))
        return
    is_credited = any(one.credit for one in tree.finished)
    credit = [msg("coverage")] if is_credited else []
    titles = ["", msg("log-probability"), msg("length"), msg("penalty"), *credit, msg("final"), msg("text")]
    rows: list[Sequence[str]] = [[translate(title) if title else "" for title in titles]]
    for one in tree.finished:
        added = [f"{one.credit:z.4f}"] if is_credited else []
        numbers = [f"{one.score:z.4f}", str(one.length), f"{one.penalty:.4f}", *added, f"{one.final:z.4f}"]
        rows.append([str(one.rank), *numbers, one.text])
    widths = [max(shown_width(row[place]) for row in rows) for place in range(len(titles) - 1)]
    for row in rows:
        cells = [Padded(cell, width, right=True) for cell, width in zip(row[:-1], widths, strict=True)]
        yield "  ".join([*cells, row[-1]])
