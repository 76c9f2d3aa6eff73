"""Every key that a run file may have, explained: what it takes, its default, its kin, and who sets it. No torch."""

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from openwork.base.config import read_run_file
from openwork.base.errors import UsageError
from openwork.base.fields import Key, all_keys, show_value
from openwork.base.phrases import AsIs, Joined
from openwork.base.toml import write_value
from openwork.inference.settings import TranslationSettings
from openwork.models.presets import PRESETS
from openwork.runs.file.recipes import recipes
from openwork.runs.file.settings import RunSettings

_ALSO = (
    Key("base", "a text in quotes", "", "another run file, relative to this one, whose values this one overrides"),
    Key(
        "model.preset",
        f"one of {', '.join(map(show_value, PRESETS))}",
        "",
        "a named table of sizes that the other keys of the section override",
    ),
)
_WORD = re.compile(r"[a-z0-9_]+")
_MOST_RELATED = 12


@dataclass(frozen=True)
class Use:
    """A value that a recipe gives the key."""

    recipe: str
    value: str


@dataclass(frozen=True)
class KeyExplanation:
    """All that is known of one key, which several kinds of a section may have in different ways."""

    name: str
    forms: tuple[Key, ...]
    related: tuple[str, ...]
    uses: tuple[Use, ...]

    def lines(self) -> list[str]:
        """For a person."""
        lines = [self.name]
        for key in self.forms:
            kinds = f" (kind {'/'.join(key.kinds)})" if key.kinds else ""
            lines += [
                Joined("  ", key.description, kinds),
                f"  takes:    {key.takes}",
                f"  default:  {key.shown_default}",
                *([f"  from:     {key.origin}"] if key.origin else []),
            ]
        lines.append(f"  section:  {self.forms[0].header or 'the top of the file, before the sections'}")
        if self.related:
            lines.append(f"  related:  {', '.join(self.related)}")
        lines += [f"  used in:  {use.recipe}: {use.value}" for use in self.uses]
        return lines

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@cache
def known_keys() -> tuple[Key, ...]:
    """Those of the settings, and the two that are gone once the file is read."""
    return (*_ALSO, *all_keys(RunSettings))


def key_lines(kind: str = "run") -> list[str]:
    """Each key of a run file, or of a translation file, in one line."""
    return [_one_line(key) for key in (known_keys() if kind == "run" else all_keys(TranslationSettings))]


def _one_line(key: Key) -> str:
    kinds = f" ({'/'.join(key.kinds)})" if key.kinds else ""
    name = AsIs(f"{key.name}{kinds}")
    return Joined(name, ": ", key.takes, "; ", "default ", key.shown_default, "; ", key.description)


def section_lines(section: str) -> list[str]:
    """The keys of one section in one line each; none if there is no such section."""
    return [_one_line(key) for key in known_keys() if key.section == section]


def explain_key(name: str) -> list[KeyExplanation]:
    """The key of that name; a last part alone, such as "beam", means every key that ends with it.

    UsageError with the nearest names if there is none.
    """
    names = {key.name: key.name.replace("[]", "") for key in known_keys()}
    found = [known for known, spoken in names.items() if name in (known, spoken)]
    found = found or [known for known in names if known.rpartition(".")[2] == name]
    if not found:
        raise UsageError(f"{name}: no run file has such a key", hint=_nearest(name, list(names)), code="U046")
    return [
        KeyExplanation(
            known,
            tuple(key for key in known_keys() if key.name == known),
            tuple(_related(known))[:_MOST_RELATED],
            tuple(_uses(known)),
        )
        for known in found
    ]


def _nearest(name: str, names: list[str]) -> str:
    last_parts = {known.rpartition(".")[2]: known for known in reversed(names)}
    near = difflib.get_close_matches(name, names, n=3)
    near += [last_parts[part] for part in difflib.get_close_matches(name.rpartition(".")[2], last_parts, n=3)]
    if near:
        return f"did you mean {' or '.join(dict.fromkeys(near[:3]))}?"
    return "openwork config schema --text lists every key"


def _related(name: str) -> Iterator[str]:
    """Keys of the same section that share a word of the name, or that one description or the other speaks of."""
    forms = [key for key in known_keys() if key.name == name]
    own = forms[0]
    words = {word for form in forms for word in _WORD.findall(form.description)}
    for other in dict.fromkeys(key.name for key in known_keys() if key.name != name and key.section == own.section):
        last = other.rpartition(".")[2]
        told = {word for key in known_keys() if key.name == other for word in _WORD.findall(key.description)}
        if last in words or own.last in told or set(last.split("_")) & set(own.last.split("_")):
            yield other


def _uses(name: str) -> Iterator[Use]:
    for path in recipes():
        values = dict(leaves(read_run_file(path).mapping))
        if name in values:
            yield Use(path.stem, write_value(values[name]))


def leaves(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys and values; an empty section is a value of its own."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def holds(mapping: Any, parts: list[str]) -> bool:
    """Whether the key stands in nested mappings."""
    for part in parts:
        if not isinstance(mapping, Mapping) or part not in mapping:
            return False
        mapping = mapping[part]
    return True
