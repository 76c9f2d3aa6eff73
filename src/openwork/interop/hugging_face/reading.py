"""Reading a model of Hugging Face's transformers as one of ours.

Only safetensors files are read: names, types, shapes and numbers. A pickle could run whatever stands in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from openwork.base.errors import BundleError
from openwork.decoding.settings import DecodingSettings
from openwork.interop.building import model_of
from openwork.interop.hugging_face.config import (
    CONFIG,
    GENERATION,
    HuggingFaceConfig,
    decoding_settings,
    model_settings,
    read_config,
    read_generation,
)
from openwork.interop.hugging_face.layout import WeightPlace, places, stream_order
from openwork.interop.hugging_face.weights import read_weights
from openwork.interop.vocabulary import Vocabulary
from openwork.models.interfaces import SequenceModel
from openwork.models.settings import TransformerSettings

BIAS = "final_logits_bias"


@dataclass(frozen=True)
class ReadModel:
    """A model of others as one of ours, with the search that goes with it, and whose id is whose on either side."""

    settings: TransformerSettings
    decoding: DecodingSettings
    source: Vocabulary
    target: Vocabulary
    model: SequenceModel


def read_hugging_face(folder: Path, unknown: int | None = None) -> ReadModel:
    """The model that `save_pretrained` wrote into the folder, of a type in `ARCHITECTURES`, in evaluation mode.

    `unknown`: the id of the unknown symbol, which configurations leave to the tokenizer. BundleError for what is
    missing, damaged, pickled, or a model that we have not.
    """
    config, generation = read_config(folder), read_generation(folder)
    weights = read_weights(folder)
    settings = model_settings(config, folder / CONFIG, output_bias=BIAS in weights and bool(weights[BIAS].any()))
    decoding = decoding_settings(generation, folder / GENERATION)
    source, target = _vocabularies(config, unknown)
    found = _our_weights(settings, weights, {"source": source, "target": target}, folder)

    def misfit(name: str, tensor: Tensor, shape: tuple[int, ...]) -> BundleError:
        return size_misfit(folder, name, tensor, ", ".join(map(str, shape)))

    model = model_of(settings, (source.size, target.size), found, misfit, folder)
    return ReadModel(settings, decoding, source, target, model)


def _vocabularies(config: HuggingFaceConfig, unknown: int | None) -> tuple[Vocabulary, Vocabulary]:
    """Of source and target. Where they are two, the source need not have the symbol that targets start with."""
    unknown = config.unk_token_id if unknown is None else unknown
    pad, start, end = config.pad_token_id, config.decoder_start_token_id, config.eos_token_id
    source_start = start if start < config.vocab_size or config.tying == "three-way" else None
    return (
        Vocabulary.of(config.vocab_size, pad=pad, unknown=unknown, start=source_start, end=end),
        Vocabulary.of(config.target_size, pad=pad, unknown=unknown, start=start, end=end),
    )


def _our_weights(
    settings: TransformerSettings, weights: Mapping[str, Tensor], pieces: Mapping[str, Vocabulary], folder: Path
) -> dict[str, Tensor]:
    """Every weight of our model, reordered."""
    order = stream_order(settings).argsort()
    found = {}
    for place in places(settings):
        if place.ours != "bias" or settings.output_bias:
            found[place.ours] = our_weight(place, weights, order, pieces, folder)
    return found


def our_weight(
    place: WeightPlace, weights: Mapping[str, Tensor], order: Tensor, pieces: Mapping[str, Vocabulary], folder: Path
) -> Tensor:
    """One weight of ours; BundleError where theirs is missing or has another size.

    `order`: of the stream's numbers, for weights that lie along it. `pieces`: the vocabularies by side.
    """
    name = next((name for name in place.theirs if name in weights), None)
    if name is None:
        raise BundleError(
            f"{folder}: a weight is missing",
            why=f"there is no {' or '.join(place.theirs)}",
            hint="fetch the folder again: config.json and weights must be of one model",
            code="B016",
        )
    tensor = weights[name].float()
    if place.ours == "bias":
        tensor = tensor.flatten()
    if (
        order is not None
        and place.stream is not None
        and (tensor.ndim <= place.stream or tensor.shape[place.stream] != len(order))
    ):
        raise size_misfit(folder, name, tensor, ("*, " * place.stream) + str(len(order)))
    if place.stream is not None:
        tensor = tensor.index_select(place.stream, order)
    if place.pieces is not None:
        vocabulary = pieces[place.pieces]
        if tensor.shape[0] != vocabulary.size_there:
            raise size_misfit(folder, name, tensor, f"{vocabulary.size_there}, ...")
        tensor = vocabulary.rows(tensor)
    return tensor[place.before :]


def size_misfit(folder: Path, name: str, tensor: Tensor, wanted: str) -> BundleError:
    """What is said of a weight that should have the shape `wanted`."""
    return BundleError(
        f"{folder}: these weights belong to a model of other sizes",
        why=f"{name} is {tuple(tensor.shape)} there, and its configuration makes it ({wanted})",
        hint="fetch the folder again: config.json and weights must be of one model",
        code="B017",
    )
