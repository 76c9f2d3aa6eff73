"""JSON lines: an object a line, with a text for each side."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from openwork.base.errors import DataError
from openwork.base.files import read_lines
from openwork.data.readers.sides import as_sentence
from openwork.data.records import UNSAID, Languages, Pair
from openwork.text.languages import is_language

_NESTED = "translation"


def read_jsonl(path: Path | str, languages: Languages = UNSAID) -> Iterator[Pair]:
    """Yield the pair of each line of a file (plain, gzip or xz).

    The texts stand under `source` and `target`, or under the codes of the languages (`{"en": ..., "de": ...}`), at the
    top or within `translation`, as the data sets on Hugging Face have it. Where the languages are not said and the
    first line has two of them and nothing else, the first is the source's. `null` is a blank text. `DataError` names
    the line that is no JSON, no object, or lacks a side; a blank line is refused too.
    """
    path = Path(path)
    for number, line in enumerate(read_lines(path), start=1):
        texts = _texts(_parse(path, number, line))
        if number == 1:
            languages = _completed(languages, texts)
        yield Pair(*(_text(texts, names, path, number) for names in zip(("source", "target"), languages, strict=True)))


def keys_of_sides(path: Path) -> Languages:
    """The languages that the first line names for its two texts; none where it names them otherwise."""
    line = next(read_lines(path), None)
    return _completed(UNSAID, _texts(_parse(path, 1, line))) if line is not None else UNSAID


def _texts(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """What holds the texts: the record, or what it has under `translation`."""
    nested = record.get(_NESTED)
    return nested if isinstance(nested, Mapping) else record


def _completed(languages: Languages, texts: Mapping[str, Any]) -> Languages:
    """The languages, and where the texts are those of two languages alone, the one or both that are not said."""
    keys = list(texts)
    if len(keys) != 2 or None not in languages or not all(map(is_language, keys)):
        return languages
    source, target = languages
    if source is None and target is None:
        return Languages(*keys)
    said = source or target
    if said not in keys:
        return languages
    (other,) = set(keys) - {said}
    return Languages(source or other, target or other)


def _parse(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path}:{number}: the line is not JSON",
            why=str(error) or "it is nested too deeply",
            hint='a line looks like this: {"source": "Hello", "target": "Hallo"}',
            code="D032",
        ) from error
    if not isinstance(record, dict):
        raise DataError(
            f"{path}:{number}: the line is no JSON object",
            hint='a line looks like this: {"source": "Hello", "target": "Hallo"}',
            code="D033",
        )
    return record


def _text(texts: Mapping[str, Any], names: tuple[str, str | None], path: Path, number: int) -> str:
    """The text of a side, which stands under its role or, where that is known, under its language."""
    role, language = names
    name = language if language is not None and language in texts else role
    if name not in texts:
        raise DataError(
            f"{path}:{number}: the line has no {role}",
            why=f"its keys are {', '.join(texts) or 'none'}",
            hint="name the sides source and target, or by language with source_language and target_language in [data]",
            code="D034",
        )
    text = texts[name]
    if not isinstance(text, str | None):
        raise DataError(f"{path}:{number}: {name} is no text", hint=f'write it in quotes: "{name}": "..."', code="D035")
    return as_sentence(text or "", path, number)
