"""The numeric examples of document 002 before its chapter 8: variance, mask, residuals, batches, rates, smoothing."""

import numpy as np
import torch
from torch import Tensor, nn

from openwork.data.batching import BatchPlan, BatchSettings
from openwork.inspection.trace import Step, Trace
from openwork.nn.feedforward import FeedForward
from openwork.nn.kernels import scale_of
from openwork.nn.kernels.reference import attention_scores, softmax_over
from openwork.nn.masks import causal
from openwork.nn.residual import PreNorm
from openwork.study.documents import EXAMPLES
from openwork.study.documents.chapter_eight import mask_as_numbers
from openwork.study.documents.chapter_eight_given import MASK
from openwork.study.documents.verdicts import array, assumed, judged
from openwork.training.loss import chunk_cross_entropy, even_share
from openwork.training.schedules import paper_rate

SCORES = ((1.2, 0.8, 0.5, 0.3), (0.9, 1.5, 0.7, 0.4), (0.6, 0.9, 1.8, 0.6), (0.4, 0.7, 1.2, 2.0))
PRINTED_WEIGHTS = [[1.0, 0.0, 0.0, 0.0], [0.3, 0.7, 0.0, 0.0], [0.1, 0.2, 0.7, 0.0], [0.05, 0.1, 0.25, 0.6]]
SQUARE = ("query", "key")
SOFTMAX, EQUATION = "openwork.nn.kernels.reference.softmax_over", "Vaswani et al. 2017, equation 1"


def score_variance(width: int, scale: float) -> float:
    """The variance of scale q k over keys whose entries have mean 0, variance 1 and no correlation.

    The rows of a Hadamard matrix and their negatives are such keys: so the variance is exact and no estimate.
    """
    rows = torch.ones(1, 1, dtype=torch.float64)
    while len(rows) < width:
        rows = torch.cat([torch.cat([rows, rows], 1), torch.cat([rows, -rows], 1)])
    keys = torch.cat([rows, -rows])[None, None]
    return attention_scores(rows[None, None, :1], keys, scale).var(unbiased=False).item()


def odds(score: float) -> float:
    """By how much a key with this score outweighs one with score 0: e to the score, as the softmax makes it."""
    weights = softmax_over(torch.tensor([[[[score, 0.0]]]], dtype=torch.float64), None)[0, 0, 0]
    return (weights[0] / weights[1]).item()


def masked_weights(scores: Tensor, rows: slice = slice(None)) -> np.ndarray:
    """Weights of causal self-attention from scaled scores (query, key), of some of the rows."""
    return array(softmax_over(scores[None, None].double(), causal(4, 4))[0, 0, rows])


def slope(layers: int, factor: float, *, residual: bool) -> float:
    """The gradient of so many layers F(x) = factor x, with the input added to each layer's output or without."""
    network, wiring = FeedForward(1, 1).double(), PreNorm(1, 0.0, lambda _: nn.Identity())
    with torch.no_grad():
        for weight, value in ((network.expand.weight, abs(factor)), (network.contract.weight, np.sign(factor))):
            weight.fill_(value)
        for bias in (network.expand.bias, network.contract.bias):
            bias.zero_()
    start = torch.ones(1, 1, 1, dtype=torch.float64, requires_grad=True)
    x = start
    for _ in range(layers):
        inside = network(wiring.before(x))
        x = wiring.after(x, inside) if residual else inside
    return torch.autograd.grad(x.sum(), start)[0].item()


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


def variance() -> Trace:
    """Section 2.2.2."""
    shares = array([odds(100.0), odds(-100.0)])
    spread = array([score_variance(width, 1.0) for width in (64, 512)])
    scaled = array([score_variance(width, scale_of(width)) for width in (64, 512)])
    return Trace(
        "002-2.2.2",
        EXAMPLES["002-2.2.2"].title,
        (
            Step("variance", "The variance of q k for heads of width 64 and 512", "Var(q k) = d_k", spread, ("width",),
                 (), "openwork.nn.kernels.reference.attention_scores", EQUATION, {"width": ("64", "512")},
                 (judged("002, 2.2.2", spread, [64, 512]),)),
            Step("scaled", "The same after the division", "Var(q k / sqrt(d_k)) = 1", scaled, ("width",), (),
                 "openwork.nn.kernels.reference.attention_scores", EQUATION, {"width": ("64", "512")},
                 (judged("002, 2.2.2", scaled, [1, 1]),)),
            Step("saturation", "How a key with score 100, or -100, outweighs one with score 0", "e^100, e^-100",
                 shares, ("key",), (), SOFTMAX, EQUATION, {"key": ("100", "-100")},
                 (judged("002, 2.2.2", shares, [2.68e43, 3.72e-44], [1e41, 1e-46], "cut off, not rounded: 2.69e43"),)),
        ),
        assumed("Keys are the rows of a Hadamard matrix and their negatives: mean 0, variance 1, uncorrelated."),
    )  # fmt: skip


