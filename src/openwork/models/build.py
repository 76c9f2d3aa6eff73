"""From settings to a model: the one place that knows every family."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from openwork.base.errors import ConfigError, OpenworkError
from openwork.models.bytenet import build_bytenet
from openwork.models.cnn import build_cnn
from openwork.models.convolutional_settings import ByteNetSettings, CnnSettings, ConvS2SSettings, WaveNetSettings
from openwork.models.convs2s import build_convs2s
from openwork.models.decoder_lm import DecoderLM
from openwork.models.encoder_lm import build_encoder
from openwork.models.families import ModelSettings
from openwork.models.interfaces import SequenceModel
from openwork.models.parts import Parts
from openwork.models.recurrent import build_recurrent, build_recurrent_labels
from openwork.models.recurrent_lm import build_recurrent_lm
from openwork.models.recurrent_settings import RecurrentLabelsSettings, RecurrentLMSettings, RecurrentSettings
from openwork.models.seq2seq import Transformer
from openwork.models.settings import (
    ONE_VOCABULARY,
    CaptionSettings,
    DecoderSettings,
    EncoderSettings,
    SpeechSettings,
    TransformerSettings,
    VisionSettings,
)
from openwork.models.stem import build_captioner, build_whisper
from openwork.models.vit import build_vit
from openwork.models.wavenet import build_wavenet
from openwork.models.weights import empty_weights, model_weights, restore_weights, uninitialised
from openwork.nn.embedding import initialise, output_matrix, tied_weights
from openwork.nn.kernels import Kernel, packed
from openwork.nn.layers import CausalStack, Decoder, Encoder


def build_transformer(
    settings: TransformerSettings, source_vocabulary: int, target_vocabulary: int, kernel: Kernel = packed.attention
) -> Transformer:
    """The paper's model in the sizes and with the options of `settings`, with fresh weights from torch's generator."""
    s, parts = settings, Parts(settings, kernel)
    encoder_layers = parts.layers(parts.encoder_layer, s.encoder_layers)
    decoder_layers = parts.layers(parts.decoder_layer, s.decoder_layers)
    tables = tied_weights(s.tying, parts.embedding, source_vocabulary, target_vocabulary)
    encoder = Encoder(encoder_layers, parts.final_norm())
    decoder = Decoder(decoder_layers, parts.final_norm())
    positions = (parts.positions(), parts.positions())
    model = Transformer(tables, positions, encoder, decoder, parts.narrow(), s.dropout)
    if s.output_bias:
        model.bias = nn.Parameter(torch.zeros(target_vocabulary))
    initialise(model)
    if s.start_vector == "zeros":
        model.make_start_zero()
    return model


def build_decoder(
    settings: DecoderSettings, source_vocabulary: int, target_vocabulary: int, kernel: Kernel = packed.attention
) -> DecoderLM:
    """The language model in the sizes and with the options of `settings`; both vocabularies are one."""
    s, parts = settings, Parts(settings, kernel)
    embedding = parts.embedding(target_vocabulary)
    tied = s.tying == "three-way"
    output = embedding.table.weight if tied else output_matrix(target_vocabulary, s.stream_start)
    stack = CausalStack(parts.layers(parts.causal_layer, s.layers), parts.final_norm())
    model = DecoderLM(embedding, parts.positions(), stack, parts.narrow(), output, s.dropout)
    model.separate_prompt = s.separate_prompt
    if s.output_bias:
        model.bias = nn.Parameter(torch.zeros(target_vocabulary))
    return initialise(model)


# Each builds a model from its settings and the sizes of the source's and the target's vocabulary; a source of numbers
# has the features of a position in place of a vocabulary.
BUILDERS: dict[type[Any], Callable[[Any, int, int], SequenceModel]] = {
    TransformerSettings: build_transformer,
    RecurrentSettings: build_recurrent,
    RecurrentLabelsSettings: build_recurrent_labels,
    RecurrentLMSettings: build_recurrent_lm,
    EncoderSettings: build_encoder,
    ConvS2SSettings: build_convs2s,
    ByteNetSettings: build_bytenet,
    WaveNetSettings: build_wavenet,
    DecoderSettings: build_decoder,
    VisionSettings: build_vit,
    CnnSettings: build_cnn,
    SpeechSettings: build_whisper,
    CaptionSettings: build_captioner,
}


def build_model(settings: ModelSettings, source_vocabulary: int, target_vocabulary: int) -> SequenceModel:
    """The model that `settings` describe, with fresh weights from torch's generator.

    ConfigError when source and target share their embeddings and the vocabularies differ.
    """
    if settings.tying in ONE_VOCABULARY and source_vocabulary != target_vocabulary:
        raise ConfigError(
            f'model.tying = "{settings.tying}" needs one vocabulary for source and target',
            why=f"the source has {source_vocabulary:,} entries, the target {target_vocabulary:,}",
            hint='set text.shared = true, or model.tying = "target" where the model has it',
            code="C034",
        )
    return BUILDERS[type(settings)](settings, source_vocabulary, target_vocabulary)


def model_with_weights(
    settings: ModelSettings,
    sizes: tuple[int, int],
    weights: Mapping[str, Tensor],
    size_error: Callable[[str, Tensor, tuple[int, ...]], OpenworkError],
    origin: str,
) -> SequenceModel:
    """The model with these weights, in evaluation mode; `sizes` are those of both vocabularies.

    Compares shapes before any memory is taken: `size_error` makes the error from a weight and the shape it should have.
    """
    with empty_weights():
        expected = {name: tuple(one.shape) for name, one in model_weights(build_model(settings, *sizes)).items()}
    for name, shape in expected.items():
        if tuple(weights[name].shape) != shape:
            raise size_error(name, weights[name], shape)
    with uninitialised():
        model = build_model(settings, *sizes)
    restore_weights(model, {name: weights[name] for name in expected}, origin)
    return model.eval()
