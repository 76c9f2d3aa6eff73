"""The paper's equation 3, and its formulas of training, search and evaluation that have no number."""

from dataclasses import replace

import torch

from openwork.base.messages import msg
from openwork.decoding.scoring import length_penalty
from openwork.decoding.settings import DecodingSettings
from openwork.inspection.trace import Trace
from openwork.metrics.translation import bleu
from openwork.models.families import model_settings
from openwork.models.presets import BASE, BIG, PRESETS
from openwork.study.paper.contents import PAPER
from openwork.study.paper.exhibit import PIECES, RIGHT, Computed, exhibit, forward_trace, names_of
from openwork.study.steps import EQUATION_3, Part, made_by, worked
from openwork.training.averaging import average
from openwork.training.loss import chunk_cross_entropy, even_share, smoothed_cross_entropy
from openwork.training.schedules import make_schedule, paper_rate
from openwork.training.settings import TrainingSettings

UPDATES = (1, 400, 4_000, 16_000, 100_000)  # the warm-up's first update, tenth and end, and two on the way down
LENGTHS = (1, 5, 10, 25, 50)
CHECKPOINTS = ((0.9, -0.2), (1.1, -0.1), (1.0, 0.1), (1.2, 0.0), (0.8, 0.2))  # two weights of five checkpoints
HYPOTHESIS, REFERENCE = "the dog sat on a mat .", "the dog sat on the mat ."


@exhibit(
    "eq 3",
    (paper_rate,),
    "tests/training/test_schedules.py::test_the_papers_values",
    "tests/training/test_schedules.py::test_both_forms_are_one_curve",
    "tests/training/test_schedules.py::test_update_zero_is_refused",
    formula="lrate = d_model^-0.5 min(step_num^-0.5, step_num warmup_steps^-1.5)",
)
def _learning_rate() -> Computed:
    """The rate of Adam rises in a straight line for warmup_steps updates and then falls with the root of their number.
    The two curves meet at warmup_steps, where the rate is (d_model warmup_steps)^-0.5.

    Updates are counted from 1: at 0 the formula would be infinite.
    """
    settings = TrainingSettings()
    widths = {name: model_settings(PRESETS[name]).width for name in (BASE, BIG)}
    schedules = [make_schedule(settings.model_copy(update={"cooldown": 0}), width) for width in widths.values()]
    step = worked("learning_rate", "The rate at some updates, for the width of each of the paper's models",
                  "d_model^-0.5 min(step^-0.5, step warmup_steps^-1.5)",
                  [[rate(update) for update in UPDATES] for rate in schedules], made_by(paper_rate, EQUATION_3),
                  axes={"model": tuple(widths), "update": tuple(f"{update:,}" for update in UPDATES)})  # fmt: skip
    highest = msg(f"warmup_steps is {settings.warmup:,}, where the rate is highest.")
    return Computed(Trace("learning-rate", "The learning rate of the paper's models", (step,), (highest,)))


@exhibit(
    "formula label-smoothing",
    (even_share, smoothed_cross_entropy, chunk_cross_entropy),
    "tests/training/test_loss.py::test_by_hand",
    "tests/training/test_loss.py::test_both_forms_are_the_cross_entropy_with_their_q",
    "tests/truth/test_claims.py::test_what_label_smoothing_asks_for_is_not_the_best_perplexity",
    formula="-sum_v q(v) ln p(v), q(right) = 1 - epsilon_ls + epsilon_ls / V, q(other) = epsilon_ls / V",
)
def _label_smoothing() -> Computed:
    """The loss asks the model for a little less than certainty: epsilon_ls = 0.1 of the probability is spread evenly
    over the vocabulary. BLEU gets better by it and perplexity worse (row D3 of table 3, beside the base's), for the
    least loss is not where the right piece has everything.

    The paper gives no formula; this is that of Szegedy et al. 2016, which it cites, where the right piece has its share
    of the spread too. training.smoothing_form = "others" leaves it out.
    """
    passed = forward_trace("logits")
    logits, right = torch.from_numpy(passed.step("logits").value), torch.tensor(RIGHT)
    smoothing = TrainingSettings().label_smoothing
    share = even_share(smoothing, "vocabulary", logits.shape[-1])
    probabilities = logits.softmax(-1)
    # the loss itself makes p - q, its gradient; so what is taken from p is its q
    wanted = probabilities - chunk_cross_entropy(logits, probabilities.clone(), right[:, None], share).gradient
    sums = smoothed_cross_entropy(logits, right, smoothing)
    smoothed = made_by(smoothed_cross_entropy, f"{PAPER}, section 5.4")._replace(axes=())
    steps = (
        *passed.steps,
        worked("wanted", "What the model is to give: the right piece has almost everything, all share the rest",
               "q(v) = 1 - epsilon_ls + epsilon_ls / V if v is right, else epsilon_ls / V", wanted,
               made_by(chunk_cross_entropy, smoothed.source),
               axes={"position": names_of(RIGHT), "vocabulary": PIECES}),
        worked("smoothed", "The loss that training lowers, in nats, of all positions", "-sum q(v) ln p(v)",
               sums.smoothed.double(), smoothed, ("logits", "wanted")),
        worked("likelihood", "The same without smoothing, which perplexity is made of", "-sum ln p(right)",
               sums.likelihood.double(), smoothed, ("logits",)),
    )  # fmt: skip
    return Computed(replace(passed, steps=steps))


