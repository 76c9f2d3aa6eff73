"""Limits of run files: depth, size of integers, no NUL characters."""

from collections.abc import Iterator, Mapping

from openwork.base.errors import ConfigError
from openwork.base.explain import ValueOrigin

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
    """The error for nesting deeper than `DEEPEST`."""
    return ConfigError(
        f"{place}: tables or lists are nested more than {DEEPEST} times",
        why="a run file has sections, keys and values",
        hint="write each setting as key = value, under the header of its [section]",
        code="C003",
    )


def too_large(place: str) -> ConfigError:
    """The error for an integer of more than 64 bits."""
    return ConfigError(
        f"{place}: a whole number of more than 64 bits",
        why="TOML has none so large",
        hint="write a smaller number",
        code="C105",
    )


def _items(value: object) -> Iterator[tuple[str, object]]:
    """The items of a table or list, by key or number."""
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from ((str(number), one) for number, one in enumerate(value))
