"""TOML beyond the standard library: line numbers of keys, limits of values, and writing TOML."""

import datetime
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from openwork.base.errors import ConfigError
from openwork.base.printing import UNSAFE, escaped, one_line

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
# String literals of TOML's four kinds, multi-line ones first, since they start like the others; comments, brackets and
# line ends; anything else.
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"""|\#[^\n]*|[\[\]{}\n]|[^\[\]{}\n"'#]+""",
    re.DOTALL,
)
_KEY_PART = re.compile(r"""\s*([A-Za-z0-9_-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*')\s*""")


@dataclass(frozen=True)
class ValueOrigin:
    """Where a value came from: a file and its 1-based line, or an option of the command line."""

    source: str
    line: int | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}"


def key_lines(text: str) -> dict[str, int]:
    """The 1-based line of every dotted key and table header of a valid TOML text, for error messages.

    `tomllib` has accepted the text before, so this scan finds only headers, keys and the ends of values. The tables of
    an array are numbered from 0: the keys of the second `[[runs]]` begin with `runs.1`. Keys inside an inline table are
    left out.
    """
    lines: dict[str, int] = {}
    counts: dict[str, int] = {}  # how many tables each array has so far
    table: tuple[str, ...] = ()
    for position, statement in _statements(text):
        line = text.count("\n", 0, position) + 1
        if statement.startswith("["):
            is_array = statement.startswith("[[")
            table = _numbered(_key_parts(statement.lstrip("[")), counts, is_new=is_array)
            key = table
        else:
            key = table + _key_parts(statement)
        for depth in range(1, len(key) + 1):
            lines.setdefault(".".join(key[:depth]), line)
    return lines


def _numbered(header: tuple[str, ...], counts: dict[str, int], *, is_new: bool) -> tuple[str, ...]:
    """A header's key with the numbers of the tables of arrays; `is_new` begins another table."""
    key: tuple[str, ...] = ()
    for depth, part in enumerate(header, start=1):
        key = (*key, part)
        name = ".".join(key)
        if is_new and depth == len(header):
            counts[name] = counts.get(name, 0) + 1
        if name in counts:
            key = (*key, str(counts[name] - 1))
    return key


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each header and each `key = value`, up to the first line end outside strings, comments and brackets."""
    start, depth = -1, 0
    for token in _TOKEN.finditer(f"{text}\n"):
        written = token[0].lstrip()
        if start < 0 and written and not written.startswith("#"):
            start = token.end() - len(written)
        elif start >= 0 and token[0] == "\n" and depth == 0:
            yield start, text[start : token.start()]
            start = -1
        depth += (token[0] in "[{") - (token[0] in "]}")


def _key_parts(statement: str) -> tuple[str, ...]:
    parts: list[str] = []
    position = 0
    while found := _KEY_PART.match(statement, position):
        raw = found.group(1)
        parts.append(str(tomllib.loads(f"key = {raw}")["key"]) if raw[0] in "\"'" else raw)
        position = found.end()
        if statement[position : position + 1] != ".":
            break
        position += 1
    return tuple(parts)


def write_table(
    table: Mapping[str, object], path: tuple[str, ...] = (), comments: Mapping[str, str] | None = None
) -> str:
    """Nested mappings, lists and plain values as TOML text, without None, which TOML lacks.

    `comments`, by dotted key, follow the values.
    """
    values = {key: value for key, value in table.items() if value is not None}
    plain = {key: value for key, value in values.items() if not isinstance(value, Mapping)}
    blocks: list[str] = []
    if path and (plain or not values):
        blocks.append(f"[{'.'.join(map(_key, path))}]\n")
    for key, value in plain.items():
        comment = (comments or {}).get(".".join((*path, key)), "")
        blocks.append(f"{_key(key)} = {write_value(value)}{f'  # {one_line(comment)}' if comment else ''}\n")
    text = "".join(blocks)
    for key, value in values.items():
        if isinstance(value, Mapping):
            inner = write_table(value, (*path, key), comments)
            text += f"\n{inner}" if text else inner
    return text


def write_value(value: object) -> str:
    """A value as TOML text; a mapping becomes an inline table."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _string(value)
        case int() | float():
            return repr(value)
        case datetime.date() | datetime.time():
            return value.isoformat()
        case Mapping():
            items = (f"{_key(str(key))} = {write_value(item)}" for key, item in value.items() if item is not None)
            return "{" + ", ".join(items) + "}"
        case Sequence():
            return "[" + ", ".join(map(write_value, value)) + "]"
    raise TypeError(f"TOML has no value for {type(value).__name__}")


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _string(key)


def _string(text: str) -> str:
    # JSON's escapes are a subset of TOML's, except surrogate pairs; TOML also escapes DEL.
    return UNSAFE.sub(_escape, json.dumps(text, ensure_ascii=False))


def _escape(found: re.Match[str]) -> str:
    point = ord(found[0])
    if 0xD800 <= point <= 0xDFFF:
        raise not_unicode(found.string)
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def not_unicode(text: str) -> ConfigError:
    """The error for a text with lone surrogates, which TOML and JSON lack."""
    return ConfigError(
        f"{escaped(text[:200])}: a setting cannot hold this text",
        why="it is not Unicode, as the name of a file that is not UTF-8",
        hint="give the file or folder another name",
        code="C100",
    )


DEEPEST = 20  # run files need three
GREATEST = 2**63  # TOML has 64-bit integers


def check_depth(value: object, place: str) -> None:
    """ConfigError for tables and lists that are nested more than `DEEPEST` times."""
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for one in level for _, inner in _items(one)]
        if not level:
            return
    raise too_deep(place)


def check_values(table: object, origins: Mapping[str, ValueOrigin], place: str, above: str = "") -> None:
    """ConfigError for an integer of more than 64 bits, and for a NUL character."""
    for key, value in _items(table):
        name = f"{above}{key}"
        where = str(origins.get(name) or place)
        if isinstance(value, int) and not -GREATEST <= value < GREATEST:
            raise too_large(f"{where}: {name}")
        if isinstance(value, str) and "\0" in value:
            raise ConfigError(
                f"{where}: {name} holds a NUL character",
                why="no text and no file's name has one",
                hint="take it out",
                code="C104",
            )
        check_values(value, origins, where, f"{name}.")


def too_deep(place: str) -> ConfigError:
    return ConfigError(
        f"{place}: tables or lists are nested more than {DEEPEST} times",
        why="a run file has sections, keys and values",
        hint="write each setting as key = value, under the header of its [section]",
        code="C003",
    )


def too_large(place: str) -> ConfigError:
    return ConfigError(
        f"{place}: a whole number of more than 64 bits",
        why="TOML has none so large",
        hint="write a smaller number",
        code="C105",
    )


def _items(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from ((str(number), one) for number, one in enumerate(value))