@exhibit(
    "formula averaging", (average,), "tests/runs/test_average.py::test_mean_by_hand", formula="(w_1 + ... + w_n) / n"
)
def _averaging() -> Computed:
    """The model that translates is the mean of the last checkpoints: of 5, written ten minutes apart, for the base
    model, of 20 for the big one. `openwork average` makes such a mean; a training makes one at its end, and keeps it if
    its loss is the lowest.
    """
    mean = average([{"weight": torch.tensor(one)} for one in CHECKPOINTS])["weight"]
    steps = (
        worked("checkpoints", "The same two weights in five checkpoints", "w_1, ..., w_n", CHECKPOINTS,
               Part(axes=("checkpoint", "weight"))),
        worked("mean", "Their mean, the weights of the model that translates", "(w_1 + ... + w_n) / n", mean.double(),
               made_by(average, f"{PAPER}, section 6.1"), ("checkpoints",), axes=("weight",)),
    )  # fmt: skip
    return Computed(Trace("averaging", "The mean of five checkpoints", steps))


@exhibit(
    "formula length-penalty",
    (length_penalty,),
    "tests/decoding/test_scoring.py::test_length_penalty_by_hand",
    "tests/decoding/test_search.py::test_the_length_penalty_can_prefer_the_less_probable_longer_target",
    "tests/decoding/test_search.py::test_full_width_is_exhaustive_search",
    formula="score = ln P(target | source) / ((5 + length) / 6)^alpha",
)
def _length_penalty() -> Computed:
    """Each further piece makes a translation less probable, so a search by probability alone likes short ones. The
    log-probability is divided by a number that grows with the length; with alpha = 0.6 and a beam of 4 the paper takes
    what it had chosen on its development set.

    The formula is Wu et al.'s, whom the paper cites. The length counts the end symbol.
    """
    alpha = DecodingSettings().length_penalty
    step = worked("penalty", "By what the log-probability of a translation of so many tokens is divided",
                  f"((5 + length) / 6)^{alpha:g}", [length_penalty(length, alpha) for length in LENGTHS],
                  made_by(length_penalty, "Wu et al. 2016, equation 14"),
                  axes={"length": tuple(map(str, LENGTHS))})  # fmt: skip
    return Computed(Trace("length-penalty", "The length penalty at the paper's alpha", (step,)))


@exhibit(
    "formula bleu",
    (bleu,),
    "tests/metrics/test_translation.py::test_bleu_by_hand",
    "tests/metrics/test_translation.py::test_a_short_corpus_pays_the_brevity_penalty",
    formula="BLEU = 100 BP (p_1 p_2 p_3 p_4)^(1/4), BP = min(1, exp(1 - reference length / length))",
)
def _bleu() -> Computed:
    """The score that tables 2 and 3 give: the share of words, pairs, threes and fours of the translation that the
    reference has as well, as a geometric mean, times a penalty for what is too short.

    How a text is cut into words changes the score by more than a point, and the paper does not say how its texts were
    cut. Ours are sacreBLEU's, with its signature, so the two cannot simply be put side by side.
    """
    score = bleu([HYPOTHESIS], [REFERENCE])
    step = worked("bleu", "BLEU of one translation with one wrong word", "100 BP (p_1 p_2 p_3 p_4)^(1/4)", score.value,
                  made_by(bleu, "Papineni et al. 2002"), axes=())  # fmt: skip
    texts = msg(f"The translation is {HYPOTHESIS!r}, the reference {REFERENCE!r}.")
    signature = msg(f"The signature says how it was computed: {score.signature}")
    return Computed(Trace("bleu", "BLEU of one sentence", (step,), (texts, signature)))
