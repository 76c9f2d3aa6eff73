"""Which languages the pairs are in. No torch.

The settings say it, or the name of a known corpus, or the endings of two files' names (`train.en`, `train.de`). Where
none of them does, a training looks into the pairs.
"""

from collections.abc import Iterable
from pathlib import Path

from openwork.data.corpora import catalogue as corpora
from openwork.data.records import UNSAID, Languages
from openwork.data.settings import DataSettings, OriginSettings
from openwork.text.languages import language_in_name


def languages_of(data: DataSettings) -> Languages:
    """Source and target language, by what is named; None where nobody says it."""
    source, target = _shared([_named(part) for part in data.parts])
    return Languages(data.source_language or source, data.target_language or target)


def corpus_languages(names: Iterable[str | None]) -> Languages:
    """The languages that all these corpora share; None for a corpus without a name, or made-up languages."""
    known = [corpora.find(name).languages if name is not None else () for name in names]
    return _shared([Languages(*languages) for languages in known])


def _named(part: OriginSettings) -> Languages:
    """What the names of a corpus or of two files say."""
    if part.source is None or part.target is None:
        return corpus_languages([part.corpus])
    found = Languages(*(language_in_name(Path(path).name) for path in (part.source, part.target)))
    return UNSAID if found.source == found.target or None in found else found


def _shared(all_found: list[Languages]) -> Languages:
    """The languages that all parts have."""
    return all_found[0] if len(set(all_found)) == 1 else UNSAID
