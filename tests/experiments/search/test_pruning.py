"""Trainings that promise little are ended early, as Optuna's pruner decides."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from openwork.experiments.search.pruning import Pruned, PruningObserver
from openwork.experiments.search.studies import make_pruner
from openwork.training.progress import Progress, Validation

optuna = pytest.importorskip("optuna", reason="needs the extra experiments")


def validation(step: int, bleu: float) -> Validation:
    return Validation(step, 1.0, 2.0, bleu=bleu)


def trained(study: Any, figures: list[float], steps: int = 10) -> int:
    """The validations that were made of so many, one an update."""
    trial, settings = study.ask(), SimpleNamespace(steps=steps, metric="bleu")
    run: Any = SimpleNamespace(settings=settings, progress=Progress())
    observer = PruningObserver(trial, nullcontext)
    for step, figure in enumerate(figures, start=1):
        try:
            observer.validated(run, validation(step, figure))
        except Pruned as pruned:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            assert pruned.validation.bleu == figure
            return step
    study.tell(trial, figures[-1])
    return len(figures)


def test_the_median_ends_what_is_behind_half_of_the_others():
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", pruner=make_pruner("median"))
    for level in (10.0, 20.0, 30.0):
        assert trained(study, [level + step for step in range(10)]) == 10
    assert trained(study, [5.0] * 10) == 2, "before a fifth nothing is judged"
    assert trained(study, [25.0 + step for step in range(10)]) == 10


def test_the_last_validation_ends_nothing():
    study = optuna.create_study(direction="maximize", pruner=make_pruner("median"))
    for _ in range(4):
        trained(study, [30.0] * 10)
    assert trained(study, [30.0] * 9 + [0.0]) == 10


@pytest.mark.parametrize(("name", "kind"), [("none", "NopPruner"), ("halving", "SuccessiveHalvingPruner")])
def test_pruners_by_name(name: str, kind: str):
    assert type(make_pruner(name)).__name__ == kind