def mask() -> Trace:
    """Section 5.2."""
    scores = torch.tensor(SCORES, dtype=torch.float64)
    numbers, weights = array(mask_as_numbers(4)), masked_weights(scores)
    return Trace(
        "002-5.2",
        EXAMPLES["002-5.2"].title,
        (
            Step("scores", "Scaled scores, as the document gives them", "S", array(scores), SQUARE),
            Step("mask", "The mask: no position looks at a later one", "0 where key <= query, else -inf", numbers,
                 SQUARE, (), "openwork.nn.masks.causal", "Vaswani et al. 2017, section 3.2.3", {},
                 (judged("002, 5.2.1", numbers, MASK),)),
            Step("weights", "A softmax over the keys that remain", "softmax(S + mask)", weights, SQUARE,
                 ("scores", "mask"), SOFTMAX, EQUATION, {},
                 (judged("002, 5.2.2", weights, PRINTED_WEIGHTS, 0.1, "only row 1 is the softmax of the scores"),)),
        ),
    )  # fmt: skip


def residuals() -> Trace:
    """Sections 1.2.1 and 6.4.2."""
    without = array(slope(100, 0.9, residual=False))
    one = array([slope(1, factor, residual=True) for factor in (0.1, -0.1, 0.0)])
    hundred = array([slope(100, factor, residual=True) for factor in (0.1, -0.1, 0.0)])
    return Trace(
        "002-6.4.2",
        EXAMPLES["002-6.4.2"].title,
        (
            Step("without", "The gradient of 100 layers that multiply by 0.9", "0.9^100", without, (), (),
                 "openwork.nn.feedforward.FeedForward", "", {},
                 (judged("002, 6.4.2", without, 2.65e-5, 1e-7, "cut off, not rounded: 2.66e-5"),)),
            Step("one", "The gradient of one layer with a residual", "1 + F'(x)", one, ("case",), (),
                 "openwork.nn.residual.PreNorm", "", {"case": ("0.1", "-0.1", "0")},
                 (judged("002, 6.4.2", one, [1.1, 0.9, 1.0]),)),
            Step("hundred", "The same over 100 layers", "(1 + F'(x))^100", hundred, ("case",), (),
                 "openwork.nn.residual.PreNorm", "", {"case": ("0.1", "-0.1", "0")}),
        ),
        assumed("The layers are feed-forward networks of width 1 whose slope is given."),
    )  # fmt: skip


def training() -> Trace:
    """Section 7.2."""
    batches = array([sentences_a_batch(length) for length in (10, 500)])
    factors = array([paper_rate(1, 512, 1), paper_rate(4000, 1, 4000)])
    peak = array(paper_rate(4000, 512, 4000))
    places = ((4000, 14_000), (10_000, 20_000), (20_000, 30_000), (30_000, 40_000))
    falls = array([paper_rate(last, 512, 4000) / paper_rate(first, 512, 4000) for first, last in places])
    target = array(smoothed_target(0.1, 37_000)[:2])
    rate, labels = "openwork.training.schedules.paper_rate", {"span": tuple(f"{a} - {b}" for a, b in places)}
    equation = "Vaswani et al. 2017, equation 3"
    return Trace(
        "002-7.2",
        EXAMPLES["002-7.2"].title,
        (
            Step("batches", "Sentences in a batch of 25,000 tokens", "25000 / length", batches, ("length",), (),
                 "openwork.data.batching.BatchPlan", "Vaswani et al. 2017, section 5.1", {"length": ("10", "500")},
                 (judged("002, 7.2.1", batches, [2500, 50]),)),
            Step("factors", "The factors of the rate", "512^-0.5, 4000^-0.5", factors, ("factor",), (), rate, equation,
                 {"factor": ("d_model", "step")}, (judged("002, 7.2.2", factors, [0.044, 0.0158], [1e-3, 1e-4]),)),
            Step("peak", "The largest rate, at update 4,000", "512^-0.5 4000^-0.5", peak, (), (), rate, equation, {},
                 (judged("002, 7.2.2", peak, 0.000695, 1e-6, "multiplied after rounding both factors", slack=4.0),)),
            Step("falls", "By how much the rate falls in 10,000 updates", "rate(last) / rate(first)", falls, ("span",),
                 (), rate, equation, labels,
                 (judged("002, 7.2.2", falls, [0.707] * 4, 0.001, "only from 10,000 to 20,000 is it so"),)),
            Step("smoothing", "Targets of the right token and of each other one, smoothed by 0.1 over 37,000",
                 "1 - 0.1, 0.1 / (37000 - 1)", target, ("token",), (), "openwork.training.loss.chunk_cross_entropy",
                 "Szegedy et al. 2016, section 7", {"token": ("right", "other")},
                 (judged("002, 7.2.3", target, [0.9, 2.69e-6], [0.1, 1e-8], "0.1 / 36999 is 2.70e-6"),)),
        ),
    )  # fmt: skip
