"""The symptoms of a training that does not learn: courses made by hand, each with one fault, and healthy ones."""

from collections.abc import Iterable

import pytest

from openwork.training.loop import LoopState
from openwork.training.progress import Progress, Validation
from openwork.training.settings import TrainingSettings
from openwork.training.step import StepReport
from openwork.training.symptoms import FORGOTTEN, SYMPTOMS, WINDOW, CoachingObserver, Inspection
from training.tiny import validation

FREQUENCIES, WIDTH = 6.0, 256  # nats a token; the paper's peak for this width is 0.001
WELL = Inspection(entropy=0.6, on_padding=0.0, forced=60.0, kept=100.0)


class Watched:
    """A training that exists only in its figures."""

    def __init__(self, settings: TrainingSettings | None = None, sight: Inspection = WELL) -> None:
        self.lines: list[str] = []
        self.observer = CoachingObserver(lambda: sight, FREQUENCIES, WIDTH, self.lines.append)
        self.run = LoopState(settings or TrainingSettings(warmup=100), Progress(), [self.observer])
        self.observer.started(self.run)

    def window(self, loss: float, norm: float = 0.5, rate: float = 1e-3, skipped: bool = False) -> None:
        for _ in range(WINDOW):
            self.run.progress.step += 1
            step = self.run.progress.step
            self.observer.stepped(self.run, StepReport(step, loss, loss, norm, rate, 100, 90, 10, skipped))

    def windows(self, losses: Iterable[float], **others: float) -> None:
        for loss in losses:
            self.window(loss, **others)

    def validate(self, loss: float, chrf: float | None = 50.0) -> None:
        one: Validation = validation(self.run.progress.step, loss, chrf=chrf)
        self.run.progress.validations.append(one)
        self.observer.validated(self.run, one)

    @property
    def told(self) -> list[str]:
        """Names of the symptoms in the order in which they were reported."""
        names = {title: name for name, (_, title, *_) in SYMPTOMS.items()}
        return [name for line in self.lines for title, name in names.items() if f": {title} (" in line]


FALLING = [8.0, 6.5, 5.5, 5.0, 4.5, 4.2, 4.0, 3.8, 3.6, 3.5, 3.4, 3.3, 3.2, 3.1, 3.0, 2.9, 2.8]


def test_a_healthy_training_hears_nothing() -> None:
    watched = Watched()
    for number, loss in enumerate([*FALLING, *(2.8 + 0.4 * (n % 3) for n in range(20))]):
        watched.window(loss, norm=2.5 if number < 2 else 0.6)
        if number % 4 == 3:
            watched.validate(max(loss, 2.8) if number < len(FALLING) else 2.9, chrf=70 - 10 * loss)
    assert watched.lines == []


def test_a_small_task_learnt_to_the_end_hears_nothing() -> None:
    """Its gradients vanish because nothing is left to learn; single updates stand out then."""
    watched = Watched(sight=Inspection(0.1, 0.0, 100.0, 100.0))
    watched.windows([5.0, 2.0, 0.5, 0.1, 0.05, 0.05], norm=0.5)
    watched.windows([0.05] * 20, norm=1e-4)
    watched.window(0.06, norm=0.3)
    watched.validate(0.05, 100.0)
    assert watched.lines == []


def test_a_bold_rate_is_told_apart_from_a_loss_that_does_not_fall() -> None:
    bold, slow = Watched(TrainingSettings(warmup=1)), Watched()
    bold.windows([5.4] * 14, rate=0.02)
    slow.windows([6.2] * 22)
    assert bold.told == ["too-fast"] and "20 times the paper's peak for this width, after 1 updates" in bold.lines[0]
    assert (
        slow.told == ["stuck"]
        and "6.20 nats a token; knowing only how frequent each piece is gives 6.00" in (slow.lines[0])
    )
    # another optimiser's rates mean something else
    other = Watched(TrainingSettings(warmup=1, optimiser="sgd"))
    other.windows([6.2] * 22, rate=0.02)
    assert other.told == ["stuck"]


