"""Every number that settings take has a greatest value: none is so large that it overflows or computes without end."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from architecture.house import house
from openwork.base.config import Settings


def settings_models() -> list[type[Settings]]:
    """All settings models of the package."""
    for source in house().sources:
        if "Settings)" in source.path.read_text(encoding="utf-8"):
            import_module(f"openwork.{source.module}")
    found: list[type[Settings]] = []
    waiting: list[type[Settings]] = [Settings]
    while waiting:
        children = waiting.pop().__subclasses__()
        waiting += children
        found += [model for model in children if model.__module__.startswith("openwork.") and model not in found]
    return found


def numbers(schema: dict[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a schema says of each number in it, and under which key."""
    if schema.get("type") in ("integer", "number"):
        yield name, schema
    for part in (*schema.get("anyOf", ()), *schema.get("prefixItems", ())):
        yield from numbers(part, name)
    if isinstance(schema.get("items"), dict):
        yield from numbers(schema["items"], name)
    for key, inner in {**schema.get("properties", {}), **schema.get("$defs", {})}.items():
        yield from numbers(inner, f"{name}.{key}")


@pytest.mark.slow
def test_every_number_has_a_greatest_and_a_least_value():
    models = settings_models()
    assert len(models) > 25
    said = [found for model in models for found in numbers(model.model_json_schema(), model.__name__)]
    assert len(said) > 100
    assert [name for name, one in said if not {"maximum", "exclusiveMaximum"} & one.keys()] == []
    assert [name for name, one in said if not {"minimum", "exclusiveMinimum"} & one.keys()] == []


def test_a_number_without_bounds_is_found():
    """The test above looks into sections, lists and what may be left out."""
    schema = {
        "$defs": {"Section": {"properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}},
        "properties": {"b": {"type": "array", "items": {"type": "number", "maximum": 1}}},
    }
    assert [name for name, _ in numbers(schema, "run")] == ["run.b", "run.Section.a"]
