"""The tree of a search as HTML for a notebook: lists in lists, every text escaped."""

from collections.abc import Callable

from markupsafe import Markup

from openwork.decoding.search_tree import SearchTree
from openwork.inference.searches.outline import Entry, outline, reasons
from openwork.inference.searches.text import finished_lines, more_words, shown_piece

_ITEM = Markup("<li{}>{} <small>{}</small>")
_DROPPED, _BEST = Markup(' style="opacity:0.6"'), Markup(' style="font-weight:bold"')


def tree_html(tree: SearchTree, translate: Callable[[str], str]) -> Markup:
    """The tree, of what was dropped the first few, and below it the finished hypotheses."""
    best = set(tree.path(tree.finished[0].node)) if tree.finished else set()
    words, parts, depth = reasons(tree), [], -1  # of the root it is 0
    for entry in outline(tree):
        below = len(entry.lasts)
        parts.append(Markup("<ul>") if below > depth else _closed(depth - below))
        depth = below
        parts.append(_item(entry, words, best, translate))
    parts += [_closed(depth), Markup("</ul>")]
    table = Markup("<pre>{}</pre>").format("\n".join(finished_lines(tree, translate)))
    return Markup("").join([*parts, table])


def _closed(levels: int) -> Markup:
    """The end of an item, and of so many lists with the items that hold them."""
    return Markup("</li>") + Markup("</ul></li>") * levels


def _item(entry: Entry, words: list[str], best: set[int], translate: Callable[[str], str]) -> Markup:
    """A list item that is still open."""
    node = entry.node
    if node is None:
        return _ITEM.format(_DROPPED, f"× {translate(more_words(entry.more))}", "")
    look = _DROPPED if node.fate == "dropped" else _BEST if node.id in best else Markup("")
    numbers = f"{node.log_probability:z.4f} {node.score:z.4f} {translate(words[node.id])}".strip()
    return _ITEM.format(look, shown_piece(node), numbers)
