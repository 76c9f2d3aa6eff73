"""Marks of a source put into its translation: each once, well-formed, and where the alignment says.

A pair of marks gets the run of words that come from its words, the heaviest run if they are scattered. A mark that is
alone stays with the word that it touches. Marks within a pair stay within it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from openwork.documents.alignment import AlignedSentence, Span
from openwork.documents.segments import Mark, Parts, Role, joined, plain

# What marks are never put into the middle of: a character of a script without spaces, a word, or a single sign.
_NO_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
_LETTERS = rf"[^\W{_NO_SPACES}]+"
_WORD = re.compile(rf"[{_NO_SPACES}]|{_LETTERS}(?:[-'\u2019.]{_LETTERS})*|[^\w\s]")
UNCERTAIN = 0.25  # of a word: from so much of it on, it can be taken for what a pair without a word of its own has


@dataclass
class _Node:
    """A mark, or a pair with what is in it; `span` in the source."""

    mark: Mark | None
    span: Span
    children: list["_Node"] = field(default_factory=list)


def place_marks(parts: Parts, text: str, sentences: Sequence[AlignedSentence]) -> Parts:
    """The translation `text` of a source with the marks of the source's `parts`.

    The texts of marks that are alone are in the source's text; in the translation each replaces what stands for it.
    """
    placed = _Placing(plain(parts), text, sentences)
    return joined(placed.within(_tree(parts), (0, len(text))))


def _tree(parts: Parts) -> _Node:
    root = _Node(None, (0, len(plain(parts))))
    opened, place = [root], 0
    for part in parts:
        if isinstance(part, str):
            place += len(part)
        elif part.role is Role.ALONE:
            opened[-1].children.append(_Node(part, (place, place + len(part.text))))
            place += len(part.text)
        elif part.role is Role.OPEN:
            node = _Node(part, (place, place))
            opened[-1].children.append(node)
            opened.append(node)
        else:
            closed = opened.pop()
            closed.span = (closed.span[0], place)
    return root


class _Placing:
    def __init__(self, source: str, text: str, sentences: Sequence[AlignedSentence]) -> None:
        self.source, self.text, self.sentences = source, text, sentences
        self.words = [found.span() for found in _WORD.finditer(text)]
        self.source_words = [found.span() for found in _WORD.finditer(source)]

    def within(self, node: _Node, span: Span) -> Iterator[str | Mark]:
        """The text of a span of the translation with the marks within a node."""
        position = span[0]
        for child, (begin, end) in self._placed(node, span):
            yield self.text[position:begin]
            position = end
            assert child.mark is not None
            yield child.mark
            if child.mark.role is Role.OPEN:
                yield from self.within(child, (begin, end))
                yield Mark(child.mark.key, Role.CLOSE)
        yield self.text[position : span[1]]

    def _placed(self, node: _Node, span: Span) -> list[tuple[_Node, Span]]:
        """The children of a node, each with its part of the span, from left to right and without overlaps."""
        wanted = [(child, self._wanted(child, node, span)) for child in node.children]
        wide = [place for _, place in wanted if place[0] < place[1]]
        moved = [(child, self._beside(place, wide)) for child, place in wanted]
        moved.sort(key=lambda one: (one[1][0], one[1][1]))  # stable: those of one place stay in order
        found: list[tuple[_Node, Span]] = []
        last = span[0]
        for child, (begin, end) in moved:
            begin = max(begin, last)
            last = end = max(begin, end)
            found.append((child, (begin, end)))
        return found

    @staticmethod
    def _beside(place: Span, wide: Sequence[Span]) -> Span:
        """A point that is inside of one of these spans moves to its nearer end."""
        point, end = place
        if point < end:
            return place
        for first, last in wide:
            if first < point < last:
                point = first if point - first < last - point else last
        return point, point

    def _wanted(self, node: _Node, parent: _Node, span: Span) -> Span:
        """Where a node belongs within a span of the translation."""
        assert node.mark is not None
        begin, end = self._stripped(self.source, node.span)
        if begin == end:
            return self._point(node.span[0], parent, span)
        if (begin, end) == self._stripped(self.source, parent.span):
            return self._stripped(self.text, span)
        words = [word for word in self.words if span[0] <= word[0] and word[1] <= span[1]]
        if node.mark.role is Role.ALONE and (same := self._occurrence(node.mark.text, (begin, end), span)):
            return same
        run = _heaviest([self._share(word, (begin, end)) for word in words])
        return (words[run[0]][0], words[run[1] - 1][1]) if run else self._point(node.span[0], parent, span)

    def _occurrence(self, wanted: str, source: Span, span: Span) -> Span | None:
        """Where the translation has this very text; of several places the one that comes from the source's."""
        places = []
        place = self.text.find(wanted, span[0], span[1])
        while place >= 0:
            places.append((place, place + len(wanted)))
            place = self.text.find(wanted, place + len(wanted), span[1])
        return max(places, key=lambda one: self._share(one, source), default=None)

    def _point(self, place: int, parent: _Node, span: Span) -> Span:
        """Where a mark without words belongs: beside the translation of the word that it touches."""
        first, last = self._stripped(self.source, parent.span)
        inner = self._stripped(self.text, span)
        if place <= first:
            return (inner[0],) * 2 if place == first or span[0] == inner[0] else (span[0],) * 2
        if place >= last:
            return (inner[1],) * 2 if place == last else (span[1],) * 2
        if (between := self._between_sentences(place)) is not None:
            return (min(max(between, span[0]), span[1]),) * 2
        before = next((word for word in reversed(self.source_words) if word[1] <= place), None)
        after = next((word for word in self.source_words if word[0] >= place), None)
        touches = not self.source[place - 1].isspace() and not self.source[place : place + 1].isalnum()
        words = [word for word in self.words if span[0] <= word[0] and word[1] <= span[1]]
        neighbour = before if touches else after
        if neighbour is None or not words:
            return (inner[1],) * 2
        best = max(words, key=lambda word: self._share(word, neighbour))
        return (best[1],) * 2 if touches else (best[0],) * 2

    def _between_sentences(self, place: int) -> int | None:
        """The place in the translation of a place between two sentences."""
        for one, following in pairwise(self.sentences):
            if one.source[1] <= place <= following.source[0]:
                return one.target[1] if place == one.source[1] else following.target[0]
        return None

    def _share(self, target: Span, source: Span) -> float:
        """How much of a part of the translation comes from a part of the source, from -1 to 1."""
        for sentence in self.sentences:
            if sentence.target[0] <= target[0] and target[1] <= sentence.target[1]:
                return sentence.share(target, source)
        return 0.0

    @staticmethod
    def _stripped(text: str, span: Span) -> Span:
        """The span without the space at its ends."""
        begin, end = span
        while begin < end and text[begin].isspace():
            begin += 1
        while begin < end and text[end - 1].isspace():
            end -= 1
        return begin, end


def _heaviest(shares: Sequence[float]) -> Span | None:
    """The run of words whose shares have the largest sum; the likeliest word where no sum is positive, or none."""
    best, found, begin, total = 0.0, None, 0, 0.0
    for place, share in enumerate(shares):
        if total <= 0:
            begin, total = place, 0.0
        total += share
        if total > best + 1e-9:
            best, found = total, (begin, place + 1)
    if found is None and shares:
        likeliest = max(range(len(shares)), key=shares.__getitem__)
        if (shares[likeliest] + 1) / 2 >= UNCERTAIN:
            found = (likeliest, likeliest + 1)
    return found
