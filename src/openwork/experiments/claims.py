"""Claiming the next trial: one at a time, in any number of processes, and none twice."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from filelock import FileLock

from openwork.experiments.experiment import Experiment, Point
from openwork.experiments.folder import Board, ExperimentFolder, TrialClaim
from openwork.experiments.plan import PlanPart, PointList, Search, phases
from openwork.experiments.result import TrialResult, write_written
from openwork.experiments.search.spaces import Dimension, Value
from openwork.experiments.search.strategies import Grid, Guided
from openwork.experiments.settings import TRIALS
from openwork.runs.file.keys import leaves

if TYPE_CHECKING:
    from optuna import Trial

    from openwork.experiments.search.studies import Studies

ALL = 1 << 30  # trials: as many as the values make


@dataclass(frozen=True)
class Work:
    """A trial that this process carries out, and the lock that it holds until the trial is over."""

    claim: TrialClaim
    lock: FileLock


class Waiting:
    """There is nothing to begin now: what comes next depends on trials of other processes."""


class Claims:
    """Gives this process its trials."""

    def __init__(self, experiment: Experiment, folder: ExperimentFolder) -> None:
        self.experiment, self.folder = experiment, folder
        self._is_synced = False

    @cached_property
    def studies(self) -> "Studies":
        from openwork.experiments.search.studies import Studies

        return Studies(self.experiment.settings.experiment, self.folder.database)

    def next(self) -> Work | Waiting | None:
        """A trial to carry out; first those that a process left unfinished. None when all are over."""
        with self.folder.locked():
            board = self.folder.board()
            self._sync(board)
            for claim in board.open:
                if is_ready(claim, board) and (lock := self.folder.trial(claim.number).take()) is not None:
                    return Work(claim, lock)
            for parts in phases(self.experiment, board, self.search):
                for part in parts:
                    if (work := self._begin(part, board)) is not None:
                        return work
                if not all(part.is_done(board) for part in parts):
                    return Waiting()
            return None

    def reached(self, board: Board) -> list[PlanPart]:
        """The parts of all phases that are done, and of the first that is not."""
        found: list[PlanPart] = []
        for parts in phases(self.experiment, board, self.search):
            found += parts
            if not all(part.is_done(board) for part in parts):
                break
        return found

    def is_over(self, board: Board) -> bool:
        """Whether no trial is left."""
        return all(part.is_done(board) for parts in phases(self.experiment, board, self.search) for part in parts)

    def tell(self, claim: TrialClaim, result: TrialResult) -> None:
        """Tells the search of a trial what came of it."""
        if (search := self._search_of(claim)) is not None:
            with self.folder.locked(), self.studies.failures():
                self.studies.tell(self.studies.open(search), claim.number, result)

    def pruned_trial(self, claim: TrialClaim) -> "Trial | None":
        """The trial in the storage that a pruner may end early; None where none does."""
        search = self._search_of(claim)
        if search is None or self.experiment.settings.experiment.prune == "none":
            return None
        with self.studies.failures():
            return self.studies.find(self.studies.open(search), claim.number)

    def _search_of(self, claim: TrialClaim) -> Search | None:
        parts = self.reached(self.folder.board()) if claim.study is not None else ()
        return next((part for part in parts if isinstance(part, Search) and part.study == claim.study), None)

    def search(self, variant: str, group: str | None, space: dict[str, Dimension], fixed: dict[str, Value]) -> Search:
        """A search with the sampler of the experiment."""
        settings = self.experiment.settings
        sampler, trials = settings.experiment.sampler, settings.experiment.trials
        seed, short = settings.search_seed, settings.has_short_searches
        found = Search(variant, group, space, fixed, seed, short, trials or TRIALS)
        if sampler == "grid":
            return replace(found, trials=trials or ALL, strategy=Grid(space))
        if sampler == "guided":
            return replace(found, trials=trials or ALL, strategy=Guided(space, self._start(found)))
        return found

    def _start(self, search: Search) -> dict[str, Value]:
        """The settings of the run where a search begins, as far as it has them."""
        values = dict(leaves(self.experiment.run_settings(search.point({})).model_dump(mode="json")))
        return {key: values[key] for key in search.space if key in values}

    def _sync(self, board: Board) -> None:
        """Once in a process: the storage may not know what the folder knows."""
        if not self._is_synced:
            for part in self.reached(board):
                if isinstance(part, Search) and board.of_study(part.study):
                    with self.studies.failures():
                        self.studies.sync(self.studies.open(part), part, board)
            self._is_synced = True

    def _begin(self, part: PlanPart, board: Board) -> Work | None:
        if isinstance(part, Search):
            return None if part.is_full(board) else self._begin_search(part, board)
        assert isinstance(part, PointList)
        for point in part.waiting(board):
            identity = self.experiment.identity(point)
            if not board.is_under_way(identity):  # else it will be a copy
                return self._taken(self._claim(board, point, identity), board)
        return None

    def _begin_search(self, search: Search, board: Board) -> Work | None:
        params = None if search.strategy is None else search.strategy.propose(search.tried(board))
        if search.strategy is not None and params is None:
            return None
        with self.studies.failures():
            study = self.studies.open(search)
            self.studies.sync(study, search, board)
            if params is not None:
                trial = self.studies.ask_for(study, search, params)
            else:
                known = [dict(claim.params) for claim in board.of_study(search.study)]
                trial = self.studies.ask(study, search, lambda found: dict(found) in known)
            params = {key: trial.params[key] for key in search.space}
            point = search.point(params)
            claim = self._claim(board, point, self.experiment.identity(point), search.study, params)
            self.studies.number(trial, claim.number)
        return self._taken(claim, board)

    def _claim(
        self,
        board: Board,
        point: Point,
        identity: str,
        study: str | None = None,
        params: Mapping[str, Value] | None = None,
    ) -> TrialClaim:
        """Notes in the folder that the trial was started."""
        same, number = board.same_training(identity), max(board.claims, default=0) + 1
        copy_of = None if same is None else same.number
        claim = TrialClaim(
            number=number, point=point, identity=identity, study=study, params=params or {}, copy_of=copy_of,
            started=round(time.time(), 3),
        )  # fmt: skip
        trial = self.folder.trial(number)
        trial.path.mkdir(parents=True, exist_ok=True)
        write_written(trial.claim, claim)
        return claim

    def _taken(self, claim: TrialClaim, board: Board) -> Work | None:
        lock = self.folder.trial(claim.number).take() if is_ready(claim, board) else None
        return None if lock is None else Work(claim, lock)


def is_ready(claim: TrialClaim, board: Board) -> bool:
    """Whether it can be carried out now: a copy waits for what it is a copy of."""
    return claim.copy_of is None or claim.copy_of in board.results
