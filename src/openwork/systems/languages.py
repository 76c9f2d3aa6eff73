"""Which languages the pairs are in: as the settings say, or as the corpora with a name are known to be. No torch."""

from collections.abc import Iterable

from openwork.data import corpora
from openwork.data.settings import DataSettings


def languages_of(data: DataSettings) -> tuple[str | None, str | None]:
    """Source and target language; None where nobody says it."""
    source, target = corpus_languages(part.corpus for part in data.parts)
    return data.source_language or source, data.target_language or target


def corpus_languages(names: Iterable[str | None]) -> tuple[str | None, str | None]:
    """The languages that all these corpora share; None for a corpus without a name, or made-up languages."""
    pairs = {corpora.find(name).languages if name is not None else () for name in names}
    known = pairs.pop() if len(pairs) == 1 else ()
    return (known[0], known[1]) if known else (None, None)
