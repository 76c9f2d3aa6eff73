"""The paper's numbered equations."""

import numpy as np

from openwork.inspection.trace import Step, Trace
from openwork.models.families import model_settings
from openwork.models.presets import PRESETS
from openwork.models.table3 import BASE, BIG
from openwork.nn.feedforward import FeedForward
from openwork.nn.kernels import scale_of
from openwork.nn.kernels.reference import attention, attention_scores, attention_weights, softmax_over, weighted_sum
from openwork.study.paper.contents import PAPER
from openwork.study.paper.exhibit import Computed, Exhibit
from openwork.study.paper.forward import forward_trace
from openwork.training.schedules import make_schedule, paper_rate
from openwork.training.settings import TrainingSettings

ENCODER = "encoder.layers.0"
UPDATES = (1, 400, 4_000, 16_000, 100_000)  # the warm-up's beginning, tenth and end, and two on the way down


def _attention() -> Computed:
    parts = ("query", "key", "value", "products", "scores", "weights", "heads")
    return Computed(forward_trace(*(f"{ENCODER}.self_attention.{part}" for part in parts)))


def _feedforward() -> Computed:
    parts = ("attention_wiring.norm", "feedforward.expand", "feedforward.activation", "feedforward.contract")
    return Computed(forward_trace(*(f"{ENCODER}.{part}" for part in parts)))


def _learning_rate() -> Computed:
    settings = TrainingSettings()
    widths = {name: model_settings(PRESETS[name]).width for name in (BASE, BIG)}
    schedules = [make_schedule(settings.model_copy(update={"cooldown": 0}), width) for width in widths.values()]
    step = Step(
        "learning_rate",
        "The rate at some updates, for the width of each of the paper's models",
        "d_model^-0.5 min(step^-0.5, step warmup_steps^-1.5)",
        np.array([[rate(update) for update in UPDATES] for rate in schedules]),
        ("model", "update"),
        code=f"{paper_rate.__module__}.{paper_rate.__qualname__}",
        source=f"{PAPER}, equation 3",
        labels={"model": tuple(widths), "update": tuple(f"{update:,}" for update in UPDATES)},
    )
    return Computed(Trace("learning-rate", "The learning rate of the paper's models", (step,), tuple(_rate_lines())))


def _rate_lines() -> list[str]:
    return [f"warmup_steps is {TrainingSettings().warmup:,}, where the rate is highest."]


EXHIBITS = (
    Exhibit(
        "eq 1",
        "Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V",
        (
            "Each query is compared with every key by their dot product. The softmax makes weights of these scores "
            "that add up to 1, and what comes out for the query is the mean of the values with these weights.",
            "The dot product of two vectors of d_k independent numbers of variance 1 has the variance d_k; divided by "
            "sqrt(d_k) it has the variance 1 again, so that wide heads do not drive the softmax to where its gradient "
            "is almost zero. `openwork study score-scale` measures it.",
            "The reference kernel is this formula and what every faster kernel is held to. One thing is ours: a query "
            "to which everything is hidden gets zeros.",
        ),
        (attention, attention_weights, attention_scores, scale_of, softmax_over, weighted_sum),
        (
            "tests/nn/test_kernels.py::test_weights_of_one_and_e_over_one_plus_e",
            "tests/nn/test_kernels.py::test_the_scale_divides_by_the_root_of_the_width",
            "tests/nn/test_kernels.py::test_the_kernels_agree",
            "tests/nn/test_kernels.py::test_a_query_that_may_attend_to_nothing_gets_zeros",
            "tests/nn/test_backward.py::test_the_kernels_gradients_are_autograds",
        ),
        _attention,
    ),
    Exhibit(
        "eq 2",
        "FFN(x) = max(0, x W_1 + b_1) W_2 + b_2",
        (
            "After the attention each position goes through the same small network by itself: wider, from d_model = "
            "512 numbers to d_ff = 2048, the negative ones set to zero, and back to 512.",
            "Two convolutions of width one are the same calculation. Nothing is dropped inside the network, because "
            "the paper's text drops nothing there; feedforward_dropout does it for those who want it.",
        ),
        (FeedForward,),
        (
            "tests/nn/test_layers.py::test_feedforward_by_hand",
            "tests/truth/test_claims.py::test_two_convolutions_of_width_one_are_the_feed_forward_network",
        ),
        _feedforward,
    ),
    Exhibit(
        "eq 3",
        "lrate = d_model^-0.5 min(step_num^-0.5, step_num warmup_steps^-1.5)",
        (
            "The rate of Adam rises in a straight line for warmup_steps updates and then falls with the root of their "
            "number. The two curves meet at warmup_steps, where the rate is (d_model warmup_steps)^-0.5.",
            "Updates are counted from 1: at 0 the formula would be infinite.",
        ),
        (paper_rate,),
        (
            "tests/training/test_schedules.py::test_the_papers_values",
            "tests/training/test_schedules.py::test_both_forms_are_one_curve",
            "tests/training/test_schedules.py::test_update_zero_is_refused",
        ),
        _learning_rate,
    ),
)
