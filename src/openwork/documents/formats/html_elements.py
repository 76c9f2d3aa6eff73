"""Elements of HTML: which are part of a line of text, which are not translated, and where each ends."""

from collections.abc import Sequence

from openwork.documents.formats.html_tokens import Kind, Token, names

# Elements that end a line of text. All others, unknown ones too, are within it, as browsers show them.
BLOCKS = names(
    """address article aside base blockquote body button caption center col colgroup datalist dd details dialog dir div
    dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li
    link listing main menu meta nav noembed noframes noscript ol optgroup option p param plaintext pre search section
    select slot summary table tbody td textarea tfoot th thead title tr track ul xmp"""
)
# Elements that stay as they are. A reader sees the content of the first ones within a line of text.
SHOWN = names("code kbd samp var tt math")
HIDDEN = names("script style template svg iframe audio video canvas object")
KEPT_BLOCKS = names("pre textarea listing xmp plaintext noembed noframes")

_PARAGRAPH_ENDS = names(
    """address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form h1 h2 h3
    h4 h5 h6 header hgroup hr main menu nav ol p pre search section summary table ul li dd dt"""
)
_CELLS, _ROWS, _GROUPS = ("td", "th"), ("tr",), ("thead", "tbody", "tfoot")
# An opening tag -> the elements that it ends, and those that shield them.
_ENDED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "li": (("li",), ("ul", "ol", "menu")),
    "dt": (("dt", "dd"), ("dl",)),
    "dd": (("dt", "dd"), ("dl",)),
    "option": (("option",), ("select", "datalist")),
    "optgroup": (("optgroup", "option"), ("select",)),
    **dict.fromkeys(_CELLS, (_CELLS, ("table",))),
    "tr": ((*_ROWS, *_CELLS), ("table",)),
    **dict.fromkeys(_GROUPS, ((*_GROUPS, *_ROWS, *_CELLS), ("table",))),
}
_SHIELDS = ("button", "td", "th", "caption", "object")  # of a paragraph
_ANY_BLOCK = "any block"  # in place of a name


class _Open:
    """The elements that are open at a place of the document."""

    def __init__(self) -> None:
        self.ends: dict[int, int] = {}
        self._stack: list[tuple[int, str]] = []
        self._depths: dict[str, list[int]] = {}

    def push(self, place: int, name: str) -> None:
        for key in _keys(name):
            self._depths.setdefault(key, []).append(len(self._stack))
        self._stack.append((place, name))

    def deepest(self, names: Sequence[str]) -> int:
        """The depth of the innermost open element with one of the names, or -1."""
        return max((depths[-1] for name in names if (depths := self._depths.get(name))), default=-1)

    def cut(self, depth: int, end: int) -> None:
        """Ends the elements from `depth` on at the token `end`."""
        while len(self._stack) > depth:
            place, name = self._stack.pop()
            self.ends[place] = end
            for key in _keys(name):
                self._depths[key].pop()

    def outermost(self, names: Sequence[str], shield: int) -> int:
        """The depth of the outermost open element with one of the names that is deeper than `shield`, or -1."""
        found = -1
        for name in names:
            depths = self._depths.get(name, [])
            if depths and depths[-1] > shield:
                found = depths[-1] if found < 0 else min(found, depths[-1])
        return found


def element_ends(tokens: Sequence[Token]) -> dict[int, int]:
    """For the place of each opening tag: the place of the first token after its element.

    Elements without a closing tag end where the standard says: a paragraph at the next block, an item at the next one,
    all others with the element that they are in.
    """
    opened = _Open()
    for place, token in enumerate(tokens):
        if token.kind is Kind.OPEN:
            ended, shields = _ENDED.get(token.name, ((), ()))
            depth = opened.outermost(ended, opened.deepest(shields)) if ended else -1
            if depth < 0 and token.name in _PARAGRAPH_ENDS:
                depth = opened.outermost(("p",), opened.deepest(_SHIELDS))
            if depth >= 0:
                opened.cut(depth, place)
            if token.is_empty:
                opened.ends[place] = place + 1
            else:
                opened.push(place, token.name)
        elif token.kind is Kind.CLOSE:
            depth = opened.deepest((token.name,))
            is_shielded = token.name not in BLOCKS and opened.deepest((_ANY_BLOCK,)) > depth
            if depth >= 0 and not is_shielded:
                opened.cut(depth + 1, place)
                opened.cut(depth, place + 1)
    opened.cut(0, len(tokens))
    return opened.ends


def _keys(name: str) -> tuple[str, ...]:
    return (name, _ANY_BLOCK) if name in BLOCKS else (name,)
