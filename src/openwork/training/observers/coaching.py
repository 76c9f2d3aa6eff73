"""Says while a training runs why it may not learn: the signs of `training/signs.py`, each once until it has gone."""

from collections.abc import Callable

from openwork.base.phrases import Joined
from openwork.training.moments import LoopState, Observer
from openwork.training.progress import Validation
from openwork.training.signs import SIGNS, Course, Sight, Sign
from openwork.training.step import StepReport

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
