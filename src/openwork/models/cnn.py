"""Convolutional network: convolutions, ReLU and pooling read a picture and predict its class (LeCun et al. 1998).

A source is a matrix of numbers (position, features), row by row: pixels, or patches of them. Three by three pixels,
ReLU, pooling of two by two, and twice as many features after each are those of Simonyan and Zisserman 2015, section 2.
"""

from itertools import pairwise

import torch
from torch import nn

from openwork.models.convolutional_settings import CnnSettings
from openwork.models.label_model import LabelMatrix
from openwork.nn.convolution import PooledConvolution, as_grid
from openwork.nn.dropout import Dropout
from openwork.nn.embedding import initialise, output_matrix
from openwork.nn.shapes import Lengths, Numbers, PlaceVectors


class ConvolutionalClassifier(LabelMatrix):
    """One label for a source, from the mean of what the last convolution finds.

    The end of the target is predicted from a learned vector: it is the same for all pictures.
    """

    def __init__(self, settings: CnnSettings, features: int, output: nn.Parameter) -> None:
        super().__init__(source_vocabulary=0)
        widths = [features, *settings.widths]
        self.columns = settings.columns
        self.layers = nn.ModuleList(
            PooledConvolution(before, after, settings.kernel) for before, after in pairwise(widths)
        )
        self.end = nn.Parameter(torch.randn(widths[-1]) * widths[-1] ** -0.5)
        self.dropout = Dropout(settings.dropout)
        self.set_output(output)

    def read(self, source: Numbers, source_lengths: Lengths) -> PlaceVectors:
        x, is_real = as_grid(source, source_lengths, self.columns)
        for layer in self.layers:
            x, is_real = layer(x, is_real)
        mean = x.sum(dim=(2, 3)) / is_real.sum(dim=(2, 3)).clamp(min=1)  # x is zero elsewhere
        return self.dropout(torch.stack([mean, self.end.to(mean.dtype).expand_as(mean)], dim=1))


def build_cnn(settings: CnnSettings, features: int, labels: int) -> ConvolutionalClassifier:
    """The model for sources of so many numbers a position, with fresh weights from torch's generator."""
    return initialise(ConvolutionalClassifier(settings, features, output_matrix(labels, settings.widths[-1])))
