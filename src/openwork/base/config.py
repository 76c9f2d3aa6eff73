"""Run files: reads TOML into frozen settings; errors name file, line and remedy.

A run file is read into a `Layer` (plain values and their origins), changed by `--set` assignments, and built into
settings: `build(RunSettings, layer.mapping, layer.origins)`. Each settings model stands next to the code it configures;
its fields are an `option` with the only default and the unit.
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from openwork.base import toml
from openwork.base.errors import ConfigError, UsageError
from openwork.base.explain import explain, explain_all
from openwork.base.fields import say_renamed, shortened
from openwork.base.regular_files import read_regular
from openwork.base.toml import DEEPEST, ValueOrigin, check_depth, check_values, too_deep, too_large, write_value

_BASE_KEY = "base"
_NOT_UNICODE = re.compile(r"[\ud800-\udfff]")
MOST_BYTES = 4 << 20  # of settings that openwork wrote, which have a few thousand
LARGEST = 1_000_000  # bytes; run files have a few thousand
# Keys of version 0.1.0 that have other names now.
RENAMED = {"model.longest": "model.maximum_length", "model.marks_prompts": "model.separate_prompt"}


class Settings(BaseModel):
    """Base class of settings models: frozen, no unknown keys, no silent conversions (`"256"` is not 256).

    TOML has no null, so a field that may be None has None as its default.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


AnySettings = TypeVar("AnySettings", bound=Settings)


@dataclass(frozen=True)
class Layer:
    """Values of a run file, and the origin of each dotted key ("model.width")."""

    mapping: Mapping[str, Any] = field(default_factory=dict)
    origins: Mapping[str, ValueOrigin] = field(default_factory=dict)


def read_run_file(path: Path | str) -> Layer:
    """Reads a TOML run file; its key `base` names another run file, relative to it, whose values it overrides."""
    return _read_chain(Path(path), ())


def read_written_file(path: Path) -> Layer:
    """Reads a TOML file that openwork wrote: a regular file of a bounded size that depends on no other file.

    `ConfigError` for one with the key `base`, `BundleError` for a link or anything but a regular file.
    """
    try:
        data = read_regular(path, MOST_BYTES)
    except OSError as error:
        _refuse_reading(path, error)
    layer = _parsed(path, _decoded(path, data))
    if _BASE_KEY in layer.mapping:
        raise ConfigError(
            f"{layer.origins[_BASE_KEY]}: a file that openwork wrote has no base",
            why="base names another file, and nothing outside the folder may change what is in it",
            hint="copy the whole folder again, or write the settings of the other file into this one",
            code="C101",
        )
    return layer


def _parsed(path: Path, text: str) -> Layer:
    try:
        mapping = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, place = str(error), str(path)
        if found := re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", message):
            line = found.group(1) or text.rstrip("\n").count("\n") + 1
            message, place = message[: found.start()], f"{path}:{line}"
        raise ConfigError(
            f"{place}: not valid TOML: {message}", hint="see https://toml.io for the format", code="C004"
        ) from error
    except RecursionError as error:
        raise too_deep(str(path)) from error
    except ValueError as error:  # a number of more than some thousand digits
        raise too_large(str(path)) from error
    check_depth(mapping, str(path))
    origins = {key: ValueOrigin(str(path), line) for key, line in toml.key_lines(text).items()}
    check_values(mapping, origins, str(path))
    return _with_new_keys(Layer(mapping, origins))


def _with_new_keys(layer: Layer) -> Layer:
    """Renames keys of version 0.1.0; an old key next to its new one stays and is refused as unknown."""
    mapping, origins = dict(layer.mapping), dict(layer.origins)
    for old, new in RENAMED.items():
        (section, old_key), new_key = old.split("."), new.partition(".")[2]
        table = mapping.get(section)
        if isinstance(table, Mapping) and old_key in table and new_key not in table:
            say_renamed(old, new)
            mapping[section] = {new_key if key == old_key else key: value for key, value in table.items()}
            origins = {new if key == old else key: origin for key, origin in origins.items()}
    return Layer(mapping, origins)


