"""Marks of a source put into its translation: each once, well-formed, and where the alignment says.

A pair of marks gets the run of words that come from its words, the heaviest run if they are scattered. A mark that is
alone stays with the word that it touches. Marks within a pair stay within it.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

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
    return joined(_Placing(plain(parts), text, sentences).composed(_tree(parts)))


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
    """The words of both texts, and the sentences that say what comes from what."""

    def __init__(self, source: str, text: str, sentences: Sequence[AlignedSentence]) -> None:
        self.source, self.text, self.sentences = source, text, sentences
        self.words = [found.span() for found in _WORD.finditer(text)]
        self.begins = [begin for begin, _ in self.words]
        self.source_words = [found.span() for found in _WORD.finditer(source)]
        self.source_begins = [begin for begin, _ in self.source_words]
        self.source_ends = [end for _, end in self.source_words]
        self.sentence_ends = [sentence.source[1] for sentence in sentences]
        self._weights: dict[int, tuple[list[Span], NDArray[np.float64]]] = {}

    def composed(self, root: _Node) -> Iterator[str | Mark]:
        """The translation with the marks of the source. No recursion: marks may be nested as deeply as they like."""
        whole = (0, len(self.text))
        frames = [_Frame(iter(self._placed(root, whole)), 0, len(self.text), None)]
        while frames:
            frame = frames[-1]
            child, (begin, end) = next(frame.children, (None, (frame.end, frame.end)))
            yield self.text[frame.position : begin]
            frame.position = end
            if child is None:
                if frame.closing is not None:
                    yield frame.closing
                frames.pop()
                continue
            assert child.mark is not None
            yield child.mark
            if child.mark.role is Role.OPEN:
                placed = iter(self._placed(child, (begin, end)))
                frames.append(_Frame(placed, begin, end, Mark(child.mark.key, Role.CLOSE)))

    def _placed(self, node: _Node, span: Span) -> list[tuple[_Node, Span]]:
        """The children of a node, each with its part of the span, from left to right and without overlaps."""
        wanted = [(child, self._wanted(child, node, span)) for child in node.children]
        wide = sorted(place for _, place in wanted if place[0] < place[1])
        moved = [(child, _beside(place, wide)) for child, place in wanted]
        moved.sort(key=lambda one: one[1])  # stable: those of one place stay in order
        found: list[tuple[_Node, Span]] = []
        last = span[0]
        for child, (begin, end) in moved:
            begin = max(begin, last)
            last = end = max(begin, end)
            found.append((child, (begin, end)))
        return found

    def _wanted(self, node: _Node, parent: _Node, span: Span) -> Span:
        """Where a node belongs within a span of the translation."""
        assert node.mark is not None
        own = _stripped(self.source, node.span)
        if own[0] == own[1]:
            return (self._point(node.span[0], parent, span),) * 2
        if own == _stripped(self.source, parent.span):
            return _stripped(self.text, span)
        run = self._run(own, span)
        if node.mark.role is Role.ALONE and (same := self._occurrence(node.mark.text, own, run, span)):
            return same
        return run or (self._point(node.span[0], parent, span),) * 2

    def _run(self, source: Span, span: Span) -> Span | None:
        """The words within a span of the translation that come from a part of the source."""
        first = bisect_right(self.sentence_ends, source[0])
        last = max(first, bisect_left(self.sentence_ends, source[1]))
        last = min(last, len(self.sentences) - 1)
        if first >= len(self.sentences):
            return None
        words, shares = self._shares(first, source, span)
        if first == last:
            run = _heaviest(shares)
            return (words[run[0]][0], words[run[1] - 1][1]) if run else None
        later, later_shares = self._shares(last, source, span)
        begin, end = _heaviest_end(shares), _heaviest_end(later_shares[::-1])
        start = words[-begin][0] if begin else self.sentences[first + 1].target[0]
        stop = later[end - 1][1] if end else self.sentences[last - 1].target[1]
        return (max(start, span[0]), min(stop, span[1])) if start < stop else None

    def _shares(self, place: int, source: Span, span: Span) -> tuple[list[Span], list[float]]:
        """The words of a sentence's translation within a span, and how much of each comes from a part of the source."""
        sentence = self.sentences[place]
        if place not in self._weights:
            begin, end = (bisect_left(self.begins, edge) for edge in sentence.target)
            words = self.words[begin:end]
            self._weights[place] = words, sentence.word_weights(words)
        words, weights = self._weights[place]
        if source[0] <= sentence.source[0] and sentence.source[1] <= source[1]:
            shares = np.ones(len(words))
        else:
            shares = sentence.shares(weights, source)
        first, last = bisect_left(words, (span[0],)), bisect_right(words, (span[1],))
        last -= first < last and words[last - 1][1] > span[1]
        return words[first:last], shares[first:last].tolist()

    def _occurrence(self, wanted: str, source: Span, run: Span | None, span: Span) -> Span | None:
        """Where the translation has this very text: the place that is nearest to what comes from the source's."""
        near = run[0] if run else span[0] + (span[1] - span[0]) * source[0] // max(len(self.source), 1)
        before = self.text.rfind(wanted, span[0], min(near + len(wanted), span[1]))
        after = self.text.find(wanted, near, span[1])
        places = [place for place in (before, after) if place >= 0]
        best = min(places, key=lambda place: abs(place - near), default=None)
        return None if best is None else (best, best + len(wanted))

    def _point(self, place: int, parent: _Node, span: Span) -> int:
        """Where a mark without words belongs: beside the translation of the word that it touches."""
        first, last = _stripped(self.source, parent.span)
        inner = _stripped(self.text, span)
        if place <= first:
            return inner[0] if place == first else span[0]
        if place >= last:
            return inner[1] if place == last else span[1]
        if (between := self._between_sentences(place)) is not None:
            return min(max(between, span[0]), span[1])
        touches = not self.source[place - 1].isspace() and not self.source[place : place + 1].isalnum()
        number = bisect_right(self.source_ends, place) - 1 if touches else bisect_left(self.source_begins, place)
        if not 0 <= number < len(self.source_words):
            return inner[1]
        neighbour = self.source_words[number]
        sentence = bisect_right(self.sentence_ends, neighbour[0])
        words, shares = self._shares(sentence, neighbour, span) if sentence < len(self.sentences) else ([], [])
        if not words:
            return inner[1]
        best = words[max(range(len(words)), key=shares.__getitem__)]
        return best[1] if touches else best[0]

    def _between_sentences(self, place: int) -> int | None:
        """The place in the translation of a place between two sentences."""
        number = bisect_left(self.sentence_ends, place)
        if number < len(self.sentences) and place == self.sentence_ends[number]:
            return self.sentences[number].target[1]
        if 0 < number < len(self.sentences) and place <= self.sentences[number].source[0]:
            return self.sentences[number].target[0]
        return None


@dataclass
class _Frame:
    """A pair of marks that is being written: what is left of it, and what ends it."""

    children: Iterator[tuple[_Node, Span]]
    position: int
    end: int
    closing: Mark | None


def _beside(place: Span, wide: Sequence[Span]) -> Span:
    """A point that is inside of one of these spans moves to its nearer end."""
    point, end = place
    if point < end:
        return place
    number = bisect_left(wide, (point,)) - 1
    if number >= 0:
        first, last = wide[number]
        if first < point < last:
            point = first if point - first < last - point else last
    return point, point


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


def _heaviest_end(shares: Sequence[float]) -> int:
    """How many of the last words have the largest sum of shares; none where no sum is positive."""
    best, found, total = 0.0, 0, 0.0
    for count, share in enumerate(reversed(shares), start=1):
        total += share
        if total > best + 1e-9:
            best, found = total, count
    return found
