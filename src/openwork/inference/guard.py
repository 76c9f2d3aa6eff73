"""Flags of translations that should not be trusted, from the text and its score alone.

    empty       the translation is empty
    loop        a word or phrase is repeated again and again
    copied      the source unchanged
    length      far shorter or longer than the source, in pieces
    unfinished  the length limit came before the end
    unsure      the model gives its own words little probability
    unfamiliar  the source has far smaller pieces than the texts of this translator
    language    the source or the translation is in another language: by its script, or by the extra `languages`
    lost        a placeholder, tag, address or long number of the source is missing

A flag is no proof. `benchmarks/guard.py` counts how many good translations are flagged.
"""

import re
from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from html import unescape

from openwork.bundles.bundle import Bundle
from openwork.inference.requests import NOTHING, Request
from openwork.inference.translation import Translation
from openwork.inference.translator import BatchTranslator
from openwork.text.languages import in_other_script, other_language, plain_words
from openwork.text.placeholders import find_placeholders, without_placeholders

EMPTY, LOOP, COPIED, LENGTH, UNFINISHED, UNSURE = "empty", "loop", "copied", "length", "unfinished", "unsure"
UNFAMILIAR, LANGUAGE, LOST = "unfamiliar", "language", "lost"

LONGEST_PHRASE = 6  # words of a phrase that may loop
REPEATS = {1: 4, 2: 3}  # times in a row that make a loop, by the words of the phrase
REPEATS_OF_LONGER = 3
LEAST_PIECES = 8  # of both sides together: shorter texts may have any ratio
RATIO = 3.0  # pieces of one side for one piece of the other
LEAST_COPIED = 4  # words: shorter texts may be names, numbers, the same in both languages
UNSURE_BELOW = -1.6  # mean log-probability of a piece, the end symbol counted
UNFAMILIAR_BELOW = 0.55  # of the usual number of characters a piece
LEAST_SOURCE = 8  # pieces of a source that can be unfamiliar: a short one may be a single rare word
LEAST_DIGITS = 3  # of a number that must be kept, without zeros at its end
_DIGITS = str.maketrans("〇零一二三四五六七八九", "00123456789")
_NUMBER = re.compile(r"(?<!\d)(?:\d{1,3}(?:[.,\s]\d{3})+|\d{3,})(?!\d)")
_BETWEEN = re.compile(r"[.,\s]")


@dataclass(frozen=True)
class UsualTexts:
    """The usual texts of a translator: visible characters in a piece of a source (0: unknown), and the languages."""

    characters_a_piece: float = 0.0
    source_language: str | None = None
    target_language: str | None = None


UNKNOWN_TEXTS = UsualTexts()


def characters_a_piece(text: str, pieces: int) -> float:
    return sum(not character.isspace() for character in text) / max(pieces, 1)


def flags(source: str, translation: Translation, usual: UsualTexts = UNKNOWN_TEXTS) -> tuple[str, ...]:
    """The flags of a translation, in the order above; none for a source without a visible character."""
    text, pieces = translation.text, len(translation.pieces) + 1  # with the end symbol, as those of the source
    if not source.strip():
        return ()
    if not text.strip():
        return (EMPTY,)
    words, own = _words(text), _words(source)
    lengths = sorted((translation.source_pieces, pieces))
    source_pieces = translation.source_pieces - 1  # without the end symbol
    least = UNFAMILIAR_BELOW * usual.characters_a_piece
    found = (
        (LOOP, loops(words) and not loops(own)),
        (COPIED, words == own and len(own) >= LEAST_COPIED),
        (LENGTH, sum(lengths) >= LEAST_PIECES and lengths[1] > RATIO * lengths[0]),
        (UNFINISHED, not translation.finished),
        (UNSURE, translation.log_probability / pieces < UNSURE_BELOW),
        (UNFAMILIAR, source_pieces >= LEAST_SOURCE and characters_a_piece(source, source_pieces) < least),
        (LANGUAGE, _is_other(source, usual.source_language) or _is_other(text, usual.target_language)),
        (LOST, bool(lost_placeholders(source, text)) or bool(_numbers(source) - _numbers(text))),
    )
    return tuple(flag for flag, holds in found if holds)


def _words(text: str) -> list[str]:
    """The words without placeholders, which are the same in every language."""
    return plain_words(" ".join(without_placeholders([text])))


