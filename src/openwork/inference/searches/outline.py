"""The tree of a search in the order in which it is read: each node with what is below it, and its reason in words."""

from collections.abc import Iterator
from dataclasses import dataclass

from openwork.base.messages import msg
from openwork.decoding.search_tree import SearchNode, SearchTree

FEW = 2  # dropped candidates of each hypothesis that are shown, where not all are


@dataclass(frozen=True)
class Extent:
    """How much of a tree is shown: up to a step (None: all), and all that was dropped, or the first few."""

    step: int | None = None
    everything: bool = False


WHOLE = Extent()


@dataclass(frozen=True)
class Entry:
    """A node of the outline, or in place of several dropped ones their number `more`.

    `lasts`: for each ancestor below the root, and then for itself, whether it is the last one at its place.
    """

    node: SearchNode | None
    lasts: tuple[bool, ...]
    more: int = 0


def outline(tree: SearchTree, extent: Extent = WHOLE) -> Iterator[Entry]:
    """All that is shown, each parent before its children, which come by rank; what a rule excluded comes last."""
    below: dict[int, list[SearchNode]] = {}
    for node in tree.nodes[1:]:
        if node.parent is not None and (extent.step is None or node.step <= extent.step):
            below.setdefault(node.parent, []).append(node)
    waiting = [Entry(tree.nodes[0], ())]
    while waiting:  # a loop, for a tree may be deeper than functions may call each other
        entry = waiting.pop()
        yield entry
        if entry.node is not None:
            waiting += reversed(_below(entry, below.get(entry.node.id, []), extent))


def _below(entry: Entry, nodes: list[SearchNode], extent: Extent) -> list[Entry]:
    ordered = sorted(nodes, key=lambda node: (node.rank == 0, node.rank))
    dropped = [node for node in ordered if node.fate == "dropped"]
    hidden = {node.id for node in dropped[FEW:]} if not extent.everything and len(dropped) > FEW + 1 else set()
    shown = [node for node in ordered if node.id not in hidden]
    last = len(shown) - 1 + bool(hidden)
    entries = [Entry(node, (*entry.lasts, place == last)) for place, node in enumerate(shown)]
    return [*entries, *([Entry(None, (*entry.lasts, True), len(hidden))] if hidden else [])]


def reasons(tree: SearchTree) -> list[str]:
    """What became of each node and why, as a sentence of the catalogue; empty for one that simply goes on."""
    numbers = {one.node: one.rank for one in tree.finished}
    parents = {node.parent for node in tree.nodes if node.rank}
    return [_reason(tree, node, numbers.get(node.id, 0), is_leaf=node.id not in parents) for node in tree.nodes]


def _reason(tree: SearchTree, node: SearchNode, number: int, *, is_leaf: bool) -> str:
    if node.fate == "kept":
        return msg("none of its continuations is among the best candidates") if is_leaf else ""
    if node.fate == "finished":
        cut = msg(f"number {number}, cut off without an end symbol")
        return cut if node.reason else msg(f"finished: number {number}")
    return {
        "rank": msg(f"rank {node.rank}: {tree.beam} before it fill the beam"),
        "end-rank": msg(f"rank {node.rank}: an end counts among the first {tree.beam}"),
        "constraint": msg("a rule of the search excludes it"),
        "limit": msg(f"the length limit of {tree.limit} pieces"),
        "enough": msg("enough hypotheses are finished"),
        "better": msg("no continuation can be better than the finished hypotheses"),
    }[node.reason]
