"""Reads an encoder-decoder of Hugging Face's transformers.

Only safetensors files are read: names, types, shapes and numbers. A pickle could run whatever stands in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from torch import Tensor

from openwork.decoding.settings import DecodingSettings
from openwork.interop.building import model_with_weights
from openwork.interop.hugging_face import config as hf
from openwork.interop.hugging_face.layout import WeightPlace, places, stream_order
from openwork.interop.hugging_face.weights import find_weight, read_weights, size_error
from openwork.interop.vocabulary import Vocabulary
from openwork.models.interfaces import SequenceModel
from openwork.models.settings import TransformerSettings

BIAS = "final_logits_bias"


@dataclass(frozen=True)
class ImportedModel:
    """A model that was read, with the search that goes with it, and the vocabularies of both sides."""

    settings: TransformerSettings
    decoding: DecodingSettings
    source: Vocabulary
    target: Vocabulary
    model: SequenceModel


def read_hugging_face(folder: Path, unknown: int | None = None) -> ImportedModel:
    """The model that `save_pretrained` wrote into the folder, of a type in `ARCHITECTURES`, in evaluation mode.

    `unknown`: the id of the unknown symbol, which configurations leave to the tokenizer. BundleError for what is
    missing, damaged, pickled, or a model that openwork has not.
    """
    config, generation = hf.read_config(folder), hf.read_generation(folder)
    weights = read_weights(folder)
    settings = hf.model_settings(config, folder / hf.CONFIG, output_bias=BIAS in weights and bool(weights[BIAS].any()))
    decoding = hf.decoding_settings(generation, folder / hf.GENERATION)
    source, target = _vocabularies(config, unknown)
    order, pieces = stream_order(settings).argsort(), {"source": source, "target": target}
    found = {
        place.openwork_name: own_weight(place, weights, pieces, folder, order)
        for place in places(settings)
        if place.openwork_name != "bias" or settings.output_bias
    }
    model = model_with_weights(settings, (source.size, target.size), found, partial(size_error, folder), folder)
    return ImportedModel(settings, decoding, source, target, model)


def _vocabularies(config: hf.HuggingFaceConfig, unknown: int | None) -> tuple[Vocabulary, Vocabulary]:
    """Of source and target. A separate source vocabulary may lack the symbol that targets start with."""
    unknown = config.unk_token_id if unknown is None else unknown
    pad, start, end = config.pad_token_id, config.decoder_start_token_id, config.eos_token_id
    source_start = start if start < config.vocab_size or config.tying == "three-way" else None
    return (
        Vocabulary.of(config.vocab_size, pad=pad, unknown=unknown, start=source_start, end=end),
        Vocabulary.of(config.target_size, pad=pad, unknown=unknown, start=start, end=end),
    )


def own_weight(
    place: WeightPlace,
    weights: Mapping[str, Tensor],
    pieces: Mapping[str, Vocabulary],
    folder: Path,
    order: Tensor | None = None,
    rows: int | None = None,
) -> Tensor:
    """One weight of openwork's model; BundleError where the file's is missing or has another size.

    `order`: of the stream's numbers, for weights that lie along it. `pieces`: the vocabularies by side. `rows`: of
    the embeddings, where there may be more than the vocabulary has ids.
    """
    name, tensor = find_weight(weights, place.hf_names, folder)
    if place.openwork_name == "bias":
        tensor = tensor.flatten()
    if order is not None and place.stream is not None:
        if tensor.ndim <= place.stream or tensor.shape[place.stream] != len(order):
            raise size_error(folder, name, tensor, (*"*" * place.stream, len(order)))
        tensor = tensor.index_select(place.stream, order)
    if place.pieces is not None:
        vocabulary = pieces[place.pieces]
        rows = vocabulary.external_size if rows is None else rows
        if tensor.shape[:1] != (rows,):
            raise size_error(folder, name, tensor, (rows, "..."))
        tensor = vocabulary.gather(tensor)
    return tensor[place.before :]
