"""Texts without sources, parted into a beginning and what follows it, to see how a language model goes on."""

from collections.abc import Iterable
from itertools import islice

from openwork.data.records import Pair


def parted(text: str) -> Pair:
    """The first half of the text's words, and the rest with the space before it; of one word, half of its characters.

    Where spaces part words, pieces never reach over one, so both halves have the pieces that they have in the whole.
    """
    half = (len(text) + 1) // 2
    spaces = [place for place, character in enumerate(text) if character == " " and 0 < place < len(text) - 1]
    place = min(spaces, key=lambda place: abs(place - half)) if spaces else half
    return Pair(text[:place], text[place:])


def parted_texts(pairs: Iterable[Pair], count: int) -> list[Pair]:
    """So many of the targets as beginning and rest, those that are long enough to be parted."""
    return list(islice((parted(pair.target) for pair in pairs if len(pair.target.strip()) > 1), count))


def are_texts(pairs: Iterable[Pair]) -> bool:
    """Whether nothing but targets is there: there is nothing to translate."""
    return not any(pair.source.strip() for pair in pairs)
