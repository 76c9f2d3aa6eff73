"""Document 002's numeric examples of training, section 7.2: batches, the learning rate and label smoothing."""

import numpy as np
import torch
from torch import Tensor

from openwork.data.batching import BatchPlan, BatchSettings
from openwork.study.steps import EQUATION_3, Part, Quoted, Worked, worked
from openwork.training.loss import chunk_cross_entropy, even_share
from openwork.training.schedules import paper_rate


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


def batches_rate_smoothing() -> Worked:
    """Section 7.2."""
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