def _read_chain(path: Path, above: tuple[Path, ...]) -> Layer:
    layer = _parsed(path, _read_text(path))
    if _BASE_KEY not in layer.mapping:
        return layer
    mapping, origins = dict(layer.mapping), dict(layer.origins)
    where, base = origins.pop(_BASE_KEY), mapping.pop(_BASE_KEY)
    if not isinstance(base, str):
        raise ConfigError(
            f"{where}: base must be the name of another run file", hint='write: base = "other.toml"', code="C005"
        )
    base_path = path.parent / base
    chain = (*above, path.resolve())
    try:
        leads_back, is_file = base_path.resolve() in chain, base_path.is_file()
    except (OSError, ValueError, RuntimeError):  # not a file name: too long, with NUL, or links in a circle
        leads_back = is_file = False
    if leads_back:
        raise ConfigError(
            f"{where}: base = {base!r} leads back to {base_path}",
            why="run files may not be each other's base",
            hint="remove one of the base lines",
            code="C006",
        )
    if not is_file:
        raise ConfigError(
            f"{where}: base = {base!r} is not there",
            why=f"{base_path} is not a file",
            hint="the name is relative to the file that holds it",
            code="C007",
        )
    return _merge(_read_chain(base_path, chain), Layer(mapping, origins))


def _read_text(path: Path) -> str:
    try:
        if path.is_fifo() and not path.is_relative_to("/dev"):
            raise ConfigError(
                f"{path}: this is a pipe, not a run file",
                why="reading it waits until something is written to it",
                hint="give the name of a file",
                code="C102",
            )
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError as error:
        raise ConfigError(
            f"{path}: no such run file", hint=f"check the path (current folder: {Path.cwd()})", code="C008"
        ) from error
    except OSError as error:
        _refuse_reading(path, error)
    if len(data) > LARGEST:
        raise ConfigError(
            f"{path}: this is longer than a run file may be, {LARGEST:,} bytes",
            hint="check the path: this may be another file",
            code="C103",
        )
    return _decoded(path, data)


def _refuse_reading(path: Path, error: OSError) -> NoReturn:
    raise ConfigError(
        f"{path}: the run file cannot be read",
        why=error.strerror or str(error),
        hint="check that it is a file, and that you may read it",
        code="C009",
    ) from error


def _decoded(path: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{path}:{line}: invalid UTF-8 in a run file", hint="save the file as UTF-8", code="C010"
        ) from error


def _merge(base: Layer, over: Layer) -> Layer:
    # Where both files have a table, its origin is the overriding file. An array of tables is replaced as a whole, with
    # the origins of the old one.
    replaced = tuple(f"{key}." for key in over.origins if isinstance(_value_at(over.mapping, key), list))
    kept = {key: origin for key, origin in base.origins.items() if not key.startswith(replaced)}
    return Layer(_merge_mappings(base.mapping, over.mapping), {**kept, **over.origins})


def _value_at(mapping: Mapping[str, Any], key: str) -> Any:
    here: Any = mapping
    for part in key.split("."):
        here = here.get(part) if isinstance(here, Mapping) else None
    return here


