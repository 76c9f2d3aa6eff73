"""The keys of settings models: name, allowed values and default of every key of a run file, in words."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, Field
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from openwork.base.errors import report
from openwork.base.toml import write_value

LONGEST_SHOWN = 200  # characters of a value in a message
_TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text in quotes",
    "boolean": "true or false",
    "object": "a section",
}
_LIMITS = (("minimum", "at least"), ("exclusiveMinimum", "more than"))
_LIMITS += (("maximum", "at most"), ("exclusiveMaximum", "less than"))


def option(
    default: Any, description: str, origin: str = "", *, values: Mapping[str, str] | None = None, **limits: Any
) -> Any:
    """A field of a settings model: its default, its meaning in words, and its limits, as for pydantic's `Field`.

    `origin` is the paper that it comes from; `values` explains each value of a choice, with the paper.
    """
    extra: dict[str, Any] = {"origin": origin} if origin else {"values": dict(values)} if values else {}
    return Field(default=default, description=description, json_schema_extra=extra or None, **limits)


@cache
def say_renamed(old: str, new: str) -> None:
    """Names the new spelling, once in a process."""
    report(f'"{old}" is now called "{new}"; the old spelling is read for one more version')


def old_spellings(renamed: Mapping[str, str]) -> BeforeValidator:
    """A value's old spelling is read as the new one, said once; for `Annotated[type, ...]` of a field."""

    def new_spelling(value: Any) -> Any:
        if not isinstance(value, str) or value not in renamed:
            return value
        say_renamed(value, renamed[value])
        return renamed[value]

    return BeforeValidator(new_spelling)


@dataclass(frozen=True)
class Key:
    """One key of a run file.

    `takes` says which values are allowed. `default` is written as in TOML; empty: there is none. `kinds` are the kinds
    of section that have the key ("transformer"); empty: there is only one kind. `origin` is the paper it comes from.
    `values` explains each value of a choice.
    """

    name: str
    takes: str
    default: str
    description: str
    kinds: tuple[str, ...] = ()
    origin: str = ""
    values: tuple[tuple[str, str], ...] = ()

    @property
    def section(self) -> str:
        """The name before the last dot; an array of tables ends with []."""
        return self.name.rpartition(".")[0]

    @property
    def header(self) -> str:
        """The section's header in the file; empty for a key at the top."""
        if self.section.endswith("[]"):
            return f"[[{self.section.removesuffix('[]')}]]"
        return f"[{self.section}]" if self.section else ""

    @property
    def last(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def shown_default(self) -> str:
        return self.default or "not set"


@cache
def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """The model's JSON schema, not to be changed; pydantic takes a seventh of a second for that of a run file."""
    return model.model_json_schema()


def all_keys(model: type[BaseModel], prefix: str = "", kinds: tuple[str, ...] = ()) -> Iterator[Key]:
    """Every key, section by section. A key that is the same in several kinds of a section comes once."""
    schema = schema_of(model)
    for name, known in model.model_fields.items():
        inner = models_in(known.annotation)
        listed = get_origin(known.annotation) in (list, tuple)
        if not inner or listed:
            one = schema["properties"][name]
            takes, explained = allowed_values(one, schema.get("$defs", {})), tuple(one.get("values", {}).items())
            value = None if known.is_required() else known.get_default(call_default_factory=True)
            default = "" if value is None else write_value(to_jsonable_python(value))
            described, origin = known.description or "", one.get("origin", "")
            yield Key(f"{prefix}{name}", takes, default, described, kinds, origin, explained)
        if listed:
            yield from (key for one in inner for key in all_keys(one, f"{prefix}{name}[].", kinds))
        elif not inner:
            continue
        elif len(inner) == 1:
            yield from all_keys(inner[0], f"{prefix}{name}.", kinds)
        else:
            yield from _tag(inner, known, f"{prefix}{name}.")
            yield from _joined([key for one in inner for key in all_keys(one, f"{prefix}{name}.", _kind(one))])


def _tag(models: list[type[BaseModel]], known: FieldInfo, prefix: str) -> Iterator[Key]:
    if isinstance(known.discriminator, str):
        kinds = [value for model in models for value in get_args(model.model_fields[known.discriminator].annotation)]
        values = ", ".join(map(show_value, kinds))
        described = models[0].model_fields[known.discriminator].description
        default = getattr(known.get_default(), known.discriminator, None)
        shown = show_value(default) if default is not None else ""
        yield Key(f"{prefix}{known.discriminator}", f"one of {values}", shown, described or "the kind of this section")


def _joined(keys: list[Key]) -> Iterator[Key]:
    """Joins keys that differ only in their kind; without the key that selects the kind."""
    kinds: dict[Key, tuple[str, ...]] = {}
    for key in keys:
        alike = replace(key, kinds=())
        kinds[alike] = (*kinds.get(alike, ()), *key.kinds)
    for key, names in kinds.items():
        if key.default not in map(show_value, names):
            yield replace(key, kinds=names)


def _kind(model: type[BaseModel]) -> tuple[str, ...]:
    """The value that selects this kind of section; the model's name where there is none."""
    kinds = (known.annotation for known in model.model_fields.values())
    tags = [get_args(kind) for kind in kinds if get_origin(kind) is Literal]
    return tuple(str(values[0]) for values in tags if len(values) == 1)[:1] or (model.__name__,)


def allowed_values(schema: Mapping[str, Any], named: Mapping[str, Any]) -> str:
    """The values that a JSON Schema allows, in words; `named` holds the schemas that it references."""
    if "$ref" in schema:
        schema = named.get(schema["$ref"].rpartition("/")[2], {})
    if "const" in schema:
        return show_value(schema["const"])
    if "enum" in schema:
        return "one of " + ", ".join(map(show_value, schema["enum"]))
    if "anyOf" in schema:
        return " or ".join(filter(None, (allowed_values(part, named) for part in schema["anyOf"])))
    if schema.get("type") == "array":
        items = schema.get("prefixItems") or [schema.get("items", {})]
        return "a list of: " + ", ".join(allowed_values(item, named) or "anything" for item in items)
    words = _TYPES.get(schema.get("type", ""), "")
    parts = [f"{word} {schema[key]}" for key, word in _LIMITS if key in schema]
    return f"{words}, {' and '.join(parts)}" if words and parts else words


def show_value(value: Any) -> str:
    """A value of a run file as quoted in an error message."""
    if isinstance(value, Mapping):
        return "a section"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{shortened(value)}"' if isinstance(value, str) else shortened(str(value))


def shortened(text: str) -> str:
    """The text, or its beginning and length if it is too long for a message."""
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}... ({len(text):,} characters)"


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """The models in an annotation: one for a section, several for a section of several kinds."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in models_in(argument)]


def literals(model: type[BaseModel]) -> set[Any]:
    """All values of the model's `Literal` fields."""
    kinds = [known.annotation for known in model.model_fields.values() if get_origin(known.annotation) is Literal]
    return {value for kind in kinds for value in get_args(kind)}
