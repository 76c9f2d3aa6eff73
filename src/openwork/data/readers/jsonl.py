"""JSON lines: an object a line, with a text for each side."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from openwork.base.errors import DataError
from openwork.base.files import read_lines
from openwork.data.readers.sentence import as_sentence
from openwork.data.records import UNSAID, Languages, Pair

_NESTED = "translation"


def read_jsonl(path: Path | str, languages: Languages = UNSAID) -> Iterator[Pair]:
    """Yield the pair of each line of a file (plain, gzip or xz).

    The texts stand under `source` and `target`, or under the codes of the languages (`{"en": ..., "de": ...}`), at the
    top or within `translation`, as the data sets on Hugging Face have it. `null` is a blank text. `DataError` names the
    line that is no JSON, no object, or lacks a side; a blank line is refused too.
    """
    path = Path(path)
    for number, line in enumerate(read_lines(path), start=1):
        record = _parse(path, number, line)
        texts = record.get(_NESTED, record)
        if not isinstance(texts, Mapping):
            texts = record
        yield Pair(*(_text(texts, names, path, number) for names in zip(("source", "target"), languages, strict=True)))


def _parse(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path}:{number}: the line is not JSON",
            why=str(error) or "it is nested too deeply",
            hint='a line looks like this: {"source": "Hello", "target": "Hallo"}',
        ) from error
    if not isinstance(record, dict):
        raise DataError(
            f"{path}:{number}: the line is no JSON object",
            hint='a line looks like this: {"source": "Hello", "target": "Hallo"}',
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
        )
    text = texts[name]
    if not isinstance(text, str | None):
        raise DataError(f"{path}:{number}: {name} is no text", hint=f'write it in quotes: "{name}": "..."')
    return as_sentence(text or "", path, number)