def _merge_mappings(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        items = {str(number): item for number, item in enumerate(old)} if isinstance(old, list) else {}
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            value = _merge_mappings(old, value)
        elif isinstance(old, list) and isinstance(value, Mapping) and value.keys() <= items.keys():
            value = [*_merge_mappings(items, value).values()]  # as of `--set data.mix.1.weight=2`
        merged[key] = value
    return merged


def apply_assignments(layer: Layer, assignments: Iterable[str]) -> Layer:
    """The layer overridden by assignments of the form `model.width=256` (the option `--set`).

    The value is read as TOML (`256`, `true`, `[1, 2]`, `"text"`); anything that is not TOML is text.
    """
    for assignment in assignments:
        key, equals, raw = assignment.partition("=")
        parts = [part.strip() for part in key.split(".")]
        if (old := ".".join(parts)) in RENAMED:
            say_renamed(old, RENAMED[old])
            parts = RENAMED[old].split(".")
        if not equals or not all(parts):
            raise UsageError(
                f"--set {shortened(assignment)}: not an assignment",
                hint="write it as: --set model.width=256",
                code="U001",
            )
        if len(parts) > DEEPEST:
            raise too_deep("--set")
        mapping: dict[str, Any] = {parts[-1]: _parse_value(raw.strip())}
        for part in reversed(parts[:-1]):
            mapping = {part: mapping}
        check_depth(mapping, "--set")
        check_values(mapping, {}, "--set")
        origin = ValueOrigin(f"--set {shortened(assignment)}")
        origins = {".".join(parts[: depth + 1]): origin for depth in range(len(parts))}
        for outer in list(origins)[:-1]:
            if outer in layer.origins:  # an existing section keeps its place in the file
                del origins[outer]
        layer = _merge(layer, Layer(mapping, origins))
    return layer


def _parse_value(raw: str) -> Any:
    if "\n" in raw:
        return raw
    try:
        return tomllib.loads(f"value = {raw}")["value"]
    except tomllib.TOMLDecodeError:
        return raw
    except RecursionError as error:
        raise too_deep("--set") from error
    except ValueError as error:  # as in a file
        raise too_large("--set") from error


def build(
    settings_class: type[AnySettings], mapping: Mapping[str, Any], origins: Mapping[str, ValueOrigin] | None = None
) -> AnySettings:
    """Builds settings from `mapping`; `ConfigError` names the first key that is unknown or not allowed."""
    # As JSON a list may become a tuple and a string a path or an enumeration, but "256" no number.
    try:
        return settings_class.model_validate_json(_as_json(mapping))
    except ValidationError as error:
        raise explain(error, settings_class, mapping, origins or {}) from error


def build_section(
    section_class: type[AnySettings], name: str, values: Any, origins: Mapping[str, ValueOrigin]
) -> AnySettings:
    """One section of a run file, built alone; `ConfigError` as of `build`, with the section in the names of keys."""
    fields: dict[str, Any] = {name: (section_class, ...)}
    whole = create_model("Section", __base__=Settings, **fields)
    return getattr(build(whole, {name: values}, origins), name)


def find_mistakes(
    settings_class: type[Settings], mapping: Mapping[str, Any], origins: Mapping[str, ValueOrigin]
) -> list[ConfigError]:
    """All errors of `build` that can be found at once; rules between keys are checked after the values."""
    try:
        settings_class.model_validate_json(_as_json(mapping))
    except ValidationError as error:
        return explain_all(error, settings_class, mapping, origins)
    return []


def _as_json(mapping: Mapping[str, Any]) -> str:
    text = json.dumps(mapping, default=str, ensure_ascii=False)
    if found := _NOT_UNICODE.search(text):
        start, end = text.rfind('"', 0, found.start()) + 1, text.find('"', found.start())
        raise toml.not_unicode(text[start:end])
    return text


def to_toml(settings: Settings, comments: Mapping[str, str] | None = None) -> str:
    """The settings with their defaults as a run file, from which `build` makes equal settings.

    `comments`, by dotted key, follow the values.
    """
    return toml.write_table(settings.model_dump(mode="json"), comments=comments or {})


def fingerprint(settings: Settings) -> str:
    """Hash of the settings, 16 hexadecimal digits; independent of the order of keys."""
    values = settings.model_dump(mode="json", exclude_none=True)
    canonical = json.dumps(values, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def read_run(path: Path | None, assignments: Iterable[str], given: Mapping[str, Any]) -> Layer:
    """A run file, overridden by `--set` assignments, overridden by what the command line's own options give."""
    return lay_over(read_run_file(path) if path is not None else Layer(), assignments, given)


def lay_over(layer: Layer, assignments: Iterable[str], given: Mapping[str, Any]) -> Layer:
    """The layer, overridden by assignments, overridden by what the options give."""
    layer = apply_assignments(layer, assignments)
    for section, values in given.items():
        layer = apply_assignments(layer, [f"{section}.{key}={write_value(value)}" for key, value in values.items()])
    return layer
