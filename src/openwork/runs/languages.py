"""The languages of a run whose settings do not name them, as file names or texts show."""

from collections.abc import Callable
from itertools import islice
from pathlib import Path

from openwork.data.pairs import training_pairs
from openwork.data.readers.formats import FORMATS, format_of
from openwork.data.readers.lines import keys_of_sides
from openwork.data.records import UNSAID, Languages
from openwork.data.settings import DataSettings, OriginSettings
from openwork.data.sources import named_languages, shared_languages
from openwork.runs.file.settings import RunSettings
from openwork.text.languages import is_language, language_of_lines

LOOKED_AT = 1000  # pairs


def with_languages(settings: RunSettings, before: RunSettings | None, report: Callable[[str], None]) -> RunSettings:
    """The settings with the languages that the user's own files show; a continued run keeps its own (`before`)."""
    data = settings.data
    if before is not None:
        found = Languages(before.data.source_language, before.data.target_language)
    elif data.is_text or settings.text.has_labels or not all(map(_is_own, data.parts)):
        return settings
    else:
        found = _found(data)
    new = Languages(data.source_language or found.source, data.target_language or found.target)
    if new == (data.source_language, data.target_language):
        return settings
    if before is None:
        report(f"languages, as the files show: {new.source or '?'} to {new.target or '?'}")
    changes = {"source_language": new.source, "target_language": new.target}
    return settings.model_copy(update={"data": data.model_copy(update=changes)})


def _found(data: DataSettings) -> Languages:
    """From the names, or else from the pairs themselves."""
    named = shared_languages([named_languages(part) for part in data.parts])
    if named == UNSAID:
        named = shared_languages([_keys(part) for part in data.parts])
    if named != UNSAID:
        return named
    sample = list(islice(training_pairs(data).read(), LOOKED_AT))
    source = language_of_lines([pair.source for pair in sample])
    target = language_of_lines([pair.target for pair in sample])
    return Languages(source, target) if source != target else UNSAID


def _keys(part: OriginSettings) -> Languages:
    """The languages under which a file of JSON lines has its texts."""
    if part.file is None or format_of(Path(part.file), part.format) is not FORMATS["jsonl"]:
        return UNSAID
    found = keys_of_sides(Path(part.file))
    return found if found != UNSAID and all(code is not None and is_language(code) for code in found) else UNSAID


def _is_own(part: OriginSettings) -> bool:
    """Whether the languages of these files decide nothing about how they are read."""
    if part.corpus is not None or part.columns:
        return False
    return part.file is None or format_of(Path(part.file), part.format) in (FORMATS["tsv"], FORMATS["jsonl"])
