"""Turns what pydantic says about a wrong run file into one sentence with the key, its place and the remedy."""

import difflib
import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from openwork.base.errors import ConfigError, RuleError
from openwork.base.fields import all_keys, allowed_values, literals, models_in, schema_of, show_value
from openwork.base.messages import nearest
from openwork.base.toml import ValueOrigin

_PLAIN_VALUE = re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9]+)?([eE][-+]?[0-9]+)?|true|false")


def explain(
    error: ValidationError, model: type[BaseModel], mapping: Mapping[str, Any], origins: Mapping[str, ValueOrigin]
) -> ConfigError:
    """One `ConfigError` for the first mistake, unknown keys first, with the number of the others."""
    first, *others = explain_all(error, model, mapping, origins)
    if others:
        first.why = f"{first.why}; " * bool(first.why) + f"{len(others)} more mistake(s) after this one"
    return first


def explain_all(
    error: ValidationError, model: type[BaseModel], mapping: Mapping[str, Any], origins: Mapping[str, ValueOrigin]
) -> list[ConfigError]:
    """One `ConfigError` for each mistake, unknown keys first."""
    details = error.errors(include_url=False)
    # A key misspelt is often the reason why another is missing.
    details.sort(key=lambda detail: detail["type"] != "extra_forbidden")
    return [_explain_one(detail, model, mapping, origins) for detail in details]


def _explain_one(
    detail: ErrorDetails, model: type[BaseModel], mapping: Mapping[str, Any], origins: Mapping[str, ValueOrigin]
) -> ConfigError:
    key = _written_key(detail, mapping)
    match detail["type"]:
        case "extra_forbidden":
            return _unknown_key(key, detail, model, origins)
        case "missing" | "union_tag_not_found":
            return _missing_key(key, detail, model, origins)
        case "value_error" | "assertion_error":
            return _refused_by_rule(key, detail, origins)
        case _:
            return _bad_value(key, detail, model, origins)


def _written_key(detail: ErrorDetails, mapping: Mapping[str, Any]) -> list[str]:
    """The key as the user wrote it: pydantic's place without the names of union members that it puts in between."""
    key: list[str] = []
    here: Any = mapping
    for part in detail["loc"]:
        items: Any = dict(enumerate(here)) if isinstance(here, list) else here
        if isinstance(items, Mapping) and part in items:
            here = items[part]
            key.append(str(part))
    if detail["type"] == "missing":
        key.append(str(detail["loc"][-1]))
    return key


def _place(key: list[str], origins: Mapping[str, ValueOrigin]) -> str:
    """The origin of the key, or of the nearest section around it, or the file."""
    found = [origins.get(".".join(key[:depth])) for depth in range(len(key), 0, -1)]
    found += [ValueOrigin(origin.source) for origin in origins.values() if origin.line is not None]
    return next((f"{origin}: " for origin in found if origin), "")


def _unknown_key(
    key: list[str], detail: ErrorDetails, model: type[BaseModel], origins: Mapping[str, ValueOrigin]
) -> ConfigError:
    owners = _models_at(model, detail["loc"][:-1])
    names = sorted({name for owner in owners for name in owner.model_fields})
    section = ".".join(key[:-1])
    elsewhere = [other for other in all_keys(model) if other.last == key[-1]]
    hint = nearest(key[-1], names)
    if not hint and elsewhere:
        near = next((one for one in elsewhere if one.name.split(".")[0] in origins), elsewhere[0])
        hint = f"did you mean {near.name}? It belongs in the section {near.header}"
    elif not hint and (far := difflib.get_close_matches(key[-1], names, n=1, cutoff=0.45)):
        hint = f"the nearest name is {far[0]}"
    where = f"[{section}] knows" if section else "known at the top are"
    return ConfigError(
        f"{_place(key, origins)}unknown key {'.'.join(key)}", why=f"{where}: {', '.join(names)}", hint=hint, code="C011"
    )


