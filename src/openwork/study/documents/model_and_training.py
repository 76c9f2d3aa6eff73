"""The documents' numeric examples of the model's parts and sizes, and of its training."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from openwork.data.batching import BatchPlan, BatchSettings
from openwork.models.build import build_transformer
from openwork.models.interfaces import count_weights
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings
from openwork.models.weights import empty_weights
from openwork.nn.attention import Heads, MultiHeadAttention
from openwork.nn.embedding import TokenEmbedding, initialise
from openwork.nn.feedforward import FeedForward
from openwork.nn.normalisation import layer_norm
from openwork.nn.positions import SinusoidalPositions, exact_sinusoids
from openwork.nn.residual import PreNorm
from openwork.study.steps import EQUATION_2, EQUATION_3, EXACT, HEADS, SINUSOIDS, Part, Quoted, Worked, array, worked
from openwork.training.loss import chunk_cross_entropy, even_share
from openwork.training.schedules import paper_rate

WORD = (0.5, 0.3, 0.8, 0.1)
ROW = (0.858, 4.005, 2.605, 1.958)  # of document 002, section 8.2.1
# What document 001's model is in our settings; its output layer has a bias besides, and its W^O has none.
DOCUMENTS = TransformerSettings(norm="pre", tying="none", attention_bias=True)


def positions() -> Worked:
    """Document 000, section 1.3: sines and cosines for a width of 8, and a word with its position."""
    table = array(exact_sinusoids(4, 8))
    adds = SinusoidalPositions(4)
    adds.table = exact_sinusoids(1, 4)
    total = adds(torch.tensor([[WORD]], dtype=torch.float64))[0, 0]
    rows = Part("openwork.nn.positions.exact_sinusoids", axes=("width",))
    return Worked(
        (
            worked("table", "Positions 0 to 3 at a width of 8", "sin(pos / 10000^(2i / 8)), cos(pos / 10000^(2i / 8))",
                   table, Part(rows.code, SINUSOIDS)),
            worked("first", "The first four numbers of position 0", "PE(0, 0..3)", table[0, :4], rows, ("table",),
                   Quoted("000, 1.3", [0, 1, 0, 1])),
            worked("second", "The first two numbers of position 1", "sin(1), cos(1)", table[1, :2], rows, ("table",),
                   Quoted("000, 1.3", [0.841, 0.54], 0.001)),
            worked("third", "The next two numbers of position 1", "sin(1 / 10), cos(1 / 10)", table[1, 2:4], rows,
                   ("table",),
                   Quoted("000, 1.3", [0.0001, 1.0], 0.0001,
                          "the divisor of the second pair is 10000^(2/8) = 10, so these are sin(0.1) and cos(0.1)")),
            worked("sum", "A word with position 0 added, at a width of 4", "x + PE(0)", total,
                   Part("openwork.nn.positions.SinusoidalPositions", axes=("width",)), (),
                   Quoted("000, 1.3", [0.5, 1.3, 0.8, 1.1])),
        ),
    )  # fmt: skip


def shapes() -> Worked:
    """Document 000, sections 1.2.5 to 1.2.7 and 1.5: the shape of W^O, and of a feed-forward network."""
    output = tuple(MultiHeadAttention(3, Heads(2, 2, 2)).output.weight.T.shape)
    network = FeedForward(3, 6)
    widths = (network.expand.in_features, network.expand.out_features, network.contract.out_features)
    return Worked(
        (
            worked("output", "W^O for a width of 3 and two heads of width 2", "(h d_v) x d_model", output,
                   Part("openwork.nn.attention.MultiHeadAttention", HEADS, ("axis",)), (),
                   Quoted("000, 1.2.5", [3, 3], EXACT, "the heads side by side are 2 x 2 = 4 wide")),
            worked("feedforward", "Widths in the feed-forward network", "d_model, d_ff, d_model", widths,
                   Part("openwork.nn.feedforward.FeedForward", EQUATION_2, ("layer",)), (),
                   Quoted("000, 1.5", [3, 6, 3])),
        ),
        ("3 is no multiple of 2 heads, so the heads' width of 2 is given and not d_model / h.",),
    )  # fmt: skip


def model_of(settings: TransformerSettings, vocabulary: int) -> Transformer:
    """The model without numbers: shapes and counts need none."""
    with empty_weights():
        return build_transformer(settings, vocabulary, vocabulary)


def weights_of_the_code() -> Mapping[str, int]:
    """Document 001's own code counted: our model, and what the code has and does not use."""
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
    return tuple(model_of(TransformerSettings(), 30_000).project(torch.empty(20, 512, device="meta")).shape)


