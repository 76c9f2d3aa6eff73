"""An experiment from its file to its end: data, trials, the test set."""

import time
from collections.abc import Callable

from openwork.base.config import apply_assignments
from openwork.base.errors import OpenworkError
from openwork.experiments.claims import Claims
from openwork.experiments.experiment import Experiment, Point, placed
from openwork.experiments.file import read_experiment
from openwork.experiments.final import OnTested, score_chosen, write_importance
from openwork.experiments.folder import ExperimentFolder
from openwork.experiments.result import TouchedTestSet, read_written
from openwork.experiments.trials.trial import TrialRunner
from openwork.machine.device import choose_device
from openwork.machine.precision import choose_precision

Report = Callable[[str], None]


def begin(experiment: Experiment, folder: ExperimentFolder, report: Report) -> Experiment:
    """The experiment in its folder, which is made, or goes on where it is the same; its data are prepared.

    The precision of products is decided here, once: all trials have the same. OpenworkError where the experiment in the
    folder is another or finished, where data are missing, and where the budget is too small for a variant.
    """
    if folder.settings_file.is_file():
        _refuse_finished(folder)
    wanted = experiment.base.mapping.get("training", {}).get("precision", "auto")
    precision = choose_precision(wanted, choose_device())
    decided = apply_assignments(experiment.base, [f"training.precision={precision}"])
    folder.begin(experiment, decided)
    experiment = read_experiment(folder.settings_file)
    report("preparing the data, once for all trials")
    _prepare(experiment, folder)
    return experiment


def _refuse_finished(folder: ExperimentFolder) -> None:
    touched = read_written(TouchedTestSet, folder.test)
    if touched is not None and touched.ended is not None:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(touched.ended))
        raise OpenworkError(
            f"{folder.path}: this experiment is finished, and its test set was scored once, at {when}",
            why="settings that are changed after a look at the test set would be chosen by it",
            hint=f"its report: openwork experiment report {folder.path}; for other settings give another --out",
            code="E050",
        )


def _prepare(experiment: Experiment, folder: ExperimentFolder) -> None:
    runner, seed = TrialRunner(experiment, folder), experiment.settings.search_seed
    for variant in experiment.variants.values():
        point = Point(variant.name, None, {}, seed, experiment.settings.has_short_searches)
        settings = experiment.run_settings(point)
        runner.corpora.of(settings)
        if experiment.settings.experiment.bundle is not None:
            continue
        try:
            runner.budgeted(settings, point)
        except OpenworkError as error:
            raise placed(f"variant {variant.name}", error) from error


def finish(experiment: Experiment, folder: ExperimentFolder, report: Report, advanced: OnTested) -> None:
    """What comes after the last trial: the importance of settings, and the test set.

    OpenworkError where no trial has finished.
    """
    claims, board = Claims(experiment, folder), folder.board()
    if not any(result.state == "finished" for result in board.results.values()):
        problem = next((one.problem for one in board.results.values() if one.problem), None)
        raise OpenworkError(
            f"{folder.path}: none of the {len(board.results)} trials has finished",
            why=f"the first says: {problem.what}" if problem else "all were ended early",
            hint="mend the base, the variants or the budget, and begin with another --out",
            code="E051",
        )
    runner = TrialRunner(experiment, folder)
    for number in board.results:  # a process may have been killed before it did so
        runner.tidy(folder.trial(number))
    if experiment.settings.experiment.kind in ("search", "protocol"):
        write_importance(claims)
    score_chosen(experiment, folder, report, advanced)
