"""Hugging Face's BERT, read with its tokenizer as a bundle and written; it is openwork's post-norm encoder with biases.

A folder with the head that restores masked pieces becomes a model that fills, one with labels for whole texts a model
that classifies, any other a model that gives vectors of texts. Each can be fine-tuned into one of another task.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from openwork.base.errors import BundleError
from openwork.bundles.bundle import Bundle
from openwork.bundles.settings import BundleSettings, tokenizers_for_task
from openwork.interop.exports import HF_ACTIVATIONS, hf_activation, unsupported_encoder
from openwork.interop.hugging_face import folder as hf
from openwork.interop.hugging_face.tokenizers import TOKENIZER_CONFIG, read_single, symbol_ids, write_framed
from openwork.interop.vocabulary import Vocabulary, own_vocabulary
from openwork.models.settings import EncoderSettings, EncoderTask
from openwork.text.external.adapted import AdaptedTokenizer
from openwork.text.external.library import HuggingFaceTokenizer
from openwork.text.external.reading import MASK
from openwork.text.forms import word_starts
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.pieces.words import Labels

EMBEDDINGS = "source_embedding.table.weight"
PREFIX = "bert."  # before the encoder's weights, where there is a head beside it
HEAD = "cls.predictions"  # predicts masked pieces
SEGMENTS = 2  # as BERT's tokenizers have; a model without segments is given two that add nothing
DECODER = f"{HEAD}.decoder.weight"
UNUSED = "position_ids"  # the numbers 0, 1, 2, ... in old files
CLASSES = {"classify": "BertForSequenceClassification", "fill": "BertForMaskedLM", "embed": "BertModel"}
CLASSIFIER, CLASSIFIER_BIAS = "classifier.weight", "classifier.bias"
OLD_NORM = {"weight": "gamma", "bias": "beta"}  # names in old files
LAYER = {
    "self_attention.query": "attention.self.query",
    "self_attention.key": "attention.self.key",
    "self_attention.value": "attention.self.value",
    "self_attention.output": "attention.output.dense",
    "attention_wiring.norm": "attention.output.LayerNorm",
    "feedforward.expand": "intermediate.dense",
    "feedforward.contract": "output.dense",
    "feedforward_wiring.norm": "output.LayerNorm",
}


def bert_places(settings: EncoderSettings) -> Iterator[hf.WeightPlace]:
    """Every weight of a model with these settings. `PREFIX` precedes all but the head's, where there is a head."""

    def place(openwork_name: str, *hf_names: str, pieces: Literal["source"] | None = None) -> hf.WeightPlace:
        prefixes = ("", PREFIX) if settings.task == "embed" or hf_names[0].startswith(HEAD) else (PREFIX, "")
        return hf.WeightPlace(openwork_name, tuple(one + name for name in hf_names for one in prefixes), pieces=pieces)

    def pair(openwork_name: str, hf_name: str) -> Iterator[hf.WeightPlace]:
        for part, old in OLD_NORM.items():
            old_names = (f"{hf_name}.{old}",) if hf_name.endswith("LayerNorm") else ()
            yield place(f"{openwork_name}.{part}", f"{hf_name}.{part}", *old_names)

    yield place(EMBEDDINGS, "embeddings.word_embeddings.weight", pieces="source")
    yield place("source_positions.added.table.weight", "embeddings.position_embeddings.weight")
    yield from pair("source_positions.norm", "embeddings.LayerNorm")
    if settings.segments:
        yield place("segments.weight", "embeddings.token_type_embeddings.weight")
    for number in range(settings.layers):
        for openwork_name, hf_name in LAYER.items():
            yield from pair(f"encoder.layers.{number}.{openwork_name}", f"encoder.layer.{number}.{hf_name}")
    if settings.task == "fill":
        yield from pair("transform.dense", f"{HEAD}.transform.dense")
        yield from pair("transform.norm", f"{HEAD}.transform.LayerNorm")
        yield hf.WeightPlace("bias", (f"{HEAD}.bias", f"{HEAD}.decoder.bias"), pieces="source")
    else:
        yield from pair("pooler.dense", "pooler.dense")
    if settings.task == "classify":
        yield hf.WeightPlace("output", (CLASSIFIER,), pieces="target")
        yield hf.WeightPlace("bias", (CLASSIFIER_BIAS,), pieces="target")


