"""The sizes that document 001 states, or that follow from its code."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from openwork.inspection.trace import Printed, Step, Trace
from openwork.models.build import build_transformer
from openwork.models.empty_weights import empty_weights
from openwork.models.interfaces import count_weights
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.initialise import initialise
from openwork.nn.normalisation import layer_norm
from openwork.study.documents import EXAMPLES
from openwork.study.documents.verdicts import array, assumed, judged, slip

ROW = (0.858, 4.005, 2.605, 1.958)  # of document 002, section 8.2.1
# What the document's model is in our settings; its output layer has a bias besides, and its W^O has none.
DOCUMENTS = TransformerSettings(norm="pre", tying="none", attention_bias=True)
LAYER_NORM, GLOROT = "Ba, Kiros and Hinton 2016", "Glorot and Bengio 2010, equation 16"


def model_of(settings: TransformerSettings, vocabulary: int) -> Transformer:
    """The model without numbers: shapes and counts need none."""
    with empty_weights():
        return build_transformer(settings, vocabulary, vocabulary)


def weights_of_the_code() -> Mapping[str, int]:
    """The document's own code counted: our model, and what the code has and does not use."""
    model = model_of(DOCUMENTS, 10)
    attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    unused = len(attentions) * count_weights(attentions[0].query)
    biases = sum(module.output.bias.numel() for module in attentions)
    return {"unused": unused, "all": count_weights(model) + unused - biases + 10}


def glorot_bound(width: int) -> float:
    """The largest of the first weights of some square matrices, which no larger one can follow."""
    torch.manual_seed(1)
    matrices = [nn.Linear(width, width, dtype=torch.float64) for _ in range(8)]
    for matrix in matrices:
        initialise(matrix)
    return max(matrix.weight.abs().max().item() for matrix in matrices)


def output_shape() -> tuple[int, ...]:
    """The logits of 20 tokens over 30,000 words."""
    model = model_of(TransformerSettings(), 30_000)
    return tuple(model.project(torch.empty(20, 512, device="meta")).shape)


def sizes() -> Trace:
    """Widths, counts and first values."""
    counted = weights_of_the_code()
    normed = layer_norm(4).double()(torch.tensor(ROW, dtype=torch.float64))
    return Trace(
        "001-sizes",
        EXAMPLES["001-sizes"].title,
        (
            quantity("head_width", "The width of a head", "d_k = d_model / h", TransformerSettings().key_width,
                    "openwork.models.settings.TransformerSettings.key_width", "Vaswani et al. 2017, section 3.2.2", 64),
            quantity("embedding.scale", "The factor on the embeddings", "sqrt(d_model)", TokenEmbedding(1, 512).scale,
                    "openwork.nn.embedding.TokenEmbedding", "Vaswani et al. 2017, section 3.4"),
            quantities("output", "The shape of the output for 20 tokens and 30,000 words", "(20, 512) W -> (20, 30000)",
                  output_shape(), "axis", "openwork.models.interfaces.SequenceModel.project", "",
                  (judged("001", output_shape(), [20, 30_000]),)),
            quantity("weights", "Weights of the document's model with vocabularies of 10", "sum of the shapes",
                    counted["all"], "openwork.models.interfaces.count_weights"),
            quantity("unused", "Weights of the fourth projection of each attention, which is never used",
                    "18 (512 x 512 + 512)", counted["unused"], "openwork.models.interfaces.count_weights", "", 0,
                    slip("the code makes four projections and pairs them with three inputs")),
            quantity("first_values", "The largest first value of matrices of 512 x 512", "sqrt(6 / (512 + 512))",
                    glorot_bound(512), "openwork.nn.initialise.initialise", GLOROT, 0.0441941738,
                    slip("1 / sqrt(n) is another rule, and not the Xavier of the document's own code")),
            quantities("norm", "A row, layer-normed", "(y - mean) / sqrt(variance + 1e-6)", array(normed), "width",
                  "openwork.nn.normalisation.layer_norm", LAYER_NORM,
                  (judged("001", array(normed), [-1.13999, 1.254103, 0.189047, -0.30316], 1e-5,
                          "the document's code divides by N - 1 where its formula divides by N"),)),
        ),
        assumed("The figures beside the norm are what the document's code gives; it prints none itself."),
    )  # fmt: skip


def quantity(
    name: str,
    title: str,
    equation: str,
    value: float,
    code: str,
    source: str = "",
    stated: Any = None,
    reason: str = "",
) -> Step:
    """A step whose value is one number."""
    printed = () if stated is None else (judged("001", value, stated, 1e-6, reason),)
    return Step(name, title, equation, array(value), (), (), code, source, {}, printed)


def quantities(
    name: str, title: str, equation: str, value: Any, axis: str, code: str, source: str, printed: tuple[Printed, ...]
) -> Step:
    """A step whose value is a row of numbers."""
    return Step(name, title, equation, array(value), (axis,), (), code, source, {}, printed)
