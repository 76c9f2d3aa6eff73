"""Formulas of the paper's training, search and evaluation: label smoothing, averaging, length penalty, BLEU."""

import numpy as np
import torch
from torch import Tensor

from openwork.decoding.scoring import length_penalty
from openwork.decoding.settings import DecodingSettings
from openwork.inspection.trace import Step, Trace
from openwork.metrics.translation import bleu
from openwork.study.paper.contents import PAPER
from openwork.study.paper.exhibit import Computed, Exhibit
from openwork.study.paper.forward import RIGHT, WORDS, forward_trace, names_of
from openwork.training.averaging import average
from openwork.training.loss import chunk_cross_entropy, even_share, smoothed_cross_entropy
from openwork.training.settings import TrainingSettings

LENGTHS = (1, 5, 10, 25, 50)
CHECKPOINTS = ((0.9, -0.2), (1.1, -0.1), (1.0, 0.1), (1.2, 0.0), (0.8, 0.2))  # two weights of five checkpoints
HYPOTHESIS, REFERENCE = "the dog sat on a mat .", "the dog sat on the mat ."


def _label_smoothing() -> Computed:
    passed = forward_trace("logits")
    logits, right = torch.from_numpy(passed.step("logits").value), torch.tensor(RIGHT)
    smoothing = TrainingSettings().label_smoothing
    share = even_share(smoothing, "vocabulary", logits.shape[-1])
    probabilities = logits.softmax(-1)
    # the loss itself makes p - q, its gradient; so what is taken from p is its q
    wanted = probabilities - chunk_cross_entropy(logits, probabilities.clone(), right[:, None], share).gradient
    sums = smoothed_cross_entropy(logits, right, smoothing)
    place = f"{smoothed_cross_entropy.__module__}.{smoothed_cross_entropy.__qualname__}"
    vocabulary = names_of(range(len(WORDS) + 4))
    labels = {"position": names_of(RIGHT), "vocabulary": vocabulary}
    steps = (
        *passed.steps,
        Step(
            "wanted",
            "What the model is to give: the right piece has almost everything, all share the rest",
            "q(v) = 1 - epsilon_ls + epsilon_ls / V if v is right, else epsilon_ls / V",
            wanted.numpy(),
            ("position", "vocabulary"),
            code=f"{chunk_cross_entropy.__module__}.{chunk_cross_entropy.__qualname__}",
            source=f"{PAPER}, section 5.4",
            labels=labels,
        ),
        _number("smoothed", "The loss that training lowers, in nats, of all positions", "-sum q(v) ln p(v)",
                sums.smoothed, place, ("logits", "wanted")),
        _number("likelihood", "The same without smoothing, which perplexity is made of", "-sum ln p(right)",
                sums.likelihood, place, ("logits",)),
    )  # fmt: skip
    return Computed(Trace(passed.name, passed.title, steps, passed.assumptions))


def _number(name: str, title: str, equation: str, value: Tensor, code: str, inputs: tuple[str, ...]) -> Step:
    return Step(name, title, equation, value.double().numpy(), (), inputs, code, f"{PAPER}, section 5.4")


def _averaging() -> Computed:
    checkpoints = [{"weight": torch.tensor(one)} for one in CHECKPOINTS]
    given = Step(
        "checkpoints",
        "The same two weights in five checkpoints",
        "w_1, ..., w_n",
        np.array(CHECKPOINTS),
        ("checkpoint", "weight"),
    )
    mean = Step(
        "mean",
        "Their mean, the weights of the model that translates",
        "(w_1 + ... + w_n) / n",
        average(checkpoints)["weight"].double().numpy(),
        ("weight",),
        ("checkpoints",),
        f"{average.__module__}.{average.__qualname__}",
        f"{PAPER}, section 6.1",
    )
    return Computed(Trace("averaging", "The mean of five checkpoints", (given, mean)))


def _length_penalty() -> Computed:
    alpha = DecodingSettings().length_penalty
    step = Step(
        "penalty",
        "By what the log-probability of a translation of so many tokens is divided",
        f"((5 + length) / 6)^{alpha:g}",
        np.array([length_penalty(length, alpha) for length in LENGTHS]),
        ("length",),
        code=f"{length_penalty.__module__}.{length_penalty.__qualname__}",
        source="Wu et al. 2016, equation 14",
        labels={"length": tuple(map(str, LENGTHS))},
    )
    return Computed(Trace("length-penalty", "The length penalty at the paper's alpha", (step,)))


