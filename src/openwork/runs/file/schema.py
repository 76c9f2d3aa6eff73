"""The JSON Schemas of run files and translation files, by which editors complete and check them. No torch here."""

from collections.abc import Callable
from typing import Any

from openwork.inference.settings import TranslationSettings
from openwork.models.presets import PRESETS
from openwork.runs.file.settings import RunSettings

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_BASE = {"base": {"type": "string", "description": "another such file, relative to this one, that this one overrides"}}


def run_file_schema() -> dict[str, Any]:
    """That of the settings, and what is besides allowed in a file: `base`, and a preset in place of the model's sizes.

    A file with a base may lack what the base gives, so nothing is required there.
    """
    schema = RunSettings.model_json_schema()
    schema["$schema"] = DIALECT
    schema["title"] = "openwork run file"
    schema["properties"] = {**_BASE, **schema["properties"]}
    required = schema.pop("required", [])
    if required:
        schema["anyOf"] = [{"required": required}, {"required": ["base"]}]
    section = schema["properties"]["model"]
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
    """That of the settings; nothing is required, since the command line may give it."""
    schema = TranslationSettings.model_json_schema()
    properties = {**_BASE, **schema["properties"]}
    return {**schema, "$schema": DIALECT, "title": "openwork translation file", "properties": properties}


SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {"run": run_file_schema, "translation": translation_file_schema}
