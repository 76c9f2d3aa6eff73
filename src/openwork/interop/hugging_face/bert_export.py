"""Exports an encoder as a BERT that Hugging Face's transformers load, for three of the tasks.

classify    BertForSequenceClassification
fill        BertForMaskedLM
embed       BertModel
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from openwork.bundles.bundle import Bundle
from openwork.interop.exports import HF_ACTIVATIONS, hf_activation, unsupported_encoder
from openwork.interop.hugging_face.bert import BertConfig
from openwork.interop.hugging_face.bert_layout import CLASSES, CLASSIFIER, HEAD, PREFIX, bert_places
from openwork.interop.hugging_face.frames import symbol_ids, write_framed
from openwork.interop.hugging_face.writing import check_supported, own_weights, write_files
from openwork.interop.vocabulary import Vocabulary
from openwork.models.settings import EncoderSettings
from openwork.text.pieces.words import Labels

SEGMENTS = 2  # as BERT's tokenizers have; a model without segments is given two that add nothing


def write_bert(folder: Path, bundle: Bundle) -> None:
    """The bundle's files in the folder; ConfigError for a model or a tokenizer that Hugging Face has not."""
    settings, labels = bundle.settings.model, bundle.tokenizers.target
    assert isinstance(settings, EncoderSettings)
    check_supported(unsupported_encoder(settings))
    mask = settings.mask_piece if settings.task == "fill" else None
    pieces = {"source": write_framed(folder, bundle.tokenizers.source, "classified", mask)}
    config = _config(settings, pieces["source"])
    if isinstance(labels, Labels):
        pieces["target"] = Vocabulary.of_labels(len(labels.names))
        config["id2label"] = dict(enumerate(labels.names))
        config["label2id"] = {name: number for number, name in enumerate(labels.names)}
        config["problem_type"] = "single_label_classification"
    write_files(folder, config, {}, hf_weights(settings, dict(bundle.model.named_parameters()), pieces))


def hf_weights(settings: EncoderSettings, own: dict[str, Tensor], pieces: dict[str, Vocabulary]) -> dict[str, Tensor]:
    """Every weight by Hugging Face's names; zeros for biases and segments that the model has not."""
    segments = own.get("segments.weight", torch.zeros(0, settings.width)).detach().cpu()
    missing = torch.zeros(max(SEGMENTS - len(segments), 0), settings.width)
    own = {**own, "segments.weight": torch.cat([segments, missing])}
    found = {}
    for place, tensor in own_weights(bert_places(_with_segments(settings)), own):
        if place.openwork_name == "source_embedding.table.weight" and settings.embedding_scale:
            tensor = tensor * settings.width**0.5
        name = place.hf_names[0]
        if settings.task != "embed" and not name.startswith((HEAD, CLASSIFIER.partition(".")[0])):
            name = PREFIX + name  # of all but the head, where there is one
        found[name] = (tensor if place.pieces is None else pieces[place.pieces].scatter(tensor)).contiguous()
    return found


def _with_segments(settings: EncoderSettings) -> EncoderSettings:
    return settings.model_copy(update={"segments": max(settings.segments, SEGMENTS)})


def _config(s: EncoderSettings, vocabulary: Vocabulary) -> dict[str, Any]:
    return {
        "architectures": [CLASSES[s.task]],
        "model_type": "bert",
        "vocab_size": vocabulary.external_size,
        **BertConfig.keys_of(s),
        "hidden_act": hf_activation(s.feedforward, HF_ACTIVATIONS),
        "max_position_embeddings": s.table_size,
        "type_vocab_size": max(s.segments, SEGMENTS),
        "pad_token_id": symbol_ids(vocabulary)["pad_token_id"],
    }