class BertConfig(hf.ConfigKeys):
    """The keys that matter, with Hugging Face's defaults."""

    vocab_size: hf.Count = 30522
    width: hf.Count = Field(768, alias="hidden_size")
    layers: hf.Layers = Field(12, alias="num_hidden_layers")
    heads: hf.Count = Field(12, alias="num_attention_heads")
    feedforward_width: hf.Count = Field(3072, alias="intermediate_size")
    activation: str = Field("gelu", alias="hidden_act")
    dropout: hf.Probability = Field(0.1, alias="hidden_dropout_prob")
    attention_dropout: hf.Probability = Field(0.1, alias="attention_probs_dropout_prob")
    maximum_length: hf.Positions = Field(512, alias="max_position_embeddings")
    segments: int = Field(2, alias="type_vocab_size", ge=1, le=1 << 10)
    norm_epsilon: hf.Epsilon = Field(1e-12, alias="layer_norm_eps")
    position_embedding_type: Literal["absolute"] = "absolute"
    is_decoder: Literal[False] = False
    architectures: tuple[str, ...] | None = None
    id2label: dict[int, str] | None = None
    problem_type: str | None = None

    @property
    def labels(self) -> list[str]:
        """The labels of whole texts in the order of their numbers; none where a text has several."""
        found = self.id2label or {}
        names = ["_".join(found[number].split()) for number in sorted(found)]
        classifies = self.architectures == (CLASSES["classify"],)
        is_one_of = classifies and self.problem_type in (None, "single_label_classification")
        is_whole = sorted(found) == list(range(len(found))) and len(set(names)) == len(names) > 1 and all(names)
        return names if is_one_of and is_whole else []


def bundle_from_bert(folder: Path, content: Mapping[str, object]) -> Bundle:
    """The folder's model and tokenizer as a bundle in memory; `content` is that of its config.json.

    BundleError and DataError for what is missing, damaged, pickled, or of a kind that openwork has not.
    """
    config = hf.validated(BertConfig, dict(content), folder / hf.CONFIG)
    tokenizer = _tokenizer(folder)
    vocabulary = _vocabulary(folder, tokenizer, config.vocab_size)
    weights = {name: tensor for name, tensor in hf.read_weights(folder).items() if not name.endswith(UNUSED)}
    labels = Labels.of(config.labels) if config.labels and CLASSIFIER in weights else None
    fills = any(name.startswith(HEAD) for name in weights)
    settings = _settings(config, folder / hf.CONFIG, "classify" if labels else "fill" if fills else "embed")
    mask = _mask(folder, tokenizer, vocabulary)
    if mask is not None:
        settings = settings.model_copy(update={"mask_piece": mask})
    target = Vocabulary.of_labels(len(config.labels)) if labels else vocabulary
    found, used = _own_weights(folder, settings, weights, {"source": vocabulary, "target": target})
    found["begins"] = torch.tensor(word_starts(tokenizer))
    model = hf.build_imported(folder, settings, vocabulary, target, found)
    unused = sorted(weights.keys() - used)
    card = hf.card_of(folder) + (f"\nNot taken over: {', '.join(unused)}\n" if unused else "")
    tokenizers = tokenizers_for_task(TokenizerPair(tokenizer, labels or tokenizer), settings.task)
    return Bundle(BundleSettings(model=settings), tokenizers, model, card=card)


def _mask(folder: Path, tokenizer: AdaptedTokenizer | LearntTokenizer, vocabulary: Vocabulary) -> int | None:
    """openwork's id of the mask."""
    if isinstance(tokenizer, LearntTokenizer):
        path = folder / TOKENIZER_CONFIG
        name = hf.read_json_object(path).get("mask_token") if path.is_file() else None
        return tokenizer.ids_of_names.get(name) if isinstance(name, str) else None
    mask = tokenizer.external.library.token_to_id(MASK)  # type: ignore[attr-defined]
    return None if mask is None else vocabulary.own[mask]


