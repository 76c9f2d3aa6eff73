"""Symptoms of a training that does not learn, read from figures that are there already, and their observer.

A symptom is a function with its texts. It is judged after every so many updates and after each validation, from the
history of the training.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import NamedTuple

from openwork.base.messages import msg
from openwork.base.phrases import Joined
from openwork.training.loop import LoopState, Observer
from openwork.training.progress import Validation
from openwork.training.settings import TrainingSettings
from openwork.training.step import StepReport

WINDOW = 25  # updates whose mean is judged: single batches differ by their sentences
PATIENCE, BOLD_PATIENCE = 500, 300  # updates, at least, before a training is asked for a result; at a bold rate
UP_AGAIN = 1.0  # nats a token above the lowest window: three windows' noise is a tenth of it
BOLD = 4.0  # times the peak rate of the paper's schedule for this width
KNOWN, BOLD_KNOWN = 0.95, 0.85  # of the unigram loss: more is stuck; at a bold rate
LITTLE = 0.05  # nats a token
EXPLODED, CLIPPED, VANISHED = 10.0, 5.0, 1e-3  # times the usual norm; times the limit; a norm
UNIFORM = 0.98  # of the greatest entropy that attention can have
ON_PADDING = 1e-3  # share of the attention
KEPT = 70.0  # BLEU of references that went through the tokenizer
FORCED, FREE = 50.0, 1 / 3  # chrF with the right beginnings given, and the share of it that is reached without
WORSE, APART = 0.05, 0.5  # of the best validation loss; nats between training and validation
FORGOTTEN = 20  # judgements in a row without a symptom after which it may be reported again
PAPER_WARMUP = 4000  # updates (section 5.3 of the paper)


@dataclass(frozen=True)
class Inspection:
    """Figures of the model on some held-out sentences.

    `entropy`: of cross-attention, 0 to 1 (uniform); `on_padding`: the share of it that goes to padding. `forced`: chrF
    of the likeliest next pieces when the right beginnings are given. `kept`: BLEU of the references themselves after
    they went through the tokenizer.
    """

    entropy: float
    on_padding: float
    forced: float
    kept: float


class Window(NamedTuple):
    """Some updates in a row: the mean loss, the median norm of the gradient, the highest rate."""

    step: int
    likelihood: float
    norm: float
    rate: float


@dataclass
class History:
    """The figures of a training so far.

    `unigram_loss`: nats a token of a model that knows only how frequent each piece is. `usual_rate`: the peak of the
    paper's schedule for this model.
    """

    settings: TrainingSettings
    unigram_loss: float
    usual_rate: float
    windows: list[Window] = field(default_factory=list)
    validations: Sequence[Validation] = ()
    inspection: Inspection | None = None
    _reports: list[StepReport] = field(default_factory=list)

    def note(self, report: StepReport) -> bool:
        """Takes in an update; whether a window is full with it."""
        if not report.skipped:
            self._reports.append(report)
        if len(self._reports) < WINDOW:
            return False
        few, self._reports = self._reports, []
        norm, rate = median(one.gradient_norm for one in few), max(one.learning_rate for one in few)
        self.windows.append(Window(report.step, fmean(one.likelihood for one in few), norm, rate))
        return True

    @property
    def loss(self) -> float:
        """Of the last window, in nats a token."""
        return self.windows[-1].likelihood

    @property
    def is_due(self) -> bool:
        """Whether a healthy training would have learnt something by now."""
        patience = BOLD_PATIENCE if self.is_bold else PATIENCE
        return bool(self.windows) and self.windows[-1].step >= max(patience, self.settings.warmup + 4 * WINDOW)

    @property
    def is_bold(self) -> bool:
        adam = self.settings.optimiser in ("adam", "adamw")
        return adam and max((one.rate for one in self.windows), default=0.0) > BOLD * self.usual_rate

    @property
    def has_risen(self) -> bool:
        """Whether the loss fell once and has come back up, in two windows in a row."""
        if len(self.windows) < 3:
            return False
        lowest = min(one.likelihood for one in self.windows[:-2])
        return all(one.likelihood > lowest + UP_AGAIN for one in self.windows[-2:])

    @property
    def is_stuck(self) -> bool:
        """Whether it knows little more than how frequent each piece is, and perhaps how long sentences are."""
        few, most = self.windows[-2:], (BOLD_KNOWN if self.is_bold else KNOWN) * self.unigram_loss
        return self.is_due and len(few) == 2 and all(one.likelihood > most for one in few)


Judge = Callable[[History], str]
"""The figures of a symptom in words; empty as long as all is well."""
SYMPTOMS: dict[str, tuple[Judge, str, str, str, str]] = {}


def symptom(title: str, meaning: str, attempt: str, read: str) -> Callable[[Judge], None]:
    """Enters a function NAME_line into the table: what is reported, what that means, what to try and to read."""

    def enter(judge: Judge) -> None:
        SYMPTOMS[judge.__name__.removesuffix("_line").replace("_", "-")] = judge, title, meaning, attempt, read

    return enter


@symptom(
    "the rate is too high for the warm-up",
    "the first large steps throw the weights where no gradient leads back",
    "lower training.learning_rate (or schedule_scale), raise training.warmup, and begin anew",
    "docs/coach.md, rate; the paper, section 5.3",
)
def too_fast_line(history: History) -> str:
    if not (history.is_bold and (history.has_risen or history.is_stuck)):
        return ""
    rate, warmup = max(one.rate for one in history.windows), history.settings.warmup
    return msg(
        f"loss {history.loss:.2f}; rate up to {rate:.1e}, {rate / history.usual_rate:.0f} times the "
        f"paper's peak for this width, after {warmup} updates of warm-up"
    )


@symptom(
    "the loss fell and has come back up",
    "the training diverges",
    "halve the rate and go on from an earlier checkpoint; look for damaged pairs with openwork data check",
    "docs/coach.md, loss; the paper, section 5.3",
)
def risen_line(history: History) -> str:
    if history.is_bold or not history.has_risen:
        return ""
    lowest = min(one.likelihood for one in history.windows)
    return msg(f"from {lowest:.2f} up to {history.loss:.2f} nats a token")


@symptom(
    "the loss does not fall",
    "the model has learnt how frequent pieces are, and nothing of their order or of the source",
    "openwork coach RUN.toml looks for the cause; then try another rate",
    "docs/coach.md, loss",
)
def stuck_line(history: History) -> str:
    if history.is_bold or not history.is_stuck:
        return ""
    return msg(
        f"{history.loss:.2f} nats a token; knowing only how frequent each piece is gives {history.unigram_loss:.2f}"
    )


@symptom(
    "the gradient explodes",
    "steps have no direction any more",
    "lower the rate, raise training.warmup, set training.clip_norm = 1",
    "docs/coach.md, gradient; Pascanu et al. 2013",
)
def exploded_line(history: History) -> str:
    if len(history.windows) < 3:
        return ""
    norm, usual = history.windows[-1].norm, median(one.norm for one in history.windows[:-1])
    lowest = min(one.likelihood for one in history.windows)
    if norm <= EXPLODED * max(usual, VANISHED) or history.loss <= lowest + UP_AGAIN / 2:
        return ""
    return msg(f"norm {norm:.2g}, before {usual:.2g}")


@symptom(
    "the gradient has vanished",
    "the weights no longer change, and the loss is still high",
    'model.norm = "pre" for deep models; a lower rate; openwork coach RUN.toml',
    "docs/coach.md, gradient; Pascanu et al. 2013",
)
def vanished_line(history: History) -> str:
    few = history.windows[-2:]
    if len(few) < 2 or any(one.norm > VANISHED or one.likelihood < history.unigram_loss / 2 for one in few):
        return ""
    return msg(f"norm {few[-1].norm:.1e} at a loss of {history.loss:.2f}")


@symptom(
    "every update is clipped, by far",
    "training.clip_norm is below what gradients are here, so their size is lost",
    "raise training.clip_norm, or look at the scale of the first weights with openwork coach RUN.toml",
    "docs/coach.md, gradient; Pascanu et al. 2013",
)
def clipped_line(history: History) -> str:
    few, limit = history.windows[-4:], history.settings.clip_norm
    if not (limit and history.is_due and len(few) == 4) or any(one.norm < CLIPPED * limit for one in few):
        return ""
    return msg(f"norm {few[-1].norm:.2g}, limit {limit:g}")


@symptom(
    "the tokenizer loses text",
    "no translation can score higher than that",
    "openwork coach RUN.toml shows where text is lost; take another tokenizer",
    "docs/coach.md, tokenizer",
)
def tokenizer_line(history: History) -> str:
    if history.inspection is None or history.inspection.kept >= KEPT:
        return ""
    return msg(f"references that went through the tokenizer have BLEU {history.inspection.kept:.1f}, not 100")


@symptom(
    "attention looks at padding",
    "the padding mask is dead",
    "True means may attend: look at nn/masks.py, padding, and at the lengths that the model is given",
    "docs/coach.md, masks; the paper, section 3.2.3",
)
def padding_line(history: History) -> str:
    if history.inspection is None or history.inspection.on_padding <= ON_PADDING:
        return ""
    return msg(f"{history.inspection.on_padding:.1%} of the attention goes to padding")


@symptom(
    "attention is uniform: the source is not used",
    "the decoder writes from what it has written, whatever the source says",
    "check that the pairs belong together: openwork data check; openwork coach RUN.toml; a longer warm-up",
    "docs/coach.md, attention",
)
def uniform_line(history: History) -> str:
    if history.inspection is None or history.inspection.entropy <= UNIFORM or not history.is_due:
        return ""
    if history.loss < history.unigram_loss / 2:  # it learns all the same
        return ""
    return msg(f"entropy {history.inspection.entropy:.3f} of the greatest possible")


@symptom(
    "good with the right beginnings given, helpless without",
    "the answer is seen in training (shifted targets, a dead causal mask), or the search steps otherwise",
    "openwork coach RUN.toml, lines shift and future; openwork verify on the bundle",
    "docs/coach.md, teacher-forced and free; Bengio et al. 2015",
)
def gap_line(history: History) -> str:
    if history.inspection is None or not history.validations or history.inspection.forced < FORCED:
        return ""
    forced, free = history.inspection.forced, history.validations[-1].chrf
    if free is None or free >= FREE * forced:
        return ""
    return msg(f"chrF {forced:.1f} with the right beginnings given, {free:.1f} without")


@symptom(
    "the training pairs are overfitted",
    "held-out pairs get worse while training pairs get better; the best checkpoint is kept",
    "more pairs, more dropout, a smaller model, or fewer updates (training.patience)",
    "docs/coach.md, overfitting",
)
def overfitting_line(history: History) -> str:
    losses = [one.loss for one in history.validations]
    if len(losses) < 3 or not history.windows:
        return ""
    best, training = min(losses), history.loss
    if min(losses[-2:]) < best * (1 + WORSE) + LITTLE or training > losses[-1] - APART:
        return ""
    return msg(f"held-out loss {losses[-1]:.2f}, at best {best:.2f}; on training pairs {training:.2f}")


@dataclass(eq=False)
class CoachingObserver(Observer):
    """Reports while a training runs why it may not learn: each symptom once until it has gone.

    `inspect` is called after each validation; `unigram_loss` as in `History`; `width` is the model's.
    """

    inspect: Callable[[], Inspection]
    unigram_loss: float
    width: int
    report: Callable[[str], None]
    _reported: dict[str, int] = field(default_factory=dict, init=False)  # symptom -> judgements since it was last seen
    _history: History | None = field(default=None, init=False)

    def started(self, run: LoopState) -> None:
        usual_rate = (self.width * PAPER_WARMUP) ** -0.5  # equation 3 of the paper at its peak
        self._history = History(run.settings, self.unigram_loss, usual_rate)

    def stepped(self, run: LoopState, report: StepReport) -> None:
        if self._history is not None and self._history.note(report):
            self._judge(self._history, report.step)

    def validated(self, run: LoopState, validation: Validation) -> None:
        if self._history is not None:
            self._history.validations = run.progress.validations
            self._history.inspection = self.inspect()
            self._judge(self._history, validation.step)

    def _judge(self, history: History, step: int) -> None:
        for name, (judge, title, meaning, attempt, read) in SYMPTOMS.items():
            if figures := judge(history):
                if name not in self._reported:
                    self.report(Joined(f"coach, update {step}: ", title, " (", figures, ")"))
                    self.report(Joined("  means: ", meaning))
                    self.report(Joined("  try: ", attempt))
                    self.report(Joined("  read: ", read))
                self._reported[name] = 0
            elif name in self._reported:
                self._reported[name] += 1
                if self._reported[name] >= FORGOTTEN:
                    del self._reported[name]
