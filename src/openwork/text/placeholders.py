r"""What must not be translated: placeholders of programs, inline tags, mark-up, entities, addresses.

They are found by their form alone (`%s`, `%(name)s`, `{0}`, `{name}`, `${x}`, `<b>`, `</b>`, `<x id="1"/>`, `&amp;`, ``
``code`` ``, `:role:`name``, web addresses and the like), so the same text gives the same placeholders everywhere. A
sentence is then text with numbers in it; the numbers stand for the placeholders in the order of the source.
"""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import NamedTuple

from openwork.text.tokenizer import Tokenizer

# In this order, where several begin at the same place. No alternative can take more than linear time: what repeats is
# bounded, or ends at the first character that cannot belong to it.
_FORMS = (
    r"``[^`]+``",  # code
    r":ROLE:`(?=[^`<]*<[^`<>]*>`)",  # the beginning of :ref:`a text to translate <label>`
    r":ROLE:`[^`]+`",
    r"<[^`<>]+>`_{0,2}",  # its end, and that of a `link <address>`_
    r"(?<![\w`:])`[^`\s](?:[^`<]*[^`\s<])?`(?!_)",
    r"(?:https?|ftp)://[!-~]*[A-Za-z0-9/_=&#-]",
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+",
    r"""</?[A-Za-z][\w:.-]*(?:\s+[\w:.-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'|[^\s"'=<>`]+))*\s*/?>""",  # a tag of HTML or XML
    r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});",
    r"%%|(?<![\d%])%(?:\(\w+\)|\d{1,3}\$)?[-+#0]*(?:\d{1,4}|\*)?(?:\.(?:\d{1,4}|\*))?(?:hh|h|ll|l|L|z|j|t)?"
    r"[sdifFuxXoeEgGcpra@]",  # printf, in the forms of C, Python and others; "100 %" and "5%de" are text
    r"\{\{[^{}]*\}\}",
    r"\$\{[^{}\s]+\}",
    r"\{[\w.\[\]!:,<>=^+%#-]*\}",
    r"(?<![\w|])\|[A-Za-z][\w.-]*\|(?![\w|])",  # a substitution of reStructuredText
    r"\[(?:\d{1,4}|#\w*)\]_",  # its footnotes
)
_ROLE = r"[A-Za-z][\w+.-]{0,40}(?::[A-Za-z][\w+.-]{0,40})?"
_PLACEHOLDER = re.compile("|".join(_FORMS).replace("ROLE", _ROLE), re.ASCII)

Spans = tuple[str, ...]
"""The placeholders of a sentence by their numbers: the first has number 1."""


class Protected(NamedTuple):
    """A sentence as text and numbers, in its order; `spans[n - 1]` is the placeholder with number n."""

    pieces: tuple[str | int, ...]
    spans: Spans = ()


@dataclass(frozen=True)
class Restored:
    """A sentence with its placeholders put back, and those that found no place in it."""

    text: str
    missing: Spans = ()


def _found(text: str) -> Iterator[re.Match[str]]:
    """The placeholders, from left to right; a line separator inside would not survive, so that is no placeholder."""
    return (found for found in _PLACEHOLDER.finditer(text) if len(found.group().splitlines()) == 1)


def find_placeholders(text: str) -> list[str]:
    """All placeholders of a text, from left to right; none overlaps another."""
    return [found.group() for found in _found(text)]


def placeholder_places(text: str) -> list[tuple[int, int]]:
    """Where they are: (begin, end) in characters."""
    return [found.span() for found in _found(text)]


def protect(text: str, most: int) -> Protected:
    """The text with its first `most` placeholders numbered, as it is done with a source that is to be translated."""
    return _with_numbers(text, chain(range(1, most + 1), repeat(None))) if most else Protected((text,))


