"""Exports an encoder-decoder as a folder that Hugging Face's transformers load.

    MarianMTModel.from_pretrained(FOLDER).generate(ids)

Pieces keep openwork's ids. generation_config.json describes openwork's search: symbols that are never produced are
suppressed, the length rule and the stopping are the bundle's where transformers has them.
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from openwork.base.folders import atomic_folder
from openwork.base.outputs import EXPORT, put_export_mark
from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.settings import DecodingSettings
from openwork.interop.exports import (
    HF_ACTIVATIONS,
    Architecture,
    architecture_of,
    hf_activation,
    unsupported_seq2seq,
)
from openwork.interop.hugging_face.config import HuggingFaceConfig
from openwork.interop.hugging_face.layout import places, stream_order
from openwork.interop.hugging_face.writing import LONGEST, check_supported, own_weights, write_files
from openwork.models.families import ModelSettings
from openwork.models.interfaces import SequenceModel
from openwork.models.settings import TransformerSettings
from openwork.nn.positions import sinusoids


def write_hugging_face(
    folder: Path, settings: ModelSettings, model: SequenceModel, decoding: DecodingSettings | None = None
) -> None:
    """Writes the model without tokenizers; the folder appears complete or not at all."""
    with atomic_folder(folder, EXPORT.own_in(folder)) as partial:
        write_model_files(partial, settings, model, decoding or DecodingSettings())
        put_export_mark(partial)


def write_model_files(folder: Path, settings: ModelSettings, model: SequenceModel, decoding: DecodingSettings) -> None:
    """Writes config.json, generation_config.json and model.safetensors into the folder.

    The BART family's norms have an epsilon of 1e-5 and no other: a model trained with 1e-6, openwork's default, gives
    logits that differ from the fifth digit on; a larger epsilon is refused. ConfigError for a model that no
    architecture of Hugging Face is.
    """
    check_supported(unsupported_seq2seq(settings))
    assert isinstance(settings, TransformerSettings)
    kind = architecture_of(settings)
    assert kind is not None
    tensors = hf_weights(settings, dict(model.named_parameters(remove_duplicate=False)))
    sizes = model.get_parameter("source_embedding.table.weight").shape[0], model.output_weight.shape[0]
    write_files(folder, _config(settings, kind, sizes), _generation(decoding), tensors)


def hf_weights(settings: TransformerSettings, own: dict[str, Tensor]) -> dict[str, Tensor]:
    """Every weight by Hugging Face's names, each once, in its order of the stream; zeros for biases that are not."""
    order, found = stream_order(settings), {}
    for place, tensor in own_weights(places(settings), own):
        if place.stream is not None:
            tensor = tensor.index_select(place.stream, order)
        if place.before:
            tensor = torch.cat([tensor.new_zeros(place.before, tensor.shape[1]), tensor])
        found[place.hf_names[0]] = tensor[None] if place.openwork_name == "bias" else tensor
    if settings.positions == "sinusoidal":  # constants, which Hugging Face's files keep among the weights
        for stack in ("encoder", "decoder"):
            name = f"model.{stack}.embed_positions.weight"
            found[name] = sinusoids(LONGEST, settings.width).index_select(1, order)
    return {name: tensor.contiguous() for name, tensor in found.items()}


def _config(s: TransformerSettings, kind: Architecture, sizes: tuple[int, int]) -> dict[str, Any]:
    return {
        "architectures": [kind.class_name],
        "model_type": kind.model_type,
        "vocab_size": sizes[0],
        "decoder_vocab_size": sizes[1],
        **HuggingFaceConfig.keys_of(s),
        "decoder_attention_heads": s.heads,
        "decoder_ffn_dim": s.feedforward_width,
        "activation_function": hf_activation(s.feedforward, HF_ACTIVATIONS),
        "max_position_embeddings": s.table_size if s.positions == "learned" else LONGEST,
        "share_encoder_decoder_embeddings": s.tying == "three-way",
        "tie_word_embeddings": s.tying != "none",
        **_symbols(),
        "unk_token_id": SYMBOL_IDS.unknown,
    }


def _symbols() -> dict[str, int | None]:
    """Null where Hugging Face's default is another symbol."""
    return {
        "pad_token_id": SYMBOL_IDS.pad,
        "bos_token_id": None,
        "eos_token_id": SYMBOL_IDS.end,
        "decoder_start_token_id": SYMBOL_IDS.start,
        "forced_eos_token_id": None,
    }


def _generation(decoding: DecodingSettings) -> dict[str, Any]:
    """The search. Its only length rule is the power; its limit counts the start symbol."""
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
