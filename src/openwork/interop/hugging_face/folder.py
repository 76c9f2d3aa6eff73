"""Hugging Face's folders: configurations, read as openwork's settings, and weights, by a table of their places.

Only safetensors files are read: names, types, shapes and numbers. A pickle could run whatever it holds.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors.torch import save
from torch import Tensor

from openwork.base.errors import BundleError, ConfigError
from openwork.base.messages import msg
from openwork.base.regular_files import read_regular, unreadable
from openwork.decoding.settings import DecodingSettings
from openwork.interop.exports import Unsupported
from openwork.interop.vocabulary import Vocabulary
from openwork.models.build import model_with_weights
from openwork.models.families import ModelSettings
from openwork.models.interfaces import SequenceModel
from openwork.models.weights import read_tensors

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
        """The keys that are settings of a model."""
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
    """The settings of the search."""
    return read_generation_keys(Generation, folder)


def read_generation_keys(kind: type[Kind], folder: Path) -> Kind:
    """Keys of the search, which older folders have in config.json."""
    name = GENERATION if (folder / GENERATION).is_file() else CONFIG
    content = {key: value for key, value in read_json_object(folder / name).items() if value is not None}
    return validated(kind, content, folder / name)


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


WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
_MOST_INDEX = 64 << 20  # bytes
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack")
LONGEST = 1024  # positions in the configuration of a model that takes any length


class ImportedModel(NamedTuple):
    """A model that was read, with the search that goes with it, and the vocabularies of both sides."""

    settings: Any
    decoding: DecodingSettings
    source: Vocabulary
    target: Vocabulary
    model: SequenceModel


class WeightPlace(NamedTuple):
    """One weight of Hugging Face's, and the one or several of openwork's that it holds.

    Args:
        openwork_name: the name in openwork's model, with {} for what differs where it holds several.
        hf_names: its names in Hugging Face's, all of which hold the same; it is written under the first.
        stream: the axis along which a vector of the stream lies; None: none.
        pieces: the side whose vocabulary the first axis counts.
        before: rows that only Hugging Face's has.
        parts: what {} stands for, in the order of the rows.
        transposed: whether a matrix has its input first there.
        halves: the width of heads whose number i rotates with number i + d/2 there, and with its neighbour here.
    """

    openwork_name: str
    hf_names: tuple[str, ...]
    stream: int | None = None
    pieces: Literal["source", "target"] | None = None
    before: int = 0
    parts: tuple[str, ...] = ()
    transposed: bool = False
    halves: int = 0

    @property
    def own_names(self) -> list[str]:
        """The names in openwork's model."""
        return [self.openwork_name.format(part) for part in self.parts] or [self.openwork_name]


def with_bias(openwork_name: str, hf_name: str, stream: int | None = None) -> Iterator[WeightPlace]:
    """A matrix, or the scale of a norm, and its bias."""
    yield WeightPlace(f"{openwork_name}.weight", (f"{hf_name}.weight",), stream)
    yield WeightPlace(f"{openwork_name}.bias", (f"{hf_name}.bias",), None if stream else stream)


def read_weights(folder: Path) -> dict[str, Tensor]:
    """Name -> tensor. BundleError for what is missing or damaged, and for weights that are only there as a pickle."""
    if (folder / WEIGHTS).is_file():
        return read_tensors((folder / WEIGHTS).resolve())
    if (folder / INDEX).is_file():
        return {name: tensor for file in _parts(folder) for name, tensor in read_tensors(file.resolve()).items()}
    other = next((name for name in PICKLES if (folder / name).is_file()), None)
    if other is not None:
        raise BundleError(
            f"{folder}: its weights are in {other}, which is not read",
            why="openwork reads safetensors alone, which hold numbers and nothing that could run when it is opened",
            hint="where you trust the file, load it with transformers and write it again with save_pretrained",
            code="B030",
        )
    raise BundleError(
        f"{folder}: no weights",
        why=f"there is no {WEIGHTS}",
        hint="name the folder that save_pretrained wrote",
        code="B031",
    )