def _tokenizer(folder: Path) -> AdaptedTokenizer | LearntTokenizer:
    external = read_single(folder)
    if isinstance(external, LearntTokenizer):
        return external
    if not isinstance(external, HuggingFaceTokenizer):
        raise BundleError(
            f"{folder}: no tokenizer that belongs to a BERT",
            why="there is neither a tokenizer.json of the library tokenizers nor a vocab.txt",
            hint="fetch the folder again, with its tokenizer",
            code="B066",
        )
    return AdaptedTokenizer(external)


def _vocabulary(folder: Path, tokenizer: AdaptedTokenizer | LearntTokenizer, size: int) -> Vocabulary:
    if isinstance(tokenizer, LearntTokenizer):
        return own_vocabulary(folder, tokenizer, size)
    marks = tokenizer.external.marks
    vocabulary = Vocabulary.of(size, pad=marks.pad, unknown=marks.unknown, start=marks.start, end=marks.end)
    if marks.start is None or marks.end is None or vocabulary.size != tokenizer.vocabulary_size:
        raise BundleError(
            f"{folder}: model and tokenizer do not belong together",
            why=f"the model has {vocabulary.size} pieces and the tokenizer {tokenizer.vocabulary_size}, symbols "
            "included, of which a BERT needs [CLS] and [SEP]",
            hint="fetch the folder again: model and tokenizer must be of one training",
            code="B018",
        )
    return vocabulary


def _settings(config: BertConfig, path: Path, task: EncoderTask) -> EncoderSettings:
    """The settings of the model that computes the same; BundleError names `path` where there is none."""
    return hf.validated(
        EncoderSettings,
        config.settings_for(EncoderSettings)
        | {
            "task": task,
            "feedforward": hf.known_activation(config.activation, HF_ACTIVATIONS, path),
            "positions": "learned",
            "embedding_scale": False,
            "embedding_norm": True,
            "attention_bias": True,
        },
        path,
    )


def _own_weights(
    folder: Path, settings: EncoderSettings, weights: Mapping[str, Tensor], pieces: Mapping[str, Vocabulary]
) -> tuple[dict[str, Tensor], set[str]]:
    """Every weight by openwork's names, and the names of the file's weights that were used."""
    places = list(bert_places(settings))
    found = hf.own_weights(places, weights, pieces, folder)
    used = {DECODER, *(name for place in places for name in place.hf_names)}
    if DECODER in weights:
        decoder, embedding = pieces["source"].gather(weights[DECODER].float()), found[EMBEDDINGS]
        if decoder.shape != embedding.shape or not torch.equal(decoder, embedding):
            raise BundleError(
                f"{folder}: masked pieces are predicted by a separate matrix",
                why=f"{DECODER} is not the table of the embeddings",
                hint="openwork has one matrix for both, as BERT's authors have it",
                code="B067",
            )
    return found, used


def write_bert(folder: Path, bundle: Bundle) -> None:
    """The bundle's files in the folder; ConfigError for a model or a tokenizer that Hugging Face has not."""
    settings, labels = bundle.settings.model, bundle.tokenizers.target
    assert isinstance(settings, EncoderSettings)
    hf.check_supported(unsupported_encoder(settings))
    mask = settings.mask_piece if settings.task == "fill" else None
    pieces = {"source": write_framed(folder, bundle.tokenizers.source, "classified", mask)}
    config = _config(settings, pieces["source"])
    if isinstance(labels, Labels):
        pieces["target"] = Vocabulary.of_labels(len(labels.names))
        config["id2label"] = dict(enumerate(labels.names))
        config["label2id"] = {name: number for number, name in enumerate(labels.names)}
        config["problem_type"] = "single_label_classification"
    hf.write_files(folder, config, {}, _weights(settings, dict(bundle.model.named_parameters()), pieces))


def _weights(settings: EncoderSettings, own: dict[str, Tensor], pieces: dict[str, Vocabulary]) -> dict[str, Tensor]:
    segments = own.get("segments.weight", torch.zeros(0, settings.width)).detach().cpu()
    missing = torch.zeros(max(SEGMENTS - len(segments), 0), settings.width)
    own = {**own, "segments.weight": torch.cat([segments, missing])}
    if settings.embedding_scale:
        own[EMBEDDINGS] = own[EMBEDDINGS].detach().cpu().float() * settings.width**0.5
    wide = settings.model_copy(update={"segments": max(settings.segments, SEGMENTS)})
    return hf.external_weights(bert_places(wide), own, pieces=pieces)


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
