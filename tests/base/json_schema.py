"""A validator for the part of JSON Schema that pydantic writes, so that a schema can be held against run files."""

from collections.abc import Iterator
from typing import Any

TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}


def flaws(value: Any, schema: dict[str, Any], root: dict[str, Any], place: str = "") -> Iterator[str]:
    """Where and why a value is not what the schema allows; nothing if it is."""
    if "$ref" in schema:
        yield from flaws(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, place)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            fitting = sum(not list(flaws(value, part, root, place)) for part in schema[key])
            if not (fitting if key == "anyOf" else fitting == 1):
                yield f"{place}: {fitting} of {key} fit"
    if "const" in schema and value != schema["const"]:
        yield f"{place}: not {schema['const']}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place}: none of {schema['enum']}"
    if "type" in schema and not _is(value, schema["type"]):
        yield f"{place}: not of type {schema['type']}"
        return
    yield from _limits(value, schema, place)
    if isinstance(value, dict):
        yield from _members(value, schema, root, place)
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from flaws(item, schema["items"], root, f"{place}[{index}]")


def _is(value: Any, name: str) -> bool:
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def _limits(value: Any, schema: dict[str, Any], place: str) -> Iterator[str]:
    if isinstance(value, int | float):
        low, above = schema.get("minimum", value), schema.get("exclusiveMinimum")
        high, below = schema.get("maximum", value), schema.get("exclusiveMaximum")
        if not low <= value <= high or (above is not None and value <= above) or (below is not None and value >= below):
            yield f"{place}: out of bounds"


def _members(value: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], place: str) -> Iterator[str]:
    known = schema.get("properties", {})
    yield from (f"{place}: {name} is missing" for name in schema.get("required", []) if name not in value)
    for name, item in value.items():
        if name in known:
            yield from flaws(item, known[name], root, f"{place}.{name}")
        elif schema.get("additionalProperties") is False:
            yield f"{place}: {name} is unknown"
