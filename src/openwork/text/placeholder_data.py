"""Training pairs with placeholders put in, so that a model learns them from data that has none.

In a share of the pairs a word that both sides have, such as a number or a name, becomes a placeholder; where there is
no such word, one comes to the front of both sides, or a tag around each. Which pairs and words these are follows from
the texts alone.
"""

import re
from collections import Counter
from hashlib import blake2b

from openwork.text.languages import written_without_spaces
from openwork.text.placeholders import find_placeholders

FORM = "%s"  # of all that stand for a word: once protected, each is the same piece
TAGS = "<b>", "</b>"
_WORD = re.compile(r"(?<![^\W_])[^\W_]+(?:[.,:'’-][^\W_]+)*(?![^\W_])")


def with_placeholders(source: str, target: str, share: float) -> tuple[str, str]:
    """The pair; in a share of all pairs, with a placeholder put in. Pairs that have one stay as they are."""
    number = int.from_bytes(blake2b(f"{source}\0{target}".encode(errors="replace"), digest_size=8).digest(), "big")
    if number % 1_000_003 >= share * 1_000_003 or not source.strip() or not target.strip():
        return source, target
    if find_placeholders(source) or find_placeholders(target):
        return source, target
    number //= 1_000_003
    if words := _common(source, target):
        word = words[number % len(words)]
        return _replaced(source, word), _replaced(target, word)
    if number % 2:
        return _in_front(source), _in_front(target)
    return f"{TAGS[0]}{source}{TAGS[1]}", f"{TAGS[0]}{target}{TAGS[1]}"


def _common(source: str, target: str) -> list[str]:
    """The words that each side has once, in the order of the source."""
    left, right = Counter(_WORD.findall(source)), Counter(_WORD.findall(target))
    return [word for word, count in left.items() if count == 1 == right.get(word)]


def _replaced(text: str, word: str) -> str:
    return _WORD.sub(lambda found: FORM if found.group() == word else found.group(), text)


def _in_front(text: str) -> str:
    return f"{FORM}{'' if written_without_spaces(text[0]) else ' '}{text}"
