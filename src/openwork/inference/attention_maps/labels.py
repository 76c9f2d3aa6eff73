"""How pieces are shown, and which characters of a translation are those of its pieces."""

import re
from collections.abc import Sequence
from itertools import accumulate

from openwork.base.printing import UNSAFE
from openwork.documents.alignment import Span
from openwork.text.pair import TokenizerPair
from openwork.text.placeholders import Spans

REPLACEMENT = "\ufffd"  # what incomplete characters are decoded to
_BYTES = re.compile("(?:<0x[0-9A-F]{2}>)+")


def piece_label(name: str) -> str:
    """A piece as it is shown: parts of a character, and what would control a terminal, between ⟨ and ⟩.

    "<0xE6><0x88>" becomes "⟨E6 88⟩", and U+202E, which turns the order of text, "⟨U+202E⟩".
    """
    name = _BYTES.sub(lambda found: f"⟨{' '.join(re.findall('[0-9A-F]{2}(?=>)', found[0]))}⟩", name)
    return UNSAFE.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", name.replace(REPLACEMENT, "⟨U+FFFD⟩"))


def found_places(tokenizers: TokenizerPair, text: str, spans: Spans, ids: Sequence[int]) -> list[Span] | None:
    """The characters of each piece of a translation that a search found, from the texts of its first pieces.

    A piece that ends inside a character has all of it. None where those texts do not begin the whole one.
    """
    whole = [tokenizers.decode_target(ids[:count], spans).text for count in range(len(ids) + 1)]
    shown = [*(one.rstrip(REPLACEMENT) for one in whole[:-1]), text]
    if not all(map(text.startswith, shown)):
        return None
    ends = list(accumulate(map(len, shown), max))

    def end_of(place: int) -> int:
        end, is_inside = ends[place], whole[place].endswith(REPLACEMENT)
        return next((later for later in ends[place:] if later > end), end) if is_inside else end

    return [(ends[place - 1], end_of(place)) for place in range(1, len(ends))]