def _is_other(text: str, language: str | None) -> bool:
    return language is not None and (in_other_script(text, language) or other_language(text, language) is not None)


def lost_placeholders(source: str, text: str) -> list[str]:
    """The placeholders of the source that the text lacks, or has less often.

    An entity such as `&amp;` may also be written as its character.
    """
    wanted = Counter(find_placeholders(source))
    plain = unescape(text)
    return [
        placeholder
        for placeholder, count in wanted.items()
        if text.count(placeholder) < count and plain.count(unescape(placeholder)) < count
    ]


def _numbers(text: str) -> set[str]:
    """The numbers outside of placeholders that are hardly ever written in words, such as years, in plain digits.

    Round numbers such as 100 and 2,000 are left out.
    """
    found = (number for part in without_placeholders([text.translate(_DIGITS)]) for number in _NUMBER.findall(part))
    plain = (_BETWEEN.sub("", number) for number in found)
    return {number for number in plain if len(number.rstrip("0")) >= LEAST_DIGITS}


def loops(words: Sequence[str]) -> bool:
    """Whether a phrase is repeated again and again without a gap."""
    for size in range(1, LONGEST_PHRASE + 1):
        repeats = REPEATS.get(size, REPEATS_OF_LONGER)
        run = 0  # words in a row that equal those of `size` words before
        for place in range(size, len(words)):
            run = run + 1 if words[place] == words[place - size] else 0
            if run >= size * (repeats - 1):
                return True
    return False


CAREFUL = {"beam": 5, "no_repeat": 3, "samples": 0, "groups": 1, "minimum_bayes_risk": "none"}
"""The second search: a beam in which no three pieces are repeated, and lost placeholders are required."""


class GuardedTranslator:
    """Translates as `translator` does; the first translation of each text has its flags.

    A flagged text is searched once more with the careful settings. The second translation is taken if it has fewer
    flags, or if nothing is lost any more.
    """

    def __init__(self, translator: BatchTranslator, usual: UsualTexts = UNKNOWN_TEXTS) -> None:
        self.translator = translator
        self.usual = usual
        self.careful = copy(translator)
        wider = {**CAREFUL, "beam": max(translator.decoding.beam, CAREFUL["beam"]), "best": 1}
        self.careful.decoding = translator.decoding.model_copy(update=wider)

    def translate(self, texts: Sequence[str], requests: Sequence[Request] | None = None) -> list[list[Translation]]:
        """The best translations of each text, the first of them with flags."""
        found = [
            flagged(text, ranked, self.usual)
            for text, ranked in zip(texts, self.translator.translate(texts, requests), strict=True)
        ]
        places = [place for place, ranked in enumerate(found) if ranked[0].flags]
        stricter = []
        for place in places:
            request = requests[place] if requests else NOTHING
            lost = (
                one for one in lost_placeholders(texts[place], found[place][0].text) if one not in request.forbidden
            )
            stricter.append(replace(request, required=tuple(dict.fromkeys((*request.required, *lost)))))
        again = self.careful.translate([texts[place] for place in places], stricter)
        for place, ranked in zip(places, again, strict=True):
            second = flagged(texts[place], ranked, self.usual)
            if not second[0].problem and _weight(second[0].flags) < _weight(found[place][0].flags):
                found[place] = [second[0], *found[place][1:]]
        return found


def _weight(flags: Sequence[str]) -> tuple[bool, bool, int]:
    """Nothing at all is worst, then a loss, before any number of doubts: an unseen placeholder makes a model unsure."""
    return EMPTY in flags, LOST in flags, len(flags)


def usual_texts(bundle: Bundle) -> UsualTexts:
    """The usual texts of a bundle; the length of pieces comes from its golden examples."""
    sources = [golden.source for golden in bundle.golden]
    pieces = sum(len(bundle.tokenizers.source.encode(source)) for source in sources)
    characters = characters_a_piece("".join(sources), pieces) if sources else 0.0
    return UsualTexts(characters, bundle.settings.source_language, bundle.settings.target_language)


def flagged(text: str, found: list[Translation], usual: UsualTexts = UNKNOWN_TEXTS) -> list[Translation]:
    """The translations of a text, the first one with its flags unless it has a problem."""
    first = found[0]
    if first.problem or first.log_probability == 0.0:  # none, or not translated at all
        return found
    return [replace(first, flags=flags(text, first, usual)), *found[1:]]
