"""Writing one of our encoder-decoders as a folder that Hugging Face's transformers load.

    MarianMTModel.from_pretrained(FOLDER).generate(ids)

The ids are ours, so nothing is renumbered. Their search is told what ours does: symbols that are never produced take no
part, the length rule and the stopping are the bundle's where theirs has them.
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from openwork.base.folders import atomic_folder
from openwork.base.outputs import EXPORT, put_export_mark
from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.settings import DecodingSettings
from openwork.interop.activations import HUGGING_FACE_ACTIVATIONS, their_name
from openwork.interop.exports import Architecture, architecture_of, transformer_closed
from openwork.interop.hugging_face.layout import WeightPlace, places, stream_order
from openwork.interop.hugging_face.writing import LONGEST, refuse, write_files
from openwork.models.families import ModelSettings
from openwork.models.interfaces import SequenceModel
from openwork.models.settings import TransformerSettings
from openwork.nn.positions import sinusoids


def write_hugging_face(
    folder: Path, settings: ModelSettings, model: SequenceModel, decoding: DecodingSettings | None = None
) -> None:
    """Writes the model alone, for those who bring ids; the folder appears complete or not at all."""
    with atomic_folder(folder, EXPORT.own_in(folder)) as partial:
        write_model_files(partial, settings, model, decoding or DecodingSettings())
        put_export_mark(partial)


def write_model_files(folder: Path, settings: ModelSettings, model: SequenceModel, decoding: DecodingSettings) -> None:
    """Writes config.json, generation_config.json and model.safetensors into the folder.

    Their norms have an epsilon of 1e-5 and know no other: a model trained with 1e-6, our default, gives logits that
    differ from the fifth digit on; a larger epsilon is refused. ConfigError for a model that none of their
    architectures is.
    """
    transformer, kind = fitting_architecture(settings)
    tensors = their_weights(transformer, dict(model.named_parameters(remove_duplicate=False)))
    sizes = model.get_parameter("source_embedding.table.weight").shape[0], model.output_weight.shape[0]
    write_files(folder, _config(transformer, kind, sizes), _generation(decoding), tensors)


def fitting_architecture(settings: ModelSettings) -> tuple[TransformerSettings, Architecture]:
    """The one of theirs that computes what a model with these settings does; ConfigError, saying why, if none does."""
    refuse(transformer_closed(settings))
    assert isinstance(settings, TransformerSettings)
    kind = architecture_of(settings)
    assert kind is not None
    return settings, kind


def their_weights(settings: TransformerSettings, own: dict[str, Tensor]) -> dict[str, Tensor]:
    """Name -> tensor, each once, in their order of the stream; a bias that we have not is zeros."""
    order, found = stream_order(settings), {}
    for place in places(settings):
        tensor = own[place.ours].detach().cpu().float() if place.ours in own else _zeros(place, own)
        if place.stream is not None:
            tensor = tensor.index_select(place.stream, order)
        if place.before:
            tensor = torch.cat([tensor.new_zeros(place.before, tensor.shape[1]), tensor])
        found[place.theirs[0]] = tensor[None] if place.ours == "bias" else tensor
    if settings.positions == "sinusoidal":  # theirs are constants with a place among the weights
        for stack in ("encoder", "decoder"):
            name = f"model.{stack}.embed_positions.weight"
            found[name] = sinusoids(LONGEST, settings.width).index_select(1, order)
    return {name: tensor.contiguous() for name, tensor in found.items()}


def _zeros(place: WeightPlace, own: dict[str, Tensor]) -> Tensor:
    matrix = "output" if place.ours == "bias" else place.ours.removesuffix("bias") + "weight"
    return torch.zeros(own[matrix].shape[0])


def _config(s: TransformerSettings, kind: Architecture, sizes: tuple[int, int]) -> dict[str, Any]:
    return {
        "architectures": [kind.class_name],
        "model_type": kind.model_type,
        "vocab_size": sizes[0],
        "decoder_vocab_size": sizes[1],
        "d_model": s.width,
        "encoder_layers": s.encoder_layers,
        "decoder_layers": s.decoder_layers,
        "encoder_attention_heads": s.heads,
        "decoder_attention_heads": s.heads,
        "encoder_ffn_dim": s.feedforward_width,
        "decoder_ffn_dim": s.feedforward_width,
        "activation_function": their_name(s.feedforward, HUGGING_FACE_ACTIVATIONS),
        "max_position_embeddings": s.table_size if s.positions == "learned" else LONGEST,
        "scale_embedding": s.embedding_scale,
        "share_encoder_decoder_embeddings": s.tying == "three-way",
        "tie_word_embeddings": s.tying != "none",
        "dropout": s.dropout,
        "attention_dropout": s.attention_dropout,
        "activation_dropout": s.feedforward_dropout,
        **_symbols(),
        "unk_token_id": SYMBOL_IDS.unknown,
    }


def _symbols() -> dict[str, int | None]:
    """Null where their own defaults would stand for something else."""
    return {
        "pad_token_id": SYMBOL_IDS.pad,
        "bos_token_id": None,
        "eos_token_id": SYMBOL_IDS.end,
        "decoder_start_token_id": SYMBOL_IDS.start,
        "forced_eos_token_id": None,
    }


def _generation(decoding: DecodingSettings) -> dict[str, Any]:
    """Their search. They have no length rule but the power; their limit counts the start symbol."""
    return {
        **_symbols(),
        "num_beams": decoding.beam,
        "num_return_sequences": decoding.best,
        "length_penalty": decoding.length_penalty,
        "early_stopping": decoding.stopping == "enough",
        "max_length": decoding.maximum_length + 1,
        "suppress_tokens": list(SYMBOL_IDS.forbidden),
        "renormalize_logits": True,  # so that probabilities are those given that no such symbol comes
        "no_repeat_ngram_size": decoding.no_repeat,
    }
