"""Vision Transformer: the encoder reads a picture's patches and predicts its class (Dosovitskiy et al. 2021).

A source is a matrix of numbers (patch, features). The class token precedes it, as the start symbol precedes a text.
"""

import torch
from torch import nn

from openwork.models.encoder_lm import SequenceClassifier, SourceReader
from openwork.models.label_model import at_places
from openwork.models.parts import Parts
from openwork.models.settings import VisionSettings
from openwork.nn.embedding import initialise, output_matrix
from openwork.nn.features import FeatureEmbedding
from openwork.nn.kernels import Kernel, packed
from openwork.nn.layers import Encoder
from openwork.nn.pooling import mean_of
from openwork.nn.shapes import AnySource, Lengths, PlaceVectors


class MeanClassifier(SequenceClassifier):
    """One label for a source, from the mean of its positions' vectors (Dosovitskiy et al. 2021, appendix D.3)."""

    def chosen(self, source: AnySource, source_lengths: Lengths) -> PlaceVectors:
        vectors = self.encode(source, source_lengths)
        mean = mean_of(vectors[:, 1:], source_lengths.clamp(min=1)).to(vectors.dtype)
        return torch.cat([mean[:, None], at_places(vectors, source_lengths[:, None])], dim=1)


CLASSIFIERS: dict[str, type[SequenceClassifier]] = {"class": SequenceClassifier, "mean": MeanClassifier}


def build_vit(
    settings: VisionSettings, features: int, labels: int, kernel: Kernel = packed.attention
) -> SequenceClassifier:
    """The model for sources of so many numbers a position, with fresh weights from torch's generator."""
    s, parts = settings, Parts(settings, kernel)
    reader = SourceReader(
        FeatureEmbedding(features, s.stream_start),
        None,
        parts.positions(),
        Encoder([parts.encoder_layer(layer) for layer in range(s.layers)], parts.final_norm()),
        s.dropout,
    )
    return initialise(CLASSIFIERS[s.pooling](reader, output_matrix(labels, s.width), nn.Identity()))