@pytest.mark.slow
def test_patience_while_it_warms_up() -> None:
    watched = Watched(TrainingSettings(warmup=4000))
    watched.windows([6.2] * 100, norm=20.0)
    assert watched.lines == []
    watched.windows([6.2] * 70, norm=20.0)
    assert watched.told == ["stuck", "clipped"]


def test_a_loss_that_comes_back_up() -> None:
    watched = Watched()
    watched.windows([5.0, 3.0, 2.0, 4.0])
    assert watched.lines == []  # one window may be bad luck
    watched.window(4.0)
    assert watched.told == ["risen"] and "from 2.00 up to 4.00" in watched.lines[0]
    assert [line.split(":")[0].strip() for line in watched.lines[1:]] == ["means", "try", "read"]


def test_gradients() -> None:
    exploded, vanished = Watched(), Watched()
    exploded.windows([5.0, 4.0, 3.5])
    exploded.window(4.2, norm=80.0)
    assert exploded.told == ["exploded"]
    vanished.windows([5.0, 5.0], norm=1e-5)
    assert vanished.told == ["vanished"]
    clipped = Watched(TrainingSettings(warmup=100, clip_norm=0.05))
    clipped.windows([*FALLING, *FALLING[-4:]])
    assert clipped.told == ["clipped"]
    free = Watched(TrainingSettings(warmup=100, clip_norm=0.0))
    free.windows(FALLING, norm=9.0)
    assert free.told == []


@pytest.mark.parametrize(
    ("sight", "chrf", "name"),
    [
        (Inspection(0.6, 0.2, 60.0, 100.0), 50.0, "padding"),
        (Inspection(0.99, 0.0, 30.0, 100.0), 20.0, "uniform"),
        (Inspection(0.6, 0.0, 60.0, 40.0), 50.0, "tokenizer"),
        (Inspection(0.6, 0.0, 99.0, 100.0), 10.0, "gap"),
    ],
)
def test_what_a_look_at_the_model_shows(sight: Inspection, chrf: float, name: str) -> None:
    watched = Watched(sight=sight)
    watched.windows([5.0, 4.9, 4.8, 4.7, 4.6, 4.5, 4.4, 4.3, 4.2, 4.1, *([4.0] * 10)])
    watched.validate(4.0, chrf)
    assert watched.told == [name]
    unscored = Watched(sight=sight)
    unscored.validate(4.0, None)
    assert unscored.told == ([name] if name in ("padding", "tokenizer") else [])


@pytest.mark.parametrize(("loss", "told"), [(FREQUENCIES / 2 - 0.1, []), (FREQUENCIES / 2, ["uniform"])])
def test_who_learns_all_the_same_may_look_everywhere(loss: float, told: list[str]) -> None:
    watched = Watched(sight=Inspection(0.99, 0.0, 30.0, 100.0))
    watched.windows([5.0, 4.5, 4.0, 3.5, *([loss] * 16)])  # 500 updates: before that nobody is asked
    watched.validate(loss, 20.0)
    assert watched.told == told


def test_overfitting() -> None:
    watched = Watched()
    watched.windows([5.0, 3.0, 2.0])
    for loss in (3.0, 2.5, 2.8):
        watched.validate(loss)
    assert watched.told == []
    watched.windows([1.0])
    watched.validate(2.9)
    assert watched.told == ["overfitting"]


def test_a_held_out_loss_is_compared_with_the_training_of_its_own_time() -> None:
    watched = Watched()
    watched.windows([5.0, 3.0, 2.6])
    for loss in (4.0, 2.5, 2.8, 2.9):  # worse than the best, and no further from training than 0.5
        watched.validate(loss)
    assert watched.told == []


def test_each_sign_is_told_once_until_it_has_long_gone() -> None:
    watched = Watched()
    watched.windows([3.0, 2.0, 4.0, 4.0, 4.0, 2.0, 4.0, 4.0])
    assert watched.told == ["risen"]
    watched.windows([2.0] * (FORGOTTEN + 1))
    watched.windows([4.0, 4.0])
    assert watched.told == ["risen", "risen"]


def test_updates_that_were_skipped_do_not_count() -> None:
    watched = Watched()
    watched.windows([3.0, 2.0])
    for _ in range(4):
        watched.window(float("nan"), norm=float("nan"), skipped=True)
    assert watched.lines == []