def _parts(folder: Path) -> list[Path]:
    """The files that the index names, which lie in the folder itself."""
    path = folder / INDEX
    try:
        names = set(json.loads(read_regular(path.resolve(), _MOST_INDEX).decode("utf-8"))["weight_map"].values())
        if not all(isinstance(name, str) and name == Path(name).name for name in names):
            raise ValueError(msg("it names files outside its folder"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BundleError(
            f"{path}: damaged, or no index of weights",
            why=str(error),
            hint="fetch the folder again from its makers",
            code="B032",
        ) from error
    return [folder / name for name in sorted(names)]


def size_error(folder: Path, name: str, tensor: Tensor, shape: Sequence[object]) -> BundleError:
    return BundleError(
        f"{folder}: these weights belong to a model of other sizes",
        why=f"{name} is {tuple(tensor.shape)} there, and its configuration makes it ({', '.join(map(str, shape))})",
        hint="fetch the folder again: config.json and weights must be of one model",
        code="B017",
    )


def own_weights(
    places: Iterable[WeightPlace],
    weights: Mapping[str, Tensor],
    pieces: Mapping[str, Vocabulary],
    folder: Path,
    order: Tensor | None = None,
    rows: int | None = None,
) -> dict[str, Tensor]:
    """Every weight of openwork's model in float32; BundleError where the file's is missing or has another size.

    `order`: of the stream's numbers, for weights that lie along it. `pieces`: the vocabularies by side. `rows`: of
    the embeddings, where there may be more than the vocabulary has ids.
    """

    def whole(place: WeightPlace) -> Tensor:
        name = next((name for name in place.hf_names if name in weights), None)
        if name is None:
            raise BundleError(
                f"{folder}: a weight is missing",
                why=f"there is no {' or '.join(place.hf_names)}",
                hint="fetch the folder again: config.json and weights must be of one model",
                code="B016",
            )
        tensor = weights[name].float()
        if place.openwork_name == "bias":
            tensor = tensor.flatten()
        if place.transposed and tensor.ndim == 2:
            tensor = tensor.t()
        if order is not None and place.stream is not None:
            if tensor.ndim <= place.stream or tensor.shape[place.stream] != len(order):
                raise size_error(folder, name, tensor, (*"*" * place.stream, len(order)))
            tensor = tensor.index_select(place.stream, order)
        if place.pieces is not None:
            vocabulary = pieces[place.pieces]
            wanted = vocabulary.external_size if rows is None else rows
            if tensor.shape[:1] != (wanted,):
                raise size_error(folder, name, tensor, (wanted, "..."))
            tensor = vocabulary.gather(tensor)
        if place.halves and tensor.shape[0] % place.halves == 0:  # another size is left for the comparison of shapes
            tensor = tensor.unflatten(0, (-1, 2, place.halves // 2)).transpose(1, 2).flatten(0, 2)
        return tensor[place.before :].contiguous()

    found: dict[str, Tensor] = {}
    for place in places:
        found |= zip(place.own_names, whole(place).chunk(max(len(place.parts), 1)), strict=True)
    return found


def build_imported(
    folder: Path, settings: ModelSettings, source: Vocabulary, target: Vocabulary, found: Mapping[str, Tensor]
) -> SequenceModel:
    """The model with these weights by openwork's names, in evaluation mode; BundleError for one of another size."""
    return model_with_weights(settings, (source.size, target.size), found, partial(size_error, folder), str(folder))


def external_weights(
    places: Iterable[WeightPlace],
    own: Mapping[str, Tensor],
    *,
    pieces: Mapping[str, Vocabulary] | None = None,
    order: Tensor | None = None,
) -> dict[str, Tensor]:
    """Every weight by Hugging Face's names, the inverse of `own_weights`; zeros for a bias that the model has not."""
    found = {}
    for place in places:
        tensor = torch.cat([_part_or_zeros(name, own) for name in place.own_names])
        if order is not None and place.stream is not None:
            tensor = tensor.index_select(place.stream, order)
        if pieces is not None and place.pieces is not None:
            tensor = pieces[place.pieces].scatter(tensor)
        if place.halves:
            tensor = tensor.unflatten(0, (-1, place.halves // 2, 2)).transpose(1, 2).flatten(0, 2)
        if place.before:
            tensor = torch.cat([tensor.new_zeros(place.before, tensor.shape[1]), tensor])
        found[place.hf_names[0]] = (tensor.t() if place.transposed and tensor.ndim == 2 else tensor).contiguous()
    return found


def _part_or_zeros(name: str, own: Mapping[str, Tensor]) -> Tensor:
    matrix = "output" if name == "bias" else name.removesuffix("bias") + "weight"
    return own[name].detach().cpu().float() if name in own else torch.zeros(own[matrix].shape[0])


def write_files(folder: Path, config: dict[str, Any], generation: dict[str, Any], weights: dict[str, Tensor]) -> None:
    """config.json, generation_config.json where there is something to generate, and model.safetensors."""
    for name, content in ((CONFIG, {**config, "torch_dtype": "float32"}), (GENERATION, generation)):
        if content:
            text = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
            (folder / name).write_text(text, encoding="utf-8")
    (folder / WEIGHTS).write_bytes(save(weights, metadata={"format": "pt"}))


def check_supported(unsupported: Unsupported | None) -> None:
    """ConfigError, with the reason, if Hugging Face cannot run a model."""
    if unsupported is not None:
        raise ConfigError(
            "this model has no counterpart among the architectures of Hugging Face that are written",
            why=unsupported.why,
            hint=unsupported.hint,
            code="C031",
        )
