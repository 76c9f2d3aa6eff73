"""Guarded translator: it flags doubtful translations and searches for them again with stricter settings."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from openwork.bundles.bundle import Bundle
from openwork.inference.guard import (
    LOST,
    UNKNOWN_TEXTS,
    GuardedText,
    UsualTexts,
    characters_a_piece,
    flags,
    lost_placeholders,
)  # fmt: skip
from openwork.inference.requests import NOTHING, Request
from openwork.inference.translator import BatchTranslator, Translation

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


def _weight(flags: Sequence[str]) -> tuple[bool, int]:
    """A loss counts more than any number of doubts: an unseen placeholder makes a model unsure."""
    return LOST in flags, len(flags)


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
    guarded = GuardedText(
        text, first.text, first.source_pieces, len(first.pieces) + 1, first.log_probability, first.finished
    )
    return [replace(first, flags=flags(guarded, usual)), *found[1:]]
