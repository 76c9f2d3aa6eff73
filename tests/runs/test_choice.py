"""Which weights a training keeps: every candidate is looked at, and the best one becomes the model."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from openwork.models.weights import model_weights
from openwork.runs.finish import candidates, choose_weights
from openwork.training.averaging import MovingAverage, average
from openwork.training.checkpoint import MOVING_AVERAGE, checkpoints, load_weights
from openwork.training.progress import Progress, Validation
from training.tiny import SETTINGS, Training, make_store, make_training, save_checkpoint, validation

pytestmark = pytest.mark.slow

EMA = SETTINGS.model_copy(update={"ema": 0.9, "average": 2})


@pytest.fixture
def run(tmp_path: Path) -> tuple[Training, Path, Progress]:
    """Three checkpoints of which the second is the best."""
    training, folder = make_training(make_store(tmp_path / "store"), EMA), tmp_path / "checkpoints"
    moving, progress = MovingAverage(training.model, EMA.ema), Progress()
    for steps, loss in ((2, 3.0), (4, 1.0), (6, 2.0)):
        training.go(EMA.model_copy(update={"steps": steps}), progress)
        moving.update(steps)
        progress.validations.append(validation(steps, loss))
        save_checkpoint(folder, training.model, training.optimiser, progress, moving)
    return training, folder, progress


class Judge:
    """Finds those weights best that are nearest to `wanted`."""

    def __init__(self, model: torch.nn.Module, wanted: dict[str, Tensor]) -> None:
        self.model = model
        self.wanted = wanted

    def validate(self, step: int) -> Validation:
        own = model_weights(self.model)
        return validation(step, sum((own[name] - self.wanted[name]).abs().sum().item() for name in own))


def test_the_candidates(run: tuple[Training, Path, Progress]):
    _, folder, progress = run
    one, two, three = checkpoints(folder)
    found = candidates(checkpoints(folder), EMA, progress)
    plain = [candidate.paths for candidate in found if not candidate.moving]
    assert plain == [(one, two), (two,), (two, three)]
    assert [candidate.paths for candidate in found if candidate.moving] == [(two,), (three,)]
    without = candidates(checkpoints(folder), EMA.model_copy(update={"ema": 0.0}), progress)
    assert [candidate.paths for candidate in without] == plain and not any(c.moving for c in without)


@pytest.mark.parametrize("wanted", ["best", "mean", "moving"])
def test_whichever_is_best_becomes_the_model(run: tuple[Training, Path, Progress], wanted: str):
    training, folder, progress = run
    _, two, three = checkpoints(folder)
    weights = {
        "best": load_weights(two),
        "mean": average(load_weights(path) for path in (two, three)),
        "moving": load_weights(three, MOVING_AVERAGE),
    }[wanted]
    said: list[str] = []
    judge = Judge(training.model, weights)
    chosen = choose_weights(folder, EMA, training.model, judge, progress, said.append)
    assert chosen.loss == 0.0 and len(said) == 5
    own = model_weights(training.model)
    assert all(torch.equal(own[name], weights[name]) for name in own)


def test_a_lucky_score_does_not_beat_a_lower_loss(run: tuple[Training, Path, Progress]):
    """The score of a few translations is noise where candidates are as near to each other as these."""
    training, folder, _ = run
    progress = Progress(validations=[validation(step, bleu=float(step)) for step in (2, 4, 6)])
    figures = iter([validation(6, 1.4, bleu=37.9), validation(6, 1.5, bleu=38.5)])

    class Lucky:
        def validate(self, step: int) -> Validation:
            return next(figures)

    by_score = EMA.model_copy(update={"metric": "bleu", "ema": 0.0})
    chosen = choose_weights(folder, by_score, training.model, Lucky(), progress, lambda said: None)
    assert (chosen.loss, chosen.bleu) == (1.4, 37.9)


def test_among_labels_the_score_decides(run: tuple[Training, Path, Progress]):
    """A classifier that grows too sure has a higher loss and as many right answers; of equal ones the loss decides."""
    training, folder, _ = run
    progress = Progress(validations=[validation(step, score=float(step)) for step in (2, 4, 6)])
    settings = EMA.model_copy(update={"metric": "score", "ema": 0.0})
    for figures, expected in (([(0.3, 87.5), (0.4, 88.1)], 0.4), ([(0.3, 88.1), (0.4, 88.1)], 0.3)):
        given = iter([validation(6, loss, score=score) for loss, score in figures])

        class Sure:
            def validate(self, step: int) -> Validation:
                return next(given)  # noqa: B023

        chosen = choose_weights(folder, settings, training.model, Sure(), progress, lambda said: None)
        assert chosen.loss == expected