def _refused_by_rule(key: list[str], detail: ErrorDetails, origins: Mapping[str, ValueOrigin]) -> ConfigError:
    """A validator of ours said no; if it speaks of a key that the user wrote, point at that line."""
    error = detail.get("ctx", {}).get("error", detail["msg"])
    message = error.what if isinstance(error, RuleError) else str(error)
    for word in re.findall(r"\w+", str(error)):
        if ".".join([*key, word]) in origins:
            key = [*key, word]
            break
    named = "" if key and key[-1] in str(error) else f"{'.'.join(key)}: " * bool(key)
    hint, code = (error.hint, error.code) if isinstance(error, RuleError) else ("change one of these settings", "")
    return ConfigError(f"{_place(key, origins)}{named}{message}", hint=hint, code=code)


def _missing_key(
    key: list[str], detail: ErrorDetails, model: type[BaseModel], origins: Mapping[str, ValueOrigin]
) -> ConfigError:
    why = _describe(model, detail["loc"])
    if detail["type"] == "union_tag_not_found":
        key = [*key, _discriminator(detail)]
        why = "it tells which kind of section this is"
    return ConfigError(
        f"{_place(key, origins)}{'.'.join(key)} is missing", why=why, hint=f"add a line: {key[-1]} = ...", code="C012"
    )


def _bad_value(
    key: list[str], detail: ErrorDetails, model: type[BaseModel], origins: Mapping[str, ValueOrigin]
) -> ConfigError:
    value, why = detail["input"], _describe(model, detail["loc"])
    if detail["type"] == "union_tag_invalid":
        context = detail.get("ctx", {})
        key, value = [*key, _discriminator(detail)], context.get("tag")
        why = f"{key[-1]} is one of {context.get('expected_tags')}"
    name = ".".join(key) or "the run file"
    return ConfigError(
        f"{_place(key, origins)}{name} = {show_value(value)} is not allowed",
        why=why or detail["msg"],
        hint=_suggest_value(detail["type"], key, value),
        code="C013",
    )


def _discriminator(detail: ErrorDetails) -> str:
    return str(detail.get("ctx", {}).get("discriminator", "kind")).strip("'")


def _suggest_value(kind: str, key: list[str], value: Any) -> str:
    """How the same value is written rightly, where only the form was wrong."""
    name = key[-1] if key else "key"
    if kind.startswith(("int", "float", "bool")) and isinstance(value, str) and _PLAIN_VALUE.fullmatch(value):
        return f"write it without quotes: {name} = {value}"
    if kind == "string_type" and isinstance(value, (int, float)):
        return f'write it in quotes: {name} = "{show_value(value)}"'
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return f"write it as a section: [{'.'.join(key)}]"
    return "change the value, or leave the key out to get its default"


def _describe(model: type[BaseModel], location: tuple[int | str, ...]) -> str:
    """What a field takes, from its type, its limits and its description."""
    named = [index for index, part in enumerate(location) if isinstance(part, str)]
    for index in reversed(named):
        name = location[index]
        for owner in _models_at(model, location[:index]):
            if name in owner.model_fields:
                schema = schema_of(owner)
                allowed = allowed_values(schema["properties"][name], schema.get("$defs", {}))
                description = owner.model_fields[str(name)].description or ""
                said = f"{name} is {allowed}" if allowed else ""
                return f"{said} ({description})" if said and description else said or description
    return ""


def _models_at(model: type[BaseModel], location: tuple[int | str, ...]) -> list[type[BaseModel]]:
    """The models that may stand at a place of pydantic's: several where a union allows several."""
    models = [model]
    for part in location:
        fields = [owner.model_fields[part] for owner in models if isinstance(part, str) and part in owner.model_fields]
        if fields:
            models = [inner for known in fields for inner in models_in(known.annotation)]
        elif isinstance(part, str):  # the name of a union's member, or the value that tells which member it is
            tagged = [owner for owner in models if owner.__name__ == part or part in literals(owner)]
            models = tagged or models
    return models