def protect_like(text: str, spans: Spans) -> Protected:
    """The text with those of its placeholders numbered that `spans` has, as it is done with the target of a source.

    Where the same placeholder occurs several times, the first in the text has the first of its numbers, and so on.
    """
    if not spans:
        return Protected((text,))
    numbers: defaultdict[str, deque[int]] = defaultdict(deque)
    for number, span in enumerate(spans, start=1):
        numbers[span].append(number)
    chosen = [numbers[span].popleft() if numbers[span] else None for span in find_placeholders(text)]
    return Protected(_with_numbers(text, chosen).pieces, spans)


def protect_pair(source: str, target: str, most: int) -> tuple[Protected, Protected]:
    """Both sides with numbers for the placeholders that occur on both, at most `most`, in the order of the source.

    What occurs on one side alone stays text.
    """
    if not most:
        return Protected((source,)), Protected((target,))
    placeholders = find_placeholders(source)
    common = Counter(placeholders) & Counter(find_placeholders(target))
    numbers: list[int | None] = []
    count = 0
    for placeholder in placeholders:
        is_common = common[placeholder] > 0 and count < most
        count += is_common
        common[placeholder] -= is_common
        numbers.append(count if is_common else None)
    left = _with_numbers(source, numbers)
    return left, protect_like(target, left.spans)


def restore(pieces: Iterable[str | int], spans: Spans) -> Restored:
    """The text with the placeholders for their numbers: each once, where its number comes first.

    Numbers that come again, and those that stand for nothing, leave no trace.
    """
    parts: list[str] = []
    left = dict(enumerate(spans, start=1))
    for piece in pieces:
        parts.append(piece if isinstance(piece, str) else left.pop(piece, ""))
    return Restored("".join(parts), tuple(left.values()))


def without_placeholders(lines: Iterable[str]) -> Iterator[str]:
    """Lines with the placeholders taken out, to learn a vocabulary from; what stood around one is two lines."""
    for line in lines:
        begin = 0
        for found in _found(line):
            if found.start() > begin:
                yield line[begin : found.start()]
            begin = found.end()
        yield line[begin:]


def _with_numbers(text: str, numbers: Iterable[int | None]) -> Protected:
    """The text cut at those of its placeholders that have a number; there may be more numbers than placeholders."""
    pieces: list[str | int] = []
    spans: list[str] = []
    begin = 0
    for found, number in zip(_found(text), numbers, strict=False):
        if number is None:
            continue
        if found.start() > begin:
            pieces.append(text[begin : found.start()])
        pieces.append(number)
        spans.append(found.group())
        begin = found.end()
    if begin < len(text) or not pieces:
        pieces.append(text[begin:])
    return Protected(tuple(pieces), tuple(spans))


Encode = Callable[[Sequence[str]], list[list[int]]]
"""Texts to ids: a tokenizer's `encode_batch`, or the same with chance in it."""


def encode_protected(tokenizer: Tokenizer, sentences: Sequence[Protected], encode: Encode) -> list[list[int]]:
    """The ids of sentences: the text between placeholders as `encode` has it, and the piece of each number."""
    runs = iter(encode([piece for sentence in sentences for piece in sentence.pieces if isinstance(piece, str)]))

    def ids_of(piece: str | int) -> list[int]:
        return next(runs) if isinstance(piece, str) else [tokenizer.placeholder_id(piece)]

    return [[number for piece in sentence.pieces for number in ids_of(piece)] for sentence in sentences]


def places_protected(tokenizer: Tokenizer, sentence: Protected) -> list[tuple[int, int]]:
    """The characters (begin, end) of each id that `encode_protected` gives for a sentence, in its whole text."""
    places: list[tuple[int, int]] = []
    begin = 0
    for piece in sentence.pieces:
        if isinstance(piece, str):
            places += [(begin + first, begin + last) for first, last in tokenizer.encode_pieces(piece).offsets]
            begin += len(piece)
        else:
            end = begin + len(sentence.spans[piece - 1])
            places.append((begin, end))
            begin = end
    return places
