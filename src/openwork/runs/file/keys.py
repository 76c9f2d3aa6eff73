"""Every key of run files and translation files: explanations, JSON Schemas for editors, lookups. No torch here."""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from openwork.base.config import Layer, read_run_file
from openwork.base.errors import UsageError
from openwork.base.fields import Key, all_keys, show_value
from openwork.base.messages import msg
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
_BASE = {"base": {"type": "string", "description": "another such file, relative to this one, that this one overrides"}}
DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True)
class Use:
    """A value that a recipe gives the key."""

    recipe: str
    value: str


@dataclass(frozen=True)
class KeyExplanation:
    """One key, which several kinds of a section may have in different forms."""

    name: str
    forms: tuple[Key, ...]
    related: tuple[str, ...]
    uses: tuple[Use, ...]

    def lines(self) -> list[str]:
        lines = [self.name]
        for key in self.forms:
            kinds = msg(f" (kind {'/'.join(key.kinds)})") if key.kinds else ""
            lines += [
                Joined("  ", key.description, kinds),
                msg(f"  takes:    {key.takes}"),
                msg(f"  default:  {key.shown_default}"),
                *([msg(f"  from:     {key.origin}")] if key.origin else []),
                *(Joined(AsIs(f"    {value:<12} "), text) for value, text in key.values),
            ]
        lines.append(msg(f"  section:  {self.forms[0].header or 'the top of the file, before the sections'}"))
        if self.related:
            lines.append(msg(f"  related:  {', '.join(self.related)}"))
        lines += [msg(f"  used in:  {use.recipe}: {use.value}") for use in self.uses]
        return lines

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@cache
def known_keys() -> tuple[Key, ...]:
    """Those of the settings, and the two that only the reader of files knows."""
    return (*_ALSO, *all_keys(RunSettings))


def key_lines(section: str | None = None) -> list[str]:
    """The keys of a run file, or of one section, in one line each; none if there is no such section."""

    def line(key: Key) -> str:
        name = AsIs(f"{key.name} ({'/'.join(key.kinds)})" if key.kinds else key.name)
        return Joined(name, ": ", key.takes, "; ", "default ", key.shown_default, "; ", key.description)

    return [line(key) for key in known_keys() if section in (None, key.section)]


def explain_key(name: str) -> list[KeyExplanation]:
    """Every key of that name, or with that last part; UsageError with the nearest names if there is none."""
    names = {key.name: key.name.replace("[]", "") for key in known_keys()}
    found = [known for known, spoken in names.items() if name in (known, spoken)]
    found = found or [known for known in names if known.rpartition(".")[2] == name]
    if not found:
        raise UsageError(f"{name}: no run file has such a key", hint=_nearest(name, list(names)), code="U046")
    return [_explanation(known) for known in found]


def _explanation(name: str) -> KeyExplanation:
    """Related are keys of the section that share a word of the name, or where one description names the other."""
    forms = tuple(key for key in known_keys() if key.name == name)
    last, words = forms[0].last, {word for form in forms for word in _WORD.findall(form.description)}
    others = [key for key in known_keys() if key.name != name and key.section == forms[0].section]
    near = {
        key.name
        for key in others
        if key.last in words or last in _WORD.findall(key.description) or {*key.last.split("_")} & {*last.split("_")}
    }
    related = [other for other in dict.fromkeys(key.name for key in others) if other in near]
    found = ((path.stem, dict(leaves(read_run_file(path).mapping))) for path in recipes())
    uses = tuple(Use(recipe, write_value(values[name])) for recipe, values in found if name in values)
    return KeyExplanation(name, forms, tuple(related[:_MOST_RELATED]), uses)


def _nearest(name: str, names: list[str]) -> str:
    last_parts = {known.rpartition(".")[2]: known for known in reversed(names)}
    near = difflib.get_close_matches(name, names, n=3)
    near += [last_parts[part] for part in difflib.get_close_matches(name.rpartition(".")[2], last_parts, n=3)]
    if near:
        return f"did you mean {' or '.join(dict.fromkeys(near[:3]))}?"
    return "openwork config explain lists every key"


def leaves(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys and values; an empty section is a value of its own."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def section_of(layer: Layer, name: str) -> dict[str, Any]:
    """The section's keys; none where there is no such section, or something else in its place."""
    section = layer.mapping.get(name)
    return dict(section) if isinstance(section, Mapping) else {}


def holds(mapping: Any, parts: list[str]) -> bool:
    """Whether nested mappings have the key."""
    for part in parts:
        if not isinstance(mapping, Mapping) or part not in mapping:
            return False
        mapping = mapping[part]
    return True


def run_file_schema() -> dict[str, Any]:
    """The schema of the settings, of `base`, and of a preset in place of the model's sizes.

    A file with a base may lack the keys that the base has, so nothing is required there.
    """
    schema = RunSettings.model_json_schema()
    schema["$schema"] = DIALECT
    schema["title"] = "openwork run file"
    schema["properties"] = {**_BASE, **schema["properties"]}
    required = schema.pop("required", [])
    if required:
        schema["anyOf"] = [{"required": required}, {"required": ["base"]}]
    section: dict[str, Any] = schema["properties"]["model"]
    default = section.get("default", {}).get("kind")
    for reference in section["oneOf"]:
        model = schema["$defs"][reference["$ref"].rpartition("/")[2]]
        kind = model["properties"]["kind"]["const"]
        names = [name for name, values in PRESETS.items() if values.get("kind") == kind]
        model["properties"]["preset"] = {"enum": names, "description": "a named table of sizes"}
        if kind != default:  # a section that names neither kind nor preset is of the default kind, and of no other
            model["anyOf"] = [{"required": ["kind"]}, {"required": ["preset"]}]
    return schema


def translation_file_schema() -> dict[str, Any]:
    """The schema of the settings; nothing is required, since the command line may give it."""
    schema = TranslationSettings.model_json_schema()
    properties = {**_BASE, **schema["properties"]}
    return {**schema, "$schema": DIALECT, "title": "openwork translation file", "properties": properties}


SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {"run": run_file_schema, "translation": translation_file_schema}
