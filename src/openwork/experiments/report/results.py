"""What a report says an experiment compares: its trials by variant and settings, each with all its seeds."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openwork.base.errors import DataError
from openwork.base.messages import msg
from openwork.experiments.file import read_settings
from openwork.experiments.folder import experiment_folder
from openwork.experiments.result import TouchedTestSet, TrialResult, read_json, read_written
from openwork.experiments.search.spaces import Value, setting_text
from openwork.experiments.settings import ExperimentSettings

METRICS = {"bleu": "BLEU", "chrf": "chrF2", "exact": msg("exact match"), "loss": msg("loss"), "score": msg("score")}


@dataclass(frozen=True)
class Arm:
    """What is compared: the trials of one variant with the same settings, which differ by their seed alone."""

    name: str
    variant: str
    group: str | None
    settings: Mapping[str, Value]
    trials: tuple[TrialResult, ...]

    @cached_property
    def counted(self) -> tuple[TrialResult, ...]:
        """The trials that count, by seed: the last of each seed, for the same seed twice is no second observation."""
        return tuple({trial.seed: trial for trial in self.trials if trial.score is not None}.values())

    @cached_property
    def scores(self) -> list[float]:
        """The validation figures of the trials that count, by seed."""
        return [*self.figures(tested=False).values()]

    @cached_property
    def test_scores(self) -> list[float]:
        """The corpus scores of the test set, by seed."""
        return [*self.figures(tested=True).values()]

    def figures(self, *, tested: bool) -> dict[int, float]:
        """Seed -> validation figure, or score of the test set where there is one."""
        found = {trial.seed: trial.tested if tested else trial.score for trial in self.counted}
        return {seed: score for seed, score in found.items() if score is not None}

    @property
    def trainings(self) -> tuple[int, ...]:
        """The trials that count, by the number under which each was really trained."""
        return tuple(trial.number if trial.copy_of is None else trial.copy_of for trial in self.counted)

    @property
    def sentences(self) -> NDArray[np.float64] | None:
        """Scores (seeds, sentences) of the test set; None unless two seeds have them of the same sentences."""
        return _stacked([trial.test.sentences for trial in self.counted if trial.test])

    @property
    def statistics(self) -> NDArray[np.float64] | None:
        """Statistics (seeds, sentences, numbers) of the test set; None unless two seeds have them."""
        return _stacked([trial.test.statistics for trial in self.counted if trial.test])


@dataclass(frozen=True)
class ExperimentResults:
    """All that was read; `test` is what is known of the use of the test set."""

    settings: ExperimentSettings
    trials: tuple[TrialResult, ...]
    test: TouchedTestSet | None = None
    importance: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # by study

    @property
    def kind(self) -> str:
        """search, factors, protocol or heads."""
        return self.settings.experiment.kind

    @property
    def is_searched(self) -> bool:
        """Whether it chooses settings by their validation figures."""
        return self.kind in ("search", "protocol")

    @property
    def choosing_seed(self) -> int | None:
        """The seed of trials that count by whose validation figures settings were chosen; None where there is none."""
        is_free = not self.is_searched or self.settings.has_short_searches
        return None if is_free else self.settings.search_seed

    @property
    def metric(self) -> str:
        """What trials are compared by."""
        return self.settings.experiment.metric

    @property
    def metric_name(self) -> str:
        """The metric as it is written."""
        return METRICS[self.metric]

    @property
    def sign(self) -> int:
        """1 where higher is better, -1 for a loss."""
        return -1 if self.metric == "loss" else 1

    @property
    def budget(self) -> dict[str, Any]:
        """What each trial could cost."""
        return self.settings.budget.model_dump(exclude_none=True) if self.settings.budget else {}

    @property
    def baselines(self) -> tuple[str, ...]:
        """The variants that are marked as baselines."""
        return tuple(one.name for one in self.settings.variants if one.baseline)

    def changes(self, arm: Arm) -> dict[str, Value]:
        """All that an arm changes of the base, by its variant and by its own settings."""
        variants = {one.name: one.settings for one in self.settings.variants}
        return {**variants.get(arm.variant, {}), **arm.settings}

    @cached_property
    def arms(self) -> tuple[Arm, ...]:
        """The arms in the order of their first trials, each with a name that no other has."""
        kept: dict[tuple[str, str | None, str], list[TrialResult]] = {}
        for trial in self.trials:
            key = (trial.variant, trial.group, json.dumps(dict(trial.settings), sort_keys=True))
            kept.setdefault(key, []).append(trial)
        return tuple(
            Arm(name, trials[0].variant, trials[0].group, trials[0].settings, tuple(sorted(trials, key=_by_seed)))
            for name, trials in zip(_names([*kept.values()], self.is_searched), kept.values(), strict=True)
        )

    @cached_property
    def distinct(self) -> tuple[Arm, ...]:
        """The arms without those that are the same trainings as an earlier one, under another name."""
        return tuple({arm.trainings: arm for arm in reversed(self.arms)}.values())[::-1]

    @cached_property
    def compared(self) -> tuple[Arm, ...]:
        """The arms that have the figures of two seeds or more, which can be compared."""
        return tuple(arm for arm in self.arms if len(arm.scores) > 1)


def read_results(path: Path) -> ExperimentResults:
    """The results in an experiment's folder, trials by number.

    ConfigError: there is no experiment. DataError: a file is damaged, or the trials cannot be compared with each other.
    """
    folder = experiment_folder(path)
    trials = tuple(folder.results())
    check_comparable(trials)
    test = read_written(TouchedTestSet, folder.test)
    return ExperimentResults(
        read_settings(folder.settings_file)[0], trials, test, _by_study(read_json(folder.importance) or {})
    )


def check_comparable(trials: Iterable[TrialResult]) -> None:
    """DataError unless all finished trials were scored by the same metric, on the same data and the same pieces."""
    finished = [trial for trial in trials if trial.state == "finished"]
    tested = [trial for trial in finished if trial.test is not None]
    for name, group, value in (
        (msg("the metric"), finished, lambda trial: trial.metric),
        (msg("the metric's signature"), finished, lambda trial: trial.signature),
        (msg("the tokenizers"), finished, lambda trial: trial.tokenizers),
        (msg("the data"), finished, lambda trial: trial.data),
        (msg("the metric's signature on the test set"), tested, lambda trial: trial.test.signature),
        (msg("the number of sentences of the test set"), tested, lambda trial: len(trial.test.sentences)),
    ):
        for one, other in pairwise(group):
            if value(one) != value(other):
                raise DataError(
                    f"trials {one.number} and {other.number} cannot be compared: {name} differs",
                    why=f"{value(one)} against {value(other)}",
                    hint="run them anew with the same metric, tokenizers and data, in an experiment of their own",
                    code="D139",
                )


def _by_study(importance: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    shares = {
        study: {key: float(share) for key, share in values.items() if isinstance(share, int | float)}
        for study, values in importance.items()
        if isinstance(values, Mapping)
    }
    return {study: values for study, values in shares.items() if values}


def _stacked(rows: list[tuple[Any, ...]]) -> NDArray[np.float64] | None:
    if len(rows) < 2 or not rows[0] or len({len(row) for row in rows}) > 1:
        return None
    try:
        found = np.array(rows, np.float64)
    except ValueError:  # of different lengths inside
        return None
    return found if np.isfinite(found).all() else None


def _by_seed(trial: TrialResult) -> tuple[int, int]:
    return trial.seed, trial.number


def _names(cells: list[list[TrialResult]], is_searched: bool) -> list[str]:
    """A name for the trials of each arm: variant and group, and settings where these do not tell it from others.

    The best of a search, which alone of its variant and group has several seeds, keeps the short name.
    """
    several = len({trials[0].variant for trials in cells}) > 1
    many = [len({trial.seed for trial in trials}) > 1 for trials in cells]
    groups = [(trials[0].variant, _group(trials[0])) for trials in cells]
    names = []
    for (variant, group), has_many, trials in zip(groups, many, cells, strict=True):
        alike = [other for at, other in zip(groups, many, strict=True) if at == (variant, group)]
        settings = [setting_text({key.rpartition(".")[2]: value}) for key, value in trials[0].settings.items()]
        is_told = len(alike) == 1 or (is_searched and has_many and sum(alike) == 1)
        inside = ", ".join([*([group] if group else []), *([] if is_told else settings)])
        names.append(f"{variant} ({inside})" if several and inside else inside or variant)
    repeated = {name for name in names if names.count(name) > 1}
    pairs = zip(names, cells, strict=True)
    return [f"{name} ({trials[0].number})" if name in repeated else name for name, trials in pairs]


def _group(trial: TrialResult) -> str:
    """The group, unless it is only the name of the setting that is varied."""
    return "" if trial.group in trial.settings else trial.group or ""
