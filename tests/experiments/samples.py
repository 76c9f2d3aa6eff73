"""Small experiments: their files, and trials whose results are given in place of trained."""

from collections.abc import Callable
from pathlib import Path

from journeys.command import TINY
from openwork.experiments.claims import Claims, Waiting, Work
from openwork.experiments.experiment import Experiment, Point
from openwork.experiments.file import read_experiment
from openwork.experiments.folder import ExperimentFolder, TrialClaim
from openwork.experiments.result import State, TrialProblem, TrialResult, write_written

HEAD = """
[experiment]
kind = "{kind}"
base = "base.toml"
seeds = [1, 2]
{more}

[budget]
updates = 4
"""
GRID = (
    HEAD.format(kind="search", more='sampler = "grid"')
    + '[space]\n"model.heads" = [1, 2]\n"model.dropout" = [0.0, 0.1]\n'
)
PROTOCOL = (
    HEAD.format(kind="protocol", more='sampler = "grid"')
    + """
[space]
"training.learning_rate" = [0.001, 0.01]

[[variants]]
name = "LSTM"
settings = {"model.preset" = "lstm-small"}
baseline = true

[[variants]]
name = "Transformer"
space = {"model.heads" = [1, 2]}
"""
)


def write_experiment(folder: Path, text: str, base: str = TINY) -> Path:
    """An experiment file with its base beside it."""
    (folder / "base.toml").write_text(base, encoding="utf-8")
    path = folder / "trying.toml"
    path.write_text(text, encoding="utf-8")
    return path


def begun(folder: Path, text: str) -> tuple[Experiment, ExperimentFolder]:
    """The experiment of such a file, in a folder of its own, without its data."""
    experiment = read_experiment(write_experiment(folder, text))
    place = ExperimentFolder(folder / "trying")
    place.begin(experiment, experiment.base)
    return read_experiment(place.settings_file), place


def end(claims: Claims, work: Work, figure: float | None, state: State = "finished") -> TrialResult:
    """Ends a trial with a BLEU, or as failed without one."""
    claim, point = work.claim, work.claim.point
    problem = None if figure is not None else TrialProblem(code="E007", what="not enough memory")
    result = TrialResult(
        number=claim.number, variant=point.variant, group=point.group, settings=point.settings, seed=point.seed,
        state="failed" if problem else state, metric="bleu", problem=problem, validation={"bleu": figure},
        copy_of=claim.copy_of, short=point.short,
    )  # fmt: skip
    write_written(claims.folder.trial(claim.number).result, result)
    claims.tell(claim, result)
    work.lock.release()
    return result


def carried_out(
    experiment: Experiment, folder: ExperimentFolder, figure: Callable[[Point], float | None], most: int = 1000
) -> list[TrialClaim]:
    """The trials of an experiment in the order in which one process carries them out, `most` of them at most."""
    claims, found = Claims(experiment, folder), []
    while len(found) < most and (work := claims.next()) is not None:
        assert not isinstance(work, Waiting), "one process never waits for itself"
        found.append(work.claim)
        end(claims, work, figure(work.claim.point))
    return found
