"""Reads Hugging Face's config.json and generation_config.json as openwork's settings."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from openwork.base.errors import BundleError
from openwork.base.messages import msg
from openwork.base.regular_files import unreadable
from openwork.decoding.settings import DecodingSettings

CONFIG, GENERATION = "config.json", "generation_config.json"
MOST_BYTES = 4 << 20  # of a configuration, which has a few thousand
UNTIL_THE_END = 1000.0  # a patience with which only the bound and the limit stop a search

Count = Annotated[int, Field(ge=1, le=1 << 22)]  # a damaged file must not fill the memory
Layers = Annotated[int, Field(ge=1, le=1 << 10)]
Positions = Annotated[int, Field(ge=2, le=1 << 20)]
Probability = Annotated[float, Field(ge=0, lt=1)]
Epsilon = Annotated[float, Field(gt=0, lt=1)]
Id = Annotated[int, Field(ge=0)]


class ConfigKeys(BaseModel):
    """Some keys of a configuration, by openwork's names with Hugging Face's as aliases; others are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, protected_namespaces=(), allow_inf_nan=False)

    def settings_for(self, kind: type[BaseModel]) -> dict[str, Any]:
        return {name: getattr(self, name) for name in type(self).model_fields if name in kind.model_fields}

    @classmethod
    def keys_of(cls, settings: BaseModel) -> dict[str, Any]:
        """The settings of a model that are keys, by Hugging Face's names."""
        known = ((name, key) for name, key in cls.model_fields.items() if name in type(settings).model_fields)
        return {key.alias or name: getattr(settings, name) for name, key in known}


class Generation(ConfigKeys):
    """The keys of the search that matter, with Hugging Face's defaults."""

    num_beams: int = Field(default=1, ge=1)
    length_penalty: float = Field(default=1.0, ge=0)  # openwork's is never negative
    early_stopping: bool | Literal["never"] = False
    max_length: int = Field(default=20, ge=2)


Kind = TypeVar("Kind", bound=BaseModel)


def read_generation(folder: Path) -> Generation:
    """The settings of the search, which older folders have in config.json."""
    name = GENERATION if (folder / GENERATION).is_file() else CONFIG
    content = {key: value for key, value in read_json_object(folder / name).items() if value is not None}
    return validated(Generation, content, folder / name)


def known_activation(name: str, known: Mapping[str, str], path: Path) -> str:
    """The feed-forward network with Hugging Face's activation of this name; BundleError where there is none."""
    if name not in known:
        raise BundleError(
            f"{path}: the activation {name!r} cannot be read",
            why=f"openwork has {', '.join(known)}",
            hint="import a model with one of these",
            code="B021",
        )
    return known[name]


def decoding_settings(generation: Generation) -> DecodingSettings:
    """The settings of the search that finds the same. Hugging Face's lengths count the start symbol."""
    never = generation.early_stopping == "never"
    return DecodingSettings(
        beam=generation.num_beams,
        length_penalty=generation.length_penalty,
        length_rule="power",
        stopping="enough" if never or generation.early_stopping else "no-better",
        patience=UNTIL_THE_END if never else 1.0,
        unfinished="ranked",
        maximum_length=generation.max_length - 1,
        extra_length=generation.max_length - 1,
    )


def read_json_object(path: Path) -> dict[str, Any]:
    """The object in a configuration; BundleError where it is missing or damaged."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(msg(f"it has more than {MOST_BYTES:,} bytes"))
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError(msg("it is not a JSON object"))
        return content
    except OSError as error:
        raise unreadable(path, error) from error
    except (ValueError, RecursionError) as error:
        raise BundleError(
            f"{path}: damaged, or no configuration", why=str(error), hint="fetch the file again", code="B025"
        ) from error


def validated(kind: type[Kind], content: dict[str, Any], path: Path) -> Kind:
    """The content validated; BundleError names the first key with a wrong value."""
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "its sizes"
        raise BundleError(
            f"{path}: {key} is not understood",
            why=first["msg"],
            hint="correct that value, or fetch the file again",
            code="B027",
        ) from error


def card_of(folder: Path) -> str:
    return f"# {folder.name}\n\nRead from a folder of Hugging Face's transformers.\n"
