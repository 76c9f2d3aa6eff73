"""Which weights a finished training keeps: the best checkpoint or a mean of some, as the validation pairs say."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from openwork.base.errors import BundleError
from openwork.models.interfaces import SequenceModel
from openwork.models.weights import restore_weights
from openwork.runs.validation.validator import Validator
from openwork.training.averaging import average
from openwork.training.checkpoint import checkpoint_step, checkpoints, load_moving_average, load_weights
from openwork.training.progress import Metric, Progress, Validation
from openwork.training.settings import TrainingSettings


@dataclass(frozen=True)
class Candidate:
    """Some weights that may become the model, and where they come from."""

    paths: tuple[Path, ...]
    moving: bool = False

    def weights(self) -> Mapping[str, Tensor]:
        if self.moving:
            return load_moving_average(self.paths[-1])
        return average(load_weights(path) for path in self.paths)


def candidates(found: Sequence[Path], settings: TrainingSettings, progress: Progress) -> list[Candidate]:
    """Of these, oldest first: the best checkpoint, the mean of the last ones, the mean of those up to the best one;
    and where moving averages are kept, the last one and that of the best checkpoint."""
    count = settings.average
    best = progress.best(settings.metric)
    best_step = best.step if best is not None else progress.step
    until_best = [path for path in found if checkpoint_step(path) <= best_step]
    means = {tuple(until_best[-1:]), tuple(found[-count:]), tuple(until_best[-count:])} - {()}
    moving = {tuple(until_best[-1:]), tuple(found[-1:])} - {()} if settings.ema else set()
    return [*map(Candidate, sorted(means)), *(Candidate(paths, moving=True) for paths in sorted(moving))]


def choose_weights(
    folder: Path,
    settings: TrainingSettings,
    model: SequenceModel,
    validator: Validator,
    progress: Progress,
    say: Callable[[str], None],
) -> Validation:
    """Puts the best weights into the model, judged by the validation pairs alone.

    The metric has said where in the training to look. Among the few candidates there the loss decides: the score of a
    thousand translations moves by half a point of BLEU from one checkpoint to the next, more than these differ. But
    where labels are told their score decides: a classifier that grows too sure of itself is wrong no more often,
    while its loss rises (Guo et al. 2017, section 3).
    """
    metric = settings.metric
    results: list[tuple[Validation, Candidate]] = []
    for candidate in candidates(_whole(folder, settings, say), settings, progress):
        restore_weights(model, candidate.weights(), str(candidate.paths[0]))
        validation = validator.validate(progress.step)
        results.append((validation, candidate))
        _announce(say, candidate, metric, validation)
    by: Metric = "score" if metric == "score" else "loss"
    chosen, candidate = max(results, key=lambda result: (result[0].figure(by), -result[0].loss))
    restore_weights(model, candidate.weights(), str(candidate.paths[0]))
    return chosen


def _whole(folder: Path, settings: TrainingSettings, say: Callable[[str], None]) -> list[Path]:
    """The checkpoints that are whole; BundleError if none is."""
    whole, damaged = [], []
    for path in checkpoints(folder):
        try:
            load_weights(path)
            if settings.ema:
                load_moving_average(path)
            whole.append(path)
        except BundleError as error:
            damaged.append(error)
            say(f"passed over a damaged checkpoint: {error.what}")
    if damaged and not whole:
        raise damaged[-1]
    return whole


def _announce(say: Callable[[str], None], candidate: Candidate, metric: Metric, validation: Validation) -> None:
    step, count = checkpoint_step(candidate.paths[-1]), len(candidate.paths)
    figure, loss = abs(validation.figure(metric)), validation.loss
    if candidate.moving:
        say(f"candidate: moving average up to {step}: {metric} {figure:.4f}, loss {loss:.4f}")
    elif count == 1:
        say(f"candidate: checkpoint {step}: {metric} {figure:.4f}, loss {loss:.4f}")
    else:
        say(f"candidate: mean of {count} checkpoints up to {step}: {metric} {figure:.4f}, loss {loss:.4f}")
