"""Text with one pair a line: two aligned files, columns with tabs between, or JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from openwork.base.errors import DataError
from openwork.base.files import read_lines
from openwork.base.messages import msg, nearest
from openwork.data.readers.sides import as_sentence
from openwork.data.records import UNSAID, Languages, Pair
from openwork.text.languages import is_language


def read_parallel(source_path: Path | str, target_path: Path | str) -> Iterator[Pair]:
    """Yield the pairs of two text files (plain or gzip), strictly by line number.

    A blank line is an empty sentence, never a reason to skip: a shift by one line would spoil every pair after it.
    Where the counts differ, the longer file is read to its end and `DataError` names both counts. The faults of a
    single file are `read_lines`'s.
    """
    counts = [0, 0]
    for source, target in zip_longest(read_lines(source_path), read_lines(target_path)):
        counts[0] += source is not None
        counts[1] += target is not None
        if source is not None and target is not None:
            yield Pair(source, target)
    if counts[0] != counts[1]:
        shorter = source_path if counts[0] < counts[1] else target_path
        first, second = (msg("1 line") if count == 1 else msg(f"{count:,} lines") for count in counts)
        raise DataError(
            f"{source_path} has {first}, {target_path} has {second}",
            why=f"line n of one must translate line n of the other; {shorter} ends after line {min(counts):,}",
            hint="find the shift (`paste SOURCE TARGET | less`); an untranslated line must stay as a blank line",
            code="D043",
        )


def read_tsv(path: Path | str) -> Iterator[Pair]:
    """Yield the pairs of a file (plain or gzip) with exactly two columns; either may be empty.

    There is no quoting: a quotation mark is a character like any other. `DataError` names the line whose number of
    columns is another; a wholly blank line has one column and is refused too, since it may hide a shift.
    """
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) != 2:
            found = "one column" if len(columns) == 1 else f"{len(columns)} columns"
            raise DataError(
                f"{path}:{number}: {found} where two are needed",
                why="a line is the source, one tab, the target",
                hint="keep two columns (`cut -f1,2 FILE > NEW`) and remove tabs from inside the sentences",
                code="D024",
            )
        yield Pair(*columns)


def read_columns(path: Path | str, names: Sequence[str]) -> Iterator[Pair]:
    """The pairs of a file (plain or compressed): all but the last of the columns `names` as source, that as target.

    The first line has the columns' names; then each line is one example, with tabs between, as in the files of GLUE
    (Wang et al. 2019). Two source columns, for tasks about two sentences, keep a tab between. There is no quoting.
    DataError for a name that the first line does not have, and for a line with another number of columns.
    """
    lines = read_lines(path)
    header = next(lines, "").split("\t")
    places = [_place(path, header, name) for name in names]
    for number, line in enumerate(lines, start=2):
        columns = line.split("\t")
        if len(columns) != len(header):
            raise DataError(
                f"{path}:{number}: {len(columns)} columns, the first line names {len(header)}",
                why="there is no quoting: each tab parts two columns",
                hint="look at that line and the one before it; a text may hold neither tab nor line end",
                code="D113",
            )
        *source, target = (columns[place] for place in places)
        yield Pair("\t".join(source), target)


def _place(path: Path | str, header: Sequence[str], name: str) -> int:
    if header.count(name) == 1:
        return header.index(name)
    raise DataError(
        f"{path}:1: no column, or more than one, has the name {name!r}",
        why=f"the first line names {', '.join(header)}",
        hint=nearest(name, header) or "name columns of that line in data.columns",
        code="D114",
    )


def read_jsonl(path: Path | str, languages: Languages = UNSAID) -> Iterator[Pair]:
    """Yield the pair of each line of a file (plain, gzip or xz).

    The keys of the texts are `source` and `target`, or the codes of the languages (`{"en": ..., "de": ...}`), at the
    top or within `translation`, as in the data sets on Hugging Face. Where the languages are not known and the first
    line has two of them and nothing else, the first is the source's. `null` is a blank text. `DataError` names a line
    that is not JSON, not an object, or lacks a side; a blank line is refused too.
    """
    path = Path(path)
    for number, line in enumerate(read_lines(path), start=1):
        texts = _texts(_parse(path, number, line))
        if number == 1:
            languages = _completed(languages, texts)
        yield Pair(*(_text(texts, names, path, number) for names in zip(("source", "target"), languages, strict=True)))


def keys_of_sides(path: Path) -> Languages:
    """The languages that the first line has as keys of its two texts; none where it has other keys."""
    line = next(read_lines(path), None)
    return _completed(UNSAID, _texts(_parse(path, 1, line))) if line is not None else UNSAID


def _texts(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The mapping that has the texts: the record, or its value of `translation`."""
    nested = record.get("translation")
    return nested if isinstance(nested, Mapping) else record


def _completed(languages: Languages, texts: Mapping[str, Any]) -> Languages:
    """The languages, completed by the keys where there are texts in two languages and nothing else."""
    keys = list(texts)
    if len(keys) != 2 or None not in languages or not all(map(is_language, keys)):
        return languages
    source, target = languages
    if source is None and target is None:
        return Languages(*keys)
    if (source or target) not in keys:
        return languages
    (other,) = set(keys) - {source or target}
    return Languages(source or other, target or other)


def _parse(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
        if isinstance(record, dict):
            return record
        raise ValueError(msg("it is not a JSON object"))
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path}:{number}: the line is not JSON with two texts",
            why=str(error) or "it is nested too deeply",
            hint='a line looks like this: {"source": "Hello", "target": "Hallo"}',
            code="D032",
        ) from error


def _text(texts: Mapping[str, Any], names: tuple[str, str | None], path: Path, number: int) -> str:
    """The text of a side; its key is its language, where that is known, or its role."""
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
        raise DataError(
            f"{path}:{number}: {name} is not a text", hint=f'write it in quotes: "{name}": "..."', code="D035"
        )
    return as_sentence(text or "", path, number)
