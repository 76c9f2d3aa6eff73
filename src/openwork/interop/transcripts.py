"""Whisper's symbols and suppressed tokens, from another toolkit's ids to openwork's and back. No torch here."""

from collections.abc import Callable, Iterable
from pathlib import Path

from openwork.base.errors import BundleError
from openwork.base.messages import msg
from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.settings import TranscriptSettings
from openwork.interop.vocabulary import Vocabulary
from openwork.signals.settings import MOST_SECONDS
from openwork.text.external.library import HuggingFaceTokenizer

TIMESTAMP = "<|{:.2f}|>"
STEP = 0.02  # seconds from one timestamp to the next


def own_transcript(external: TranscriptSettings, vocabulary: Vocabulary, folder: Path) -> TranscriptSettings | None:
    """The settings with openwork's ids, None where they say nothing; BundleError for a symbol that no piece has.

    Left out are `external.timestamps` where no piece has that id, and suppressed tokens that no text of openwork has.
    """
    own, first = vocabulary.own, external.timestamps
    if first in own:
        times = vocabulary.external[own[first] :]
        if times != tuple(range(first, first + len(times))):
            raise _unknown(folder, msg("the timestamps are not its last pieces"))
    found = _mapped(
        external.model_copy(update={"timestamps": None}) if first not in own else external,
        own.__getitem__,
        lambda numbers: {own[number] for number in numbers if number in own} - set(SYMBOL_IDS.forbidden),
        folder,
    )
    return None if found == TranscriptSettings() else found


def external_transcript(settings: TranscriptSettings, vocabulary: Vocabulary, folder: Path) -> TranscriptSettings:
    """The inverse of `own_transcript`."""
    external = dict(enumerate(vocabulary.external))

    def known(number: int) -> int:
        found = external.get(number)
        if found is None:
            raise KeyError(number)
        return found

    return _mapped(settings, known, lambda numbers: map(known, numbers), folder)


def _mapped(
    settings: TranscriptSettings,
    one: Callable[[int], int],
    several: Callable[[Iterable[int]], Iterable[int]],
    folder: Path,
) -> TranscriptSettings:
    s = settings
    try:
        return s.model_copy(
            update={
                "languages": {name: one(number) for name, number in s.languages.items()},
                "tasks": {name: one(number) for name, number in s.tasks.items()},
                "opening": tuple(map(one, s.opening)),
                "no_timestamps": None if s.no_timestamps is None else one(s.no_timestamps),
                "timestamps": None if s.timestamps is None else one(s.timestamps),
                "suppressed": tuple(sorted(several(s.suppressed))),
                "suppressed_first": tuple(sorted(several(s.suppressed_first))),
            }
        )
    except KeyError as error:
        raise _unknown(folder, msg(f"no piece has the id {error.args[0]} of a symbol")) from error


def _unknown(folder: Path, why: str) -> BundleError:
    return BundleError(
        f"{folder}: its tokenizer lacks symbols of its transcripts",
        why=why,
        hint="fetch the folder again: model, tokenizer and generation settings must be of one model",
        code="B078",
    )


def with_timestamps(tokenizer: HuggingFaceTokenizer, size: int) -> HuggingFaceTokenizer:
    """The tokenizer with pieces for the timestamps up to `size` pieces, which Whisper's older files leave out.

    It stays as it is where more are lacking than the longest source has.
    """
    lacking = size - tokenizer.vocabulary_size
    if lacking > MOST_SECONDS / STEP + 1:
        return tokenizer
    return tokenizer.with_symbols([TIMESTAMP.format(number * STEP) for number in range(lacking)])