def sizes() -> Worked:
    """Document 001: widths, counts and first values."""
    counted = weights_of_the_code()
    normed = layer_norm(4).double()(torch.tensor(ROW, dtype=torch.float64))
    weights = Part("openwork.models.interfaces.count_weights", axes=())
    return Worked(
        (
            worked("head_width", "The width of a head", "d_k = d_model / h", TransformerSettings().key_width,
                   Part("openwork.models.settings.TransformerSettings.key_width", HEADS, ()), (),
                   Quoted("001", 64, 1e-6)),
            worked("embedding.scale", "The factor on the embeddings", "sqrt(d_model)", TokenEmbedding(1, 512).scale,
                   Part("openwork.nn.embedding.TokenEmbedding", "Vaswani et al. 2017, section 3.4", ())),
            worked("output", "The shape of the output for 20 tokens and 30,000 words", "(20, 512) W -> (20, 30000)",
                   output_shape(), Part("openwork.models.interfaces.SequenceModel.project", axes=("axis",)), (),
                   Quoted("001", [20, 30_000])),
            worked("weights", "Weights of the document's model with vocabularies of 10", "sum of the shapes",
                   counted["all"], weights),
            worked("unused", "Weights of the fourth projection of each attention, which is never used",
                   "18 (512 x 512 + 512)", counted["unused"], weights, (),
                   Quoted("001", 0, 1e-6, "the code makes four projections and pairs them with three inputs")),
            worked("first_values", "The largest first value of matrices of 512 x 512", "sqrt(6 / (512 + 512))",
                   glorot_bound(512),
                   Part("openwork.nn.embedding.initialise", "Glorot and Bengio 2010, equation 16", ()), (),
                   Quoted("001", 0.0441941738, 1e-6,
                          "1 / sqrt(n) is another rule, and not the Xavier of the document's own code")),
            worked("norm", "A row, layer-normed", "(y - mean) / sqrt(variance + 1e-6)", normed,
                   Part("openwork.nn.normalisation.layer_norm", "Ba, Kiros and Hinton 2016", ("width",)), (),
                   Quoted("001", [-1.13999, 1.254103, 0.189047, -0.30316], 1e-5,
                          "the document's code divides by N - 1 where its formula divides by N")),
        ),
        ("The figures beside the norm are what the document's code gives; it prints none itself.",),
    )  # fmt: skip


def slope(layers: int, factor: float, *, residual: bool) -> float:
    """The gradient of so many layers F(x) = factor x, with the input added to each layer's output or without."""
    network, connection = FeedForward(1, 1).double(), PreNorm(1, 0.0, lambda _: nn.Identity())
    with torch.no_grad():
        for weight, value in ((network.expand.weight, abs(factor)), (network.contract.weight, np.sign(factor))):
            weight.fill_(value)
        for bias in (network.expand.bias, network.contract.bias):
            bias.zero_()
    start = torch.ones(1, 1, 1, dtype=torch.float64, requires_grad=True)
    x = start
    for _ in range(layers):
        inside = network(connection.before(x))
        x = connection.after(x, inside) if residual else inside
    return torch.autograd.grad(x.sum(), start)[0].item()


