"""Searches by Optuna (the extra `experiments`): its samplers, pruners, storage, and the importance of settings.

The folder of the experiment says which trials there are; the storage holds what the samplers and pruners go by. Where
the storage was lost, it is filled again from the folder.
"""

import contextlib
import logging
import random
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openwork.base.errors import OpenworkError
from openwork.base.printing import one_line
from openwork.experiments.folder import Board, TrialClaim
from openwork.experiments.plan import Search
from openwork.experiments.result import TrialResult
from openwork.experiments.search.spaces import Dimension, Range, Value
from openwork.experiments.settings import ExperimentSection, SamplerName

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.distributions import BaseDistribution
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler

PATIENCE = 60.0  # seconds that SQLite waits for another process
NUMBER = "openwork"  # attribute of a trial in the storage: its number in the folder
REPEATS = 10  # proposals that were tried before, after which one of them is taken as it is
STARTUP = 10  # trials by chance before a sampler's model is used, at most
TOP = 0.25  # share of the trials that are good, for the importance of settings
LEAST_FOR_IMPORTANCE = 8
STORAGE_CODES = ("E047", "E048")  # of a storage that cannot be used: no trial is to blame


class Studies:
    """The studies of an experiment in its storage."""

    def __init__(self, section: ExperimentSection, database: Path) -> None:
        self.section = section
        self.url = section.storage or f"sqlite:///{database.absolute()}"
        self._is_own = section.storage is None
        self._prefix = "" if self._is_own else f"{database.parent.absolute()}: "  # others may share the storage
        self._storage: Any = None

    def open(self, search: Search) -> "Study":
        """The study of a search, made if it is not there. OpenworkError for a storage that is locked or damaged."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
        with self.failures():
            self._storage = self._storage or self._opened()
            return optuna.create_study(
                storage=self._storage, study_name=f"{self._prefix}{search.study}", direction="maximize",
                pruner=make_pruner(self.section.prune), load_if_exists=True,
            )  # fmt: skip

    def _opened(self) -> Any:
        from optuna.storages import RDBStorage

        options = {"connect_args": {"timeout": PATIENCE}} if self.url.startswith("sqlite") else {}
        logging.getLogger("alembic").setLevel(logging.WARNING)
        return RDBStorage(self.url, engine_kwargs=options)

    @contextlib.contextmanager
    def failures(self) -> Iterator[None]:
        """A context in which what the storage refuses is one sentence."""
        from optuna.exceptions import StorageInternalError
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except (SQLAlchemyError, StorageInternalError, ImportError) as error:
            cause = getattr(error, "orig", None) or error.__cause__ or error
            raise self._refused(one_line(str(getattr(cause, "orig", None) or cause))) from error

    def _refused(self, why: str) -> OpenworkError:
        if "locked" in why:
            return OpenworkError(
                f"{self.url}: another program keeps the storage of this experiment locked",
                why=why,
                hint="end that program, and run the same command again: nothing is lost",
                code="E047",
            )
        return OpenworkError(
            f"{self.url}: the storage of this experiment cannot be used",
            why=why,
            hint="remove the file and run the same command again: it is filled from the trials' folders"
            if self._is_own
            else "check the URL, and whether its driver is installed and the server answers",
            code="E048",
        )

    def sync(self, study: "Study", search: Search, board: Board) -> None:
        """Brings the storage in line with the folder, after a process was killed between the two, or the file lost."""
        from optuna.trial import TrialState

        claims = {claim.number: claim for claim in board.of_study(search.study)}
        known: dict[int, Any] = {}
        for trial in study.get_trials(deepcopy=False):
            number = trial.user_attrs.get(NUMBER)
            if number in claims:
                known[number] = trial
            elif trial.state in (TrialState.RUNNING, TrialState.WAITING):
                _end(study, trial)
        for number, claim in claims.items():
            if number not in known:
                self._restore(study, search, claim, board.results.get(number))
            elif number in board.results:
                self.tell(study, number, board.results[number])

    def _restore(self, study: "Study", search: Search, claim: TrialClaim, result: TrialResult | None) -> None:
        params = dict(claim.params)
        study.enqueue_trial(params)
        trial = study.ask(distributions(search.space))
        self.number(trial, claim.number)
        if result is not None:
            self.tell(study, claim.number, result)

    def ask(self, study: "Study", search: Search, is_known: Callable[[Mapping[str, Value]], bool]) -> "Trial":
        """A trial with the sampler's next settings; such as are not known, as far as a few proposals find them.

        The random choices follow from the search's seed, the study, and how many trials there are.
        """
        from optuna.trial import TrialState

        count = len([one for one in study.get_trials(deepcopy=False) if NUMBER in one.user_attrs])
        for attempt in range(REPEATS):
            generator = random.Random(f"{search.seed} {search.study} {count} {attempt}")
            study.sampler = make_sampler(self.section.sampler, search.trials, generator.getrandbits(31))
            trial = study.ask(distributions(search.space))
            if attempt == REPEATS - 1 or not is_known(trial.params):
                return trial
            study.tell(trial, state=TrialState.FAIL)
        raise AssertionError("the last proposal is always taken")

    @staticmethod
    def ask_for(study: "Study", search: Search, params: Mapping[str, Value]) -> "Trial":
        """A trial with these settings."""
        study.enqueue_trial(dict(params))
        return study.ask(distributions(search.space))

    @staticmethod
    def number(trial: "Trial", number: int) -> None:
        """Notes which trial of the folder it is."""
        trial.set_user_attr(NUMBER, number)

    @staticmethod
    def tell(study: "Study", number: int, result: TrialResult) -> None:
        """Tells the storage what came of a trial, unless it knows."""
        from optuna.trial import TrialState

        for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            if trial.user_attrs.get(NUMBER) == number:
                if result.figure is not None:
                    study.tell(trial.number, result.figure)
                else:
                    study.tell(trial.number, state=TrialState.PRUNED if result.state == "pruned" else TrialState.FAIL)

    def find(self, study: "Study", number: int) -> "Trial | None":
        """The trial of this number that is under way, for reports of its progress."""
        import optuna
        from optuna.trial import TrialState

        for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            if trial.user_attrs.get(NUMBER) == number:
                return optuna.trial.Trial(study, trial._trial_id)
        return None

    def importance(self, study: "Study") -> dict[str, float]:
        """The share of each setting in what makes the best quarter of the trials good, by PED-ANOVA.

        Empty with too few finished trials (Watanabe et al. 2023).
        """
        from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances
        from optuna.trial import TrialState

        finished = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        if len(finished) < LEAST_FOR_IMPORTANCE or len({trial.value for trial in finished}) < 2:
            return {}
        return get_param_importances(study, evaluator=PedAnovaImportanceEvaluator(target_quantile=TOP))


def _end(study: "Study", trial: Any) -> None:
    """Ends a trial that no folder belongs to, as a failure, which samplers pass over."""
    from optuna.trial import TrialState

    if trial.state == TrialState.WAITING:
        trial = study.ask()  # takes the waiting one
    study.tell(trial.number, state=TrialState.FAIL)


def distributions(space: Mapping[str, Dimension]) -> dict[str, "BaseDistribution"]:
    """The space as Optuna has it."""
    return {key: _distribution(dimension) for key, dimension in space.items()}


def _distribution(dimension: Dimension) -> "BaseDistribution":
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if not isinstance(dimension, Range):
        return CategoricalDistribution(dimension)
    low, high, log, step = dimension.low, dimension.high, dimension.log, dimension.step
    if dimension.is_whole:
        return IntDistribution(int(low), int(high), log=log, step=int(step or 1))
    return FloatDistribution(float(low), float(high), log=log, step=None if step is None else float(step))


def make_sampler(name: SamplerName, trials: int, seed: int) -> "BaseSampler":
    """Optuna's sampler; a model is used after a quarter of the trials, ten at most."""
    from optuna import samplers

    startup = max(2, min(STARTUP, trials // 4))
    if name == "tpe":
        return samplers.TPESampler(n_startup_trials=startup, seed=seed)
    if name == "gp":
        return samplers.GPSampler(n_startup_trials=startup, seed=seed)
    return samplers.RandomSampler(seed=seed)


def make_pruner(name: str) -> "BasePruner":
    """Optuna's pruner; its steps are hundredths of a training."""
    from optuna import pruners

    if name == "median":
        return pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=20)
    if name == "halving":
        return pruners.SuccessiveHalvingPruner(min_resource=10, reduction_factor=3)
    return pruners.NopPruner()
