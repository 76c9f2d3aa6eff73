"""CTranslate2's vocabularies and its `config.json`: the tokens, and the symbols around a sentence.

An id is the place in a list of tokens.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ValidationError

from openwork.base.errors import BundleError
from openwork.base.files import open_binary
from openwork.interop.vocabulary import Vocabulary
from openwork.text.tokenizer import SYMBOL_NAMES

CONFIG = "config.json"
SHARED, SOURCE, TARGET = "shared_vocabulary", "source_vocabulary", "target_vocabulary"
VOCABULARY = "vocabulary"  # of a model with one side of text
MOST_BYTES = 64 << 20  # of a vocabulary or a configuration
CONFIGURED = 6  # the first binary version with a config.json; older ones have variables instead


class Conventions(BaseModel, frozen=True, strict=True):
    """The keys of config.json that matter here; the defaults are those of older models."""

    unk_token: str = "<unk>"
    bos_token: str = "<s>"
    eos_token: str = "</s>"
    decoder_start_token: str | None = "<s>"  # None: the user gives the first token of each target
    add_source_bos: bool = False
    add_source_eos: bool = False
    layer_norm_epsilon: float | None = None

    @property
    def before(self) -> list[str]:
        """Symbols before a source's own tokens."""
        return [self.bos_token] if self.add_source_bos else []

    @property
    def after(self) -> list[str]:
        """Symbols after them."""
        return [self.eos_token] if self.add_source_eos else []


def read_conventions(folder: Path, version: int, variables: Mapping[str, np.ndarray]) -> Conventions:
    """From config.json, or for an older binary version from the variables; BundleError where they are not usable."""
    values = read_config(folder) if version >= CONFIGURED else _earlier(variables)
    try:
        return Conventions.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise unusable(folder / CONFIG, f"{first['loc'][0]} is {first['input']!r}") from error


def read_config(folder: Path) -> dict[str, Any]:
    """The keys of config.json."""
    values = _read_json(folder / CONFIG)
    if not isinstance(values, dict):
        raise unusable(folder / CONFIG, "it is no table of keys")
    return values


def _earlier(variables: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The same from the variables of a model without a config.json."""

    def flag(name: str, default: bool) -> bool:
        return bool(variables[name].any()) if name in variables else default

    values: dict[str, Any] = {
        name: variables[name].tobytes().decode("utf-8", errors="replace")
        for name in ("unk_token", "bos_token", "eos_token")
        if name in variables
    }
    values |= {"add_source_bos": flag("with_source_bos", False), "add_source_eos": flag("with_source_eos", False)}
    start, end = values.get("bos_token", "<s>"), values.get("eos_token", "</s>")
    values["decoder_start_token"] = start if flag("with_target_bos", True) else end
    if flag("user_decoder_start_tokens", False):
        values["decoder_start_token"] = None
    return values


class Tokens(NamedTuple):
    """The tokens of one side by CTranslate2's ids, and openwork's ids of them."""

    names: tuple[str, ...]
    vocabulary: Vocabulary

    @classmethod
    def of(cls, names: Sequence[str], symbols: Sequence[str | None], order: Sequence[str] | None = None) -> "Tokens":
        """The tokens with openwork's symbols first, then in their own order, or in that of the names in `order`.

        `symbols`: CTranslate2's names of pad, unknown, start and end; None where it has none. One may be two of them.
        """
        places = {token: place for place, token in reversed(list(enumerate(names)))}  # the first of each name
        ids = [None if name is None else places.get(name) for name in symbols]
        if order is None:
            rest = [place for place in range(len(names)) if place not in ids]
        else:
            rest = [places.get(name) for name in order[len(SYMBOL_NAMES) :]]
        return cls(tuple(names), Vocabulary((*ids, *rest)))

    @property
    def left_out(self) -> list[str]:
        """The tokens without an id in openwork."""
        return [name for place, name in enumerate(self.names) if place not in self.vocabulary.own]


def read_tokens(folder: Path, unknown: str) -> tuple[list[str], list[str]]:
    """The tokens of source and target, the same list object where they share it; the unknown token is in each."""
    shared = _read_list(folder, SHARED)
    if shared is not None:
        tokens = _with_unknown(shared, unknown)
        return tokens, tokens
    found = []
    for name in (SOURCE, TARGET):
        tokens = _read_list(folder, name)
        if tokens is None:
            raise _lacking(folder, name)
        found.append(_with_unknown(tokens, unknown))
    return found[0], found[1]


def read_vocabulary(folder: Path) -> list[str]:
    """The tokens of a model with one vocabulary."""
    tokens = _read_list(folder, VOCABULARY)
    if tokens is None:
        raise _lacking(folder, VOCABULARY)
    return tokens


def _with_unknown(tokens: list[str], unknown: str) -> list[str]:
    return tokens if unknown in tokens else [*tokens, unknown]


def _read_list(folder: Path, name: str) -> list[str] | None:
    path = folder / f"{name}.json"
    if path.exists():
        tokens = _read_json(path)
        if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
            raise unusable(path, "it is no list of texts")
        return tokens
    path = folder / f"{name}.txt"
    if not path.exists():
        return None
    lines = _decoded(path).removesuffix("\n").split("\n")
    # a token may itself end with a carriage return: it is the line's only where every line has one
    return [line[:-1] for line in lines] if all(line.endswith("\r") for line in lines) else lines


def _decoded(path: Path) -> str:
    with open_binary(path) as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise unusable(path, f"it has more than {MOST_BYTES:,} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise unusable(path, "it is not UTF-8 text") from error


def _read_json(path: Path) -> Any:
    try:
        return json.loads(_decoded(path))
    except (ValueError, RecursionError) as error:
        raise unusable(path, "it is not whole JSON") from error


def _lacking(folder: Path, name: str) -> BundleError:
    return BundleError(
        f"{folder}: the model of CTranslate2 has no {name}",
        why=f"neither {name}.json nor {name}.txt is there",
        hint="copy the whole folder of the model",
        code="B013",
    )


def unusable(path: Path, why: str) -> BundleError:
    return BundleError(
        f"{path}: not understood as a part of a model of CTranslate2",
        why=why,
        hint="convert the model again with CTranslate2, or fetch its folder again",
        code="B014",
    )