def residuals() -> Worked:
    """Document 002, sections 1.2.1 and 6.4.2."""
    one, hundred = ([slope(layers, factor, residual=True) for factor in (0.1, -0.1, 0.0)] for layers in (1, 100))
    added, cases = Part("openwork.nn.residual.PreNorm"), {"case": ("0.1", "-0.1", "0")}
    return Worked(
        (
            worked("without", "The gradient of 100 layers that multiply by 0.9", "0.9^100",
                   slope(100, 0.9, residual=False), Part("openwork.nn.feedforward.FeedForward", axes=()), (),
                   Quoted("002, 6.4.2", 2.65e-5, 1e-7, "cut off, not rounded: 2.66e-5")),
            worked("one", "The gradient of one layer with a residual", "1 + F'(x)", one, added, (),
                   Quoted("002, 6.4.2", [1.1, 0.9, 1.0]), cases),
            worked("hundred", "The same over 100 layers", "(1 + F'(x))^100", hundred, added, axes=cases),
        ),
        ("The layers are feed-forward networks of width 1 whose slope is given.",),
    )  # fmt: skip


def sentences_a_batch(length: int, tokens: int = 25_000) -> int:
    """Sentences of so many positions, end symbol included, in a full batch."""
    lengths = np.full(2 * tokens // length, length - 1)
    plan = BatchPlan(lengths, lengths, BatchSettings(tokens=tokens), seed=1).epoch(0)
    return max(len(rows) for rows in plan)


def smoothed_target(smoothing: float, vocabulary: int) -> Tensor:
    """What a prediction is held against, the right token first: from the loss's gradient p - q at even logits."""
    logits = torch.zeros(1, vocabulary, dtype=torch.float64)
    share = even_share(smoothing, "others", vocabulary)
    chunk = chunk_cross_entropy(logits, logits.softmax(-1), torch.zeros(1, 1, dtype=torch.long), share)
    return (logits.softmax(-1) - chunk.gradient)[0]


def training() -> Worked:
    """Document 002, section 7.2: batches, the learning rate and label smoothing."""
    spans = ((4000, 14_000), (10_000, 20_000), (20_000, 30_000), (30_000, 40_000))
    falls = [paper_rate(last, 512, 4000) / paper_rate(first, 512, 4000) for first, last in spans]
    rate = Part("openwork.training.schedules.paper_rate", EQUATION_3, ())
    return Worked(
        (
            worked("batches", "Sentences in a batch of 25,000 tokens", "25000 / length",
                   [sentences_a_batch(length) for length in (10, 500)],
                   Part("openwork.data.batching.BatchPlan", "Vaswani et al. 2017, section 5.1"), (),
                   Quoted("002, 7.2.1", [2500, 50]), {"length": ("10", "500")}),
            worked("factors", "The factors of the rate", "512^-0.5, 4000^-0.5",
                   [paper_rate(1, 512, 1), paper_rate(4000, 1, 4000)], rate, (),
                   Quoted("002, 7.2.2", [0.044, 0.0158], [1e-3, 1e-4]), {"factor": ("d_model", "step")}),
            worked("peak", "The largest rate, at update 4,000", "512^-0.5 4000^-0.5", paper_rate(4000, 512, 4000), rate,
                   (), Quoted("002, 7.2.2", 0.000695, 1e-6, "multiplied after rounding both factors", slack=4.0)),
            worked("falls", "By how much the rate falls in 10,000 updates", "rate(last) / rate(first)", falls, rate, (),
                   Quoted("002, 7.2.2", [0.707] * 4, 0.001, "only from 10,000 to 20,000 is it so"),
                   {"span": tuple(f"{first} - {last}" for first, last in spans)}),
            worked("smoothing", "Targets of the right token and of each other one, smoothed by 0.1 over 37,000",
                   "1 - 0.1, 0.1 / (37000 - 1)", smoothed_target(0.1, 37_000)[:2],
                   Part("openwork.training.loss.chunk_cross_entropy", "Szegedy et al. 2016, section 7"), (),
                   Quoted("002, 7.2.3", [0.9, 2.69e-6], [0.1, 1e-8], "0.1 / 36999 is 2.70e-6"),
                   {"token": ("right", "other")}),
        ),
    )  # fmt: skip
