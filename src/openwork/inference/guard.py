"""Which translations should not be trusted, told from the text and its score alone.

    empty       nothing is said for something
    loop        a word or phrase that comes again and again
    copied      the source as it is
    length      far shorter or longer than what was asked, in pieces
    unfinished  the length limit came before the end
    unsure      the model gives its own words little probability
    unfamiliar  the source falls into far smaller pieces than the texts this translator was made for
    language    the source or the translation is surely in another language: written in other letters, or told by the
                extra `languages`
    lost        a placeholder, tag, address or long number of the source is not there

A flag is no proof. `benchmarks/guard.py` counts how many good translations are flagged.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape

from openwork.text.languages import in_other_script, other_language
from openwork.text.placeholders import WithoutPlaceholders, find_placeholders
from openwork.text.scripts import plain_words

EMPTY, LOOP, COPIED, LENGTH, UNFINISHED, UNSURE = "empty", "loop", "copied", "length", "unfinished", "unsure"
UNFAMILIAR, LANGUAGE, LOST = "unfamiliar", "language", "lost"

LONGEST_PHRASE = 6  # words of a phrase that may loop
REPEATS = {1: 4, 2: 3}  # times in a row that a phrase of so many words may not come
REPEATS_OF_LONGER = 3
LEAST_PIECES = 8  # of source and target together: shorter texts may have any ratio
RATIO = 3.0  # pieces of one side for one of the other
LEAST_COPIED = 4  # words: shorter texts may be names, numbers, the same in both languages
UNSURE_BELOW = -1.6  # mean log-probability of a piece, the end symbol counted
UNFAMILIAR_BELOW = 0.55  # of the usual number of characters a piece
LEAST_SOURCE = 8  # pieces of a source that can be unfamiliar: a short one may be a single rare word
LEAST_DIGITS = 3  # of a number that must come back, zeros at its end aside
_DIGITS = str.maketrans("〇零一二三四五六七八九", "00123456789")
_NUMBER = re.compile(r"(?<!\d)(?:\d{1,3}(?:[.,\s]\d{3})+|\d{3,})(?!\d)")
_BETWEEN = re.compile(r"[.,\s]")


@dataclass(frozen=True)
class GuardedText:
    """A translation as the guard sees it: its pieces are counted with the end symbol."""

    source: str
    text: str
    source_pieces: int
    pieces: int
    log_probability: float
    finished: bool = True


@dataclass(frozen=True)
class Custom:
    """What a translator is used to: visible characters in a piece of a source (0: not known), and its languages."""

    characters_a_piece: float = 0.0
    source_language: str | None = None
    target_language: str | None = None


NO_CUSTOM = Custom()


def characters_a_piece(text: str, pieces: int) -> float:
    """Visible characters for each piece."""
    return sum(not character.isspace() for character in text) / max(pieces, 1)


def flags(said: GuardedText, custom: Custom = NO_CUSTOM) -> tuple[str, ...]:
    """What speaks against it, in the order above; nothing for a source without a visible character."""
    if not said.source.strip():
        return ()
    if not said.text.strip():
        return (EMPTY,)
    words, own = _words(said.text), _words(said.source)
    lengths = sorted((said.source_pieces, said.pieces))
    found = (
        (LOOP, loops(words) and not loops(own)),
        (COPIED, words == own and len(own) >= LEAST_COPIED),
        (LENGTH, sum(lengths) >= LEAST_PIECES and lengths[1] > RATIO * lengths[0]),
        (UNFINISHED, not said.finished),
        (UNSURE, said.log_probability / max(said.pieces, 1) < UNSURE_BELOW),
        (UNFAMILIAR, _is_unfamiliar(said, custom)),
        (
            LANGUAGE,
            _is_foreign(said.source, custom.source_language) or _is_foreign(said.text, custom.target_language),
        ),
        (LOST, bool(lost_placeholders(said.source, said.text)) or bool(_numbers(said.source) - _numbers(said.text))),
    )
    return tuple(flag for flag, holds in found if holds)


def _words(text: str) -> list[str]:
    """Without placeholders, which are the same in every language."""
    return plain_words(" ".join(WithoutPlaceholders([text])))


def _is_unfamiliar(said: GuardedText, custom: Custom) -> bool:
    pieces = said.source_pieces - 1  # without the end symbol
    usual = custom.characters_a_piece
    return pieces >= LEAST_SOURCE and characters_a_piece(said.source, pieces) < UNFAMILIAR_BELOW * usual


def _is_foreign(text: str, wanted: str | None) -> bool:
    return wanted is not None and (in_other_script(text, wanted) or other_language(text, wanted) is not None)


def lost_placeholders(source: str, text: str) -> list[str]:
    """The placeholders of the source that do not stand in the text, or not as often; whoever wrote it.

    An entity such as `&amp;` may also stand there as its character.
    """
    wanted = Counter(find_placeholders(source))
    plain = unescape(text)
    return [
        placeholder
        for placeholder, count in wanted.items()
        if text.count(placeholder) < count and plain.count(unescape(placeholder)) < count
    ]


def _numbers(text: str) -> set[str]:
    """The numbers that are hardly ever written in words, such as years; outside of placeholders, in plain digits.

    Round numbers are: 100, 2,000.
    """
    found = (number for part in WithoutPlaceholders([text.translate(_DIGITS)]) for number in _NUMBER.findall(part))
    plain = (_BETWEEN.sub("", number) for number in found)
    return {number for number in plain if len(number.rstrip("0")) >= LEAST_DIGITS}


def loops(words: Sequence[str]) -> bool:
    """Whether a phrase comes again and again, each time right after the last."""
    for size in range(1, LONGEST_PHRASE + 1):
        repeats = REPEATS.get(size, REPEATS_OF_LONGER)
        run = 0  # words in a row that are those of `size` words before
        for place in range(size, len(words)):
            run = run + 1 if words[place] == words[place - size] else 0
            if run >= size * (repeats - 1):
                return True
    return False
