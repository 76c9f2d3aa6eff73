"""Writing one of our encoders as a BERT that Hugging Face's transformers load, for three of the tasks.

classify    BertForSequenceClassification
fill        BertForMaskedLM
embed       BertModel
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from openwork.bundles.bundle import Bundle
from openwork.interop.activations import HUGGING_FACE_ACTIVATIONS, their_name
from openwork.interop.exports_alone import encoder_closed
from openwork.interop.hugging_face.bert_layout import CLASSES, CLASSIFIER, HEAD, PREFIX, bert_places
from openwork.interop.hugging_face.frames import symbol_ids, write_framed
from openwork.interop.hugging_face.layout import WeightPlace
from openwork.interop.hugging_face.writing import refuse, write_files
from openwork.interop.vocabulary import Vocabulary
from openwork.models.encoder_lm_settings import EncoderSettings
from openwork.text.labels import Labels

SEGMENTS = 2  # their tokenizers tell two apart: a model without segments is given two that add nothing


def write_bert(folder: Path, bundle: Bundle) -> None:
    """The bundle's files in the folder; ConfigError for a model or a tokenizer that they have not."""
    settings, labels = bundle.settings.model, bundle.tokenizers.target
    assert isinstance(settings, EncoderSettings)
    refuse(encoder_closed(settings))
    mask = settings.mask_piece if settings.task == "fill" else None
    pieces = {"source": write_framed(folder, bundle.tokenizers.source, "classified", mask)}
    config = _config(settings, pieces["source"])
    if isinstance(labels, Labels):
        pieces["target"] = Vocabulary.of_labels(len(labels.names))
        config["id2label"] = dict(enumerate(labels.names))
        config["label2id"] = {name: number for number, name in enumerate(labels.names)}
        config["problem_type"] = "single_label_classification"
    write_files(folder, config, {}, their_weights(settings, dict(bundle.model.named_parameters()), pieces))


def their_weights(
    settings: EncoderSettings, own: dict[str, Tensor], pieces: dict[str, Vocabulary]
) -> dict[str, Tensor]:
    """Name -> tensor by their names; zeros for biases and segments that we have not."""
    found = {}
    for place in bert_places(settings.model_copy(update={"segments": max(settings.segments, SEGMENTS)})):
        tensor = own[place.ours].detach().cpu().float() if place.ours in own else _zeros(place, own)
        if place.ours == "source_embedding.table.weight" and settings.embedding_scale:
            tensor = tensor * settings.width**0.5
        found[_name(place.theirs[0], settings)] = (
            pieces[place.pieces].spread(tensor) if place.pieces is not None else tensor
        ).contiguous()
    return found


def _name(theirs: str, settings: EncoderSettings) -> str:
    """Where there is a head, all but the head stands behind a prefix."""
    is_bare = settings.task == "embed" or theirs.startswith((HEAD, CLASSIFIER.partition(".")[0]))
    return theirs if is_bare else PREFIX + theirs


def _zeros(place: WeightPlace, own: dict[str, Tensor]) -> Tensor:
    if place.ours == "segments.weight":
        return torch.zeros(SEGMENTS, own["source_embedding.table.weight"].shape[1])
    return torch.zeros(own[place.ours.removesuffix("bias") + "weight"].shape[0])


def _config(s: EncoderSettings, vocabulary: Vocabulary) -> dict[str, Any]:
    return {
        "architectures": [CLASSES[s.task]],
        "model_type": "bert",
        "vocab_size": vocabulary.size_there,
        "hidden_size": s.width,
        "num_hidden_layers": s.layers,
        "num_attention_heads": s.heads,
        "intermediate_size": s.feedforward_width,
        "hidden_act": their_name(s.feedforward, HUGGING_FACE_ACTIVATIONS),
        "hidden_dropout_prob": s.dropout,
        "attention_probs_dropout_prob": s.attention_dropout,
        "max_position_embeddings": s.table_size,
        "type_vocab_size": max(s.segments, SEGMENTS),
        "layer_norm_eps": s.norm_epsilon,
        "pad_token_id": symbol_ids(vocabulary)["pad_token_id"],
    }
