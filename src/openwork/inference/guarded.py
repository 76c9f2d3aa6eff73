"""A translator that looks at what it says: what is flagged is translated again in a more careful way."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from openwork.bundles.bundle import Bundle
from openwork.decoding.settings import DecodingSettings
from openwork.inference.guard import LOST, NO_CUSTOM, Custom, GuardedText, characters_a_piece, flags, lost_placeholders
from openwork.inference.requests import NOTHING, Request
from openwork.inference.translator import BatchTranslator, Translation

CAREFUL = {"beam": 5, "no_repeat": 3, "samples": 0, "groups": 1, "minimum_bayes_risk": "none"}
"""The second way: a search, wider than greedy, in which no three pieces come twice, and placeholders must come."""


class GuardedTranslator:
    """Translates as `translator` does; the first translation of each text bears its flags.

    What is flagged is searched for once more in the careful way, and that is taken if it has fewer flags, or nothing
    is lost any more.
    """

    def __init__(self, translator: BatchTranslator, custom: Custom = NO_CUSTOM) -> None:
        self.translator = translator
        self.custom = custom
        self.careful = copy(translator)
        self.careful.decoding = _carefully(translator.decoding)

    def translate(self, texts: Sequence[str], requests: Sequence[Request] | None = None) -> list[list[Translation]]:
        """As the translator's own, with flags."""
        found = [
            flagged(text, list(ways), self.custom)
            for text, ways in zip(texts, self.translator.translate(texts, requests), strict=True)
        ]
        places = [place for place, ways in enumerate(found) if ways[0].flags]
        asked = [
            _with_placeholders(requests[place] if requests else NOTHING, texts[place], found[place][0].text)
            for place in places
        ]
        again = self.careful.translate([texts[place] for place in places], asked)
        for place, ways in zip(places, again, strict=True):
            second = flagged(texts[place], list(ways), self.custom)
            if not second[0].problem and _weight(second[0].flags) < _weight(found[place][0].flags):
                found[place] = [second[0], *found[place][1:]]
        return found


def _weight(flags: Sequence[str]) -> tuple[bool, int]:
    """What is lost counts more than any number of doubts: a placeholder that a model never saw makes it unsure."""
    return LOST in flags, len(flags)


def _with_placeholders(request: Request, source: str, text: str) -> Request:
    """What is asked, and besides it the placeholders that a translation has lost."""
    lost = (placeholder for placeholder in lost_placeholders(source, text) if placeholder not in request.forbidden)
    return replace(request, required=tuple(dict.fromkeys((*request.required, *lost))))


def _carefully(decoding: DecodingSettings) -> DecodingSettings:
    wider = {**CAREFUL, "beam": max(decoding.beam, CAREFUL["beam"]), "best": 1}
    return decoding.model_copy(update=wider)


def custom_of(bundle: Bundle) -> Custom:
    """What a bundle's translator is used to; how long its pieces are is counted in its golden examples."""
    sources = [golden.source for golden in bundle.golden]
    pieces = sum(len(bundle.tokenizers.source.encode(source)) for source in sources)
    usual = characters_a_piece("".join(sources), pieces) if sources else 0.0
    return Custom(usual, bundle.settings.source_language, bundle.settings.target_language)


def flagged(text: str, ways: list[Translation], custom: Custom = NO_CUSTOM) -> list[Translation]:
    """Its translations, the first one with its flags; what has a problem is told in another way."""
    first = ways[0]
    if first.problem or first.log_probability == 0.0:  # none, or not translated at all
        return ways
    said = GuardedText(
        text, first.text, first.source_pieces, len(first.pieces) + 1, first.log_probability, first.finished
    )
    return [replace(first, flags=flags(said, custom)), *ways[1:]]
