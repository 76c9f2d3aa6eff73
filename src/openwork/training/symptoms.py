"""Signs that a training does not learn, read from figures that are there already: one line of a table each.

A sign is judged after every so many updates and after each validation, from the course that the training took.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from openwork.base.phrases import Joined
from openwork.training.loop import LoopState, Observer
from openwork.training.progress import Validation
from openwork.training.settings import TrainingSettings
from openwork.training.step import StepReport

WINDOW = 25  # updates whose mean is judged: single batches differ by their sentences
PATIENCE, BOLD_PATIENCE = 500, 300  # updates, at least, before a training is asked for a result; at a bold rate
UP_AGAIN = 1.0  # nats a token above the lowest window: three windows' noise is a tenth of it
BOLD = 4.0  # times the peak rate of the paper's schedule for this width
KNOWN, BOLD_KNOWN = 0.95, 0.85  # of the loss of whoever knows only frequencies: more is stuck; at a bold rate
LITTLE = 0.05  # nats a token
EXPLODED, CLIPPED, VANISHED = 10.0, 5.0, 1e-3  # times the usual norm; times the limit; a norm
UNIFORM = 0.98  # of the greatest entropy that attention can have
ON_PADDING = 1e-3  # share of the attention
KEPT = 70.0  # BLEU of references that went through the tokenizer
FORCED, FREE = 50.0, 1 / 3  # chrF with the right beginnings given, and the share of it that is reached without
WORSE, APART = 0.05, 0.5  # of the best validation loss; nats between training and validation


@dataclass(frozen=True)
class Sight:
    """What a look at the model showed, on some held-out sentences.

    `entropy`: of cross-attention, 0 to 1 (uniform); `on_padding`: the share of it that goes to padding. `forced`: chrF
    of the likeliest next pieces when the right beginnings are given. `kept`: BLEU of the references themselves after
    they went through the tokenizer.
    """

    entropy: float
    on_padding: float
    forced: float
    kept: float


@dataclass(frozen=True)
class Window:
    """Some updates in a row: the mean loss, the median norm of the gradient, the highest rate."""

    step: int
    likelihood: float
    norm: float
    rate: float


@dataclass
class Course:
    """The way of a training so far.

    `frequencies`: nats a token of whoever knows nothing but how frequent each piece is. `usual_rate`: the peak of the
    paper's schedule for this model.
    """

    settings: TrainingSettings
    frequencies: float
    usual_rate: float
    windows: list[Window] = field(default_factory=list)
    validations: Sequence[Validation] = ()
    sight: Sight | None = None
    _reports: list[StepReport] = field(default_factory=list)

    def note(self, report: StepReport) -> bool:
        """Takes over an update; whether a window is full with it."""
        if not report.skipped:
            self._reports.append(report)
        if len(self._reports) < WINDOW:
            return False
        few, self._reports = self._reports, []
        norm, rate = median(one.gradient_norm for one in few), max(one.learning_rate for one in few)
        self.windows.append(Window(report.step, fmean(one.likelihood for one in few), norm, rate))
        return True

    @property
    def is_due(self) -> bool:
        """Whether a healthy training would have learnt something by now."""
        patience = BOLD_PATIENCE if self.is_bold else PATIENCE
        return bool(self.windows) and self.windows[-1].step >= max(patience, self.settings.warmup + 4 * WINDOW)

    @property
    def is_bold(self) -> bool:
        """Whether the rate was far above the usual."""
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
        few, most = self.windows[-2:], (BOLD_KNOWN if self.is_bold else KNOWN) * self.frequencies
        return self.is_due and len(few) == 2 and all(one.likelihood > most for one in few)


@dataclass(frozen=True)
class Sign:
    """A line of the table: its name, what is said, what that means, what to try and to read, and who judges.

    `judge` gives the figures in words, and nothing as long as all is well.
    """

    name: str
    title: str
    meaning: str
    attempt: str
    read: str
    judge: Callable[[Course], str]


def _fast_line(course: Course) -> str:
    if not (course.is_bold and (course.has_risen or course.is_stuck)):
        return ""
    rate, warmup = max(one.rate for one in course.windows), course.settings.warmup
    return (
        f"loss {course.windows[-1].likelihood:.2f}; rate up to {rate:.1e}, {rate / course.usual_rate:.0f} times the "
        f"paper's peak for this width, after {warmup} updates of warm-up"
    )


def _risen_line(course: Course) -> str:
    if course.is_bold or not course.has_risen:
        return ""
    lowest = min(one.likelihood for one in course.windows)
    return f"from {lowest:.2f} up to {course.windows[-1].likelihood:.2f} nats a token"


def _stuck_line(course: Course) -> str:
    if course.is_bold or not course.is_stuck:
        return ""
    return (
        f"{course.windows[-1].likelihood:.2f} nats a token; knowing only how frequent each piece is gives "
        f"{course.frequencies:.2f}"
    )


def _exploded_line(course: Course) -> str:
    if len(course.windows) < 3:
        return ""
    last, usual = course.windows[-1], median(one.norm for one in course.windows[:-1])
    lowest = min(one.likelihood for one in course.windows)
    if last.norm <= EXPLODED * max(usual, VANISHED) or last.likelihood <= lowest + UP_AGAIN / 2:
        return ""
    return f"norm {last.norm:.2g}, before {usual:.2g}"


def _vanished_line(course: Course) -> str:
    few = course.windows[-2:]
    if len(few) < 2 or any(one.norm > VANISHED or one.likelihood < course.frequencies / 2 for one in few):
        return ""
    return f"norm {few[-1].norm:.1e} at a loss of {few[-1].likelihood:.2f}"


def _clipped_line(course: Course) -> str:
    few, limit = course.windows[-4:], course.settings.clip_norm
    if not (limit and course.is_due and len(few) == 4) or any(one.norm < CLIPPED * limit for one in few):
        return ""
    return f"norm {few[-1].norm:.2g}, limit {limit:g}"


def _kept_line(course: Course) -> str:
    if course.sight is None or course.sight.kept >= KEPT:
        return ""
    return f"references that went through the tokenizer have BLEU {course.sight.kept:.1f}, not 100"


def _padding_line(course: Course) -> str:
    if course.sight is None or course.sight.on_padding <= ON_PADDING:
        return ""
    return f"{course.sight.on_padding:.1%} of the attention goes to padding"


def _uniform_line(course: Course) -> str:
    if course.sight is None or not course.is_due or course.sight.entropy <= UNIFORM:
        return ""
    if course.windows[-1].likelihood < course.frequencies / 2:  # it learns all the same
        return ""
    return f"entropy {course.sight.entropy:.3f} of the greatest possible"


def _gap_line(course: Course) -> str:
    if course.sight is None or not course.validations or course.sight.forced < FORCED:
        return ""
    free = course.validations[-1].chrf
    if free is None or free >= FREE * course.sight.forced:
        return ""
    return f"chrF {course.sight.forced:.1f} with the right beginnings given, {free:.1f} without"


def _overfit_line(course: Course) -> str:
    losses = [one.loss for one in course.validations]
    if len(losses) < 3 or not course.windows:
        return ""
    best, training = min(losses), course.windows[-1].likelihood
    if min(losses[-2:]) < best * (1 + WORSE) + LITTLE or training > losses[-1] - APART:
        return ""
    return f"held-out loss {losses[-1]:.2f}, at best {best:.2f}; on training pairs {training:.2f}"


SIGNS: tuple[Sign, ...] = (
    Sign(
        "too-fast",
        "the rate is too high for the warm-up",
        "the first large steps throw the weights where no gradient leads back",
        "lower training.learning_rate (or schedule_scale), raise training.warmup, and begin anew",
        "docs/coach.md, rate; the paper, section 5.3",
        _fast_line,
    ),
    Sign(
        "risen",
        "the loss fell and has come back up",
        "the training diverges",
        "halve the rate and go on from an earlier checkpoint; look for damaged pairs with openwork data check",
        "docs/coach.md, loss; the paper, section 5.3",
        _risen_line,
    ),
    Sign(
        "stuck",
        "the loss does not fall",
        "the model has learnt how frequent pieces are, and nothing of their order or of the source",
        "openwork coach RUN.toml looks for the cause; then try another rate",
        "docs/coach.md, loss",
        _stuck_line,
    ),
    Sign(
        "exploded",
        "the gradient explodes",
        "steps have no direction any more",
        "lower the rate, raise training.warmup, set training.clip_norm = 1",
        "docs/coach.md, gradient; Pascanu et al. 2013",
        _exploded_line,
    ),
    Sign(
        "vanished",
        "the gradient has vanished",
        "the weights no longer change, and the loss is still high",
        'model.norm = "pre" for deep models; a lower rate; openwork coach RUN.toml',
        "docs/coach.md, gradient; Pascanu et al. 2013",
        _vanished_line,
    ),
    Sign(
        "clipped",
        "every update is clipped, by far",
        "training.clip_norm is below what gradients are here, so their size is lost",
        "raise training.clip_norm, or look at the scale of the first weights with openwork coach RUN.toml",
        "docs/coach.md, gradient; Pascanu et al. 2013",
        _clipped_line,
    ),
    Sign(
        "tokenizer",
        "the tokenizer loses text",
        "no translation can score higher than that",
        "openwork coach RUN.toml shows where text is lost; take another tokenizer",
        "docs/coach.md, tokenizer",
        _kept_line,
    ),
    Sign(
        "padding",
        "attention looks at padding",
        "the padding mask is dead",
        "True means may attend: look at nn/masks.py, padding, and at the lengths that the model is given",
        "docs/coach.md, masks; the paper, section 3.2.3",
        _padding_line,
    ),
    Sign(
        "uniform",
        "attention is uniform: the source is not used",
        "the decoder writes from what it has written, whatever the source says",
        "check that the pairs belong together: openwork data check; openwork coach RUN.toml; a longer warm-up",
        "docs/coach.md, attention",
        _uniform_line,
    ),
    Sign(
        "gap",
        "good with the right beginnings given, helpless without",
        "the answer is seen in training (shifted targets, a dead causal mask), or the search steps otherwise",
        "openwork coach RUN.toml, lines shift and future; openwork verify on the bundle",
        "docs/coach.md, teacher-forced and free; Bengio et al. 2015",
        _gap_line,
    ),
    Sign(
        "overfitting",
        "the training pairs are overfitted",
        "held-out pairs get worse while training pairs get better; the best checkpoint is kept",
        "more pairs, more dropout, a smaller model, or fewer updates (training.patience)",
        "docs/coach.md, overfitting",
        _overfit_line,
    ),
)


FORGOTTEN = 20  # judgements in a row without a sign after which it may be told again

PAPER_WARMUP = 4000  # updates (section 5.3 of the paper)


class CoachingObserver(Observer):
    """`look` takes a look at the model after each validation; `frequencies` as in `Course`; `width` the model's."""

    def __init__(self, look: Callable[[], Sight], frequencies: float, width: int, say: Callable[[str], None]) -> None:
        self.look = look
        self.frequencies = frequencies
        self.usual_rate = (width * PAPER_WARMUP) ** -0.5  # equation 3 of the paper at its peak
        self.say = say
        self._told: dict[str, int] = {}  # sign -> judgements since it was last seen
        self._course: Course | None = None

    def started(self, run: LoopState) -> None:
        self._course = Course(run.settings, self.frequencies, self.usual_rate)

    def stepped(self, run: LoopState, report: StepReport) -> None:
        if self._course is not None and self._course.note(report):
            self._judge(self._course, report.step)

    def validated(self, run: LoopState, validation: Validation) -> None:
        if self._course is not None:
            self._course.validations = run.progress.validations
            self._course.sight = self.look()
            self._judge(self._course, validation.step)

    def _judge(self, course: Course, step: int) -> None:
        for sign in SIGNS:
            figures = sign.judge(course)
            if figures and sign.name not in self._told:
                self._tell(sign, figures, step)
            if figures:
                self._told[sign.name] = 0
            elif sign.name in self._told:
                self._told[sign.name] += 1
                if self._told[sign.name] >= FORGOTTEN:
                    del self._told[sign.name]

    def _tell(self, sign: Sign, figures: str, step: int) -> None:
        say = self.say
        say(Joined(f"coach, update {step}: ", sign.title, " (", figures, ")"))
        say(Joined("  means: ", sign.meaning))
        say(Joined("  try: ", sign.attempt))
        say(Joined("  read: ", sign.read))