def _bleu() -> Computed:
    score = bleu([HYPOTHESIS], [REFERENCE])
    step = Step(
        "bleu",
        "BLEU of one translation with one wrong word",
        "100 BP (p_1 p_2 p_3 p_4)^(1/4)",
        np.array(score.value),
        (),
        code=f"{bleu.__module__}.{bleu.__qualname__}",
        source="Papineni et al. 2002",
    )
    return Computed(Trace("bleu", "BLEU of one sentence", (step,), tuple(_bleu_lines(score.signature))))


def _bleu_lines(signature: str) -> list[str]:
    return [
        f"The translation is {HYPOTHESIS!r}, the reference {REFERENCE!r}.",
        f"The signature says how it was computed: {signature}",
    ]


EXHIBITS = (
    Exhibit(
        "formula label-smoothing",
        "-sum_v q(v) ln p(v), q(right) = 1 - epsilon_ls + epsilon_ls / V, q(other) = epsilon_ls / V",
        (
            "The loss asks the model for a little less than certainty: epsilon_ls = 0.1 of the probability is spread "
            "evenly over the vocabulary. BLEU gets better by it and perplexity worse (row D3 of table 3, beside the "
            "base's), for the least loss is not where the right piece has everything.",
            "The paper gives no formula; this is that of Szegedy et al. 2016, which it cites, where the right piece "
            'has its share of the spread too. training.smoothing_form = "others" leaves it out.',
        ),
        (even_share, smoothed_cross_entropy, chunk_cross_entropy),
        (
            "tests/training/test_loss.py::test_by_hand",
            "tests/training/test_loss.py::test_both_forms_are_the_cross_entropy_with_their_q",
            "tests/truth/test_claims.py::test_what_label_smoothing_asks_for_is_not_the_best_perplexity",
        ),
        _label_smoothing,
    ),
    Exhibit(
        "formula averaging",
        "(w_1 + ... + w_n) / n",
        (
            "The model that translates is the mean of the last checkpoints: of 5, written ten minutes apart, for the "
            "base model, of 20 for the big one. `openwork average` makes such a mean; a training makes one at its end, "
            "and keeps it if its loss is the lowest.",
        ),
        (average,),
        ("tests/runs/test_average.py::test_mean_by_hand",),
        _averaging,
    ),
    Exhibit(
        "formula length-penalty",
        "score = ln P(target | source) / ((5 + length) / 6)^alpha",
        (
            "Each further piece makes a translation less probable, so a search by probability alone likes short ones. "
            "The log-probability is divided by a number that grows with the length; with alpha = 0.6 and a beam of 4 "
            "the paper takes what it had chosen on its development set.",
            "The formula is Wu et al.'s, whom the paper cites. The length counts the end symbol.",
        ),
        (length_penalty,),
        (
            "tests/decoding/test_scoring.py::test_length_penalty_by_hand",
            "tests/decoding/test_search.py::test_the_length_penalty_can_prefer_the_less_probable_longer_target",
            "tests/decoding/test_search.py::test_full_width_is_exhaustive_search",
        ),
        _length_penalty,
    ),
    Exhibit(
        "formula bleu",
        "BLEU = 100 BP (p_1 p_2 p_3 p_4)^(1/4), BP = min(1, exp(1 - reference length / length))",
        (
            "The score that tables 2 and 3 give: the share of words, pairs, threes and fours of the translation that "
            "the reference has as well, as a geometric mean, times a penalty for what is too short.",
            "How a text is cut into words changes the score by more than a point, and the paper does not say how its "
            "texts were cut. Ours are sacreBLEU's, with its signature, so the two cannot simply be put side by side.",
        ),
        (bleu,),
        (
            "tests/metrics/test_translation.py::test_bleu_by_hand",
            "tests/metrics/test_translation.py::test_a_short_corpus_pays_the_brevity_penalty",
        ),
        _bleu,
    ),
)
