"""Carrying out a trial: an ordinary run, a copy of one, or a trained model without one of its heads."""

import math
import shutil
import time
import traceback
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path

import torch

from openwork.base.errors import ConfigError, OpenworkError, wants_memory
from openwork.base.files import atomic_write_text
from openwork.base.outputs import RUN
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.checks.doctor import processor_name
from openwork.experiments.claims import Claims, Work
from openwork.experiments.experiment import Experiment, Point
from openwork.experiments.folder import ExperimentFolder, TrialClaim, TrialFolder
from openwork.experiments.heads import HEAD
from openwork.experiments.plan import WHOLE
from openwork.experiments.result import TrialProblem, TrialResult, write_written
from openwork.experiments.search.pruning import Pruned, PruningObserver
from openwork.experiments.search.studies import STORAGE_CODES
from openwork.experiments.trials.budget import batches_of, cost_in, with_budget
from openwork.experiments.trials.corpora import Corpora, link_tree
from openwork.inference.attention_maps.removal import without_head
from openwork.machine.available import cores
from openwork.machine.precision import choose_precision
from openwork.metrics.translation import chrf
from openwork.runs.assembly import make_validator
from openwork.runs.corpus import RunCorpus
from openwork.runs.file.settings import RunSettings
from openwork.runs.length import MinutesBudget, with_budget_of_then
from openwork.runs.train import train_bundle
from openwork.training.loop import Observer
from openwork.training.progress import Progress, Validation

FIGURES = ("loss", "perplexity", "bleu", "chrf", "exact", "score")
TRACEBACK = "traceback.txt"
NOT_COPIED = (".lock", "checkpoints")  # of a run's files: nobody trains a copy


class TrialRunner:
    """Carries out trials of an experiment in this process. `watchers` observe each training."""

    def __init__(self, experiment: Experiment, folder: ExperimentFolder, watchers: Sequence[Observer] = ()) -> None:
        self.experiment, self.folder, self.watchers = experiment, folder, watchers
        self.corpora = Corpora(folder.corpora)
        self.claims = Claims(experiment, folder)
        self._loaded: tuple[Path, Bundle] | None = None

    @cached_property
    def machine(self) -> str:
        """This machine in words."""
        return f"{processor_name()}, {cores()} cores, torch {torch.__version__}"

    def carry_out(self, work: Work) -> TrialResult | None:
        """The result of the trial, which its folder and the storage have then; None where it was interrupted.

        An error of the trial is its result; one of the storage is raised.
        """
        try:
            return self._recorded(work.claim, self.folder.trial(work.claim.number))
        finally:
            work.lock.release()

    def _recorded(self, claim: TrialClaim, trial: TrialFolder) -> TrialResult | None:
        try:
            found = self._result(claim, trial)
        except OpenworkError as error:
            if error.code in STORAGE_CODES:
                raise
            found = self._failed(claim, error, trial)
        except Exception as error:
            found = self._failed(claim, _unexpected(error, trial.path), trial)
        if found is not None:
            write_written(trial.result, found)
            self.claims.tell(claim, found)
            self.tidy(trial)
        return found

    def tidy(self, trial: TrialFolder) -> None:
        """Removes the checkpoints of a trial that is over."""
        if not self.experiment.settings.experiment.keep_checkpoints:
            shutil.rmtree(trial.run.checkpoints, ignore_errors=True)

    def budgeted(self, settings: RunSettings, point: Point) -> tuple[RunSettings, MinutesBudget | None]:
        """The run of the trial with its budget."""
        given = {**self.experiment.variant(point.variant).settings, **point.settings}
        kept = [key.removeprefix("training.") for key in given if key.startswith("training.")]
        return with_budget(settings, self.experiment.budget_of(point), self.corpora.of(settings), kept)

    def _result(self, claim: TrialClaim, trial: TrialFolder) -> TrialResult | None:
        if claim.copy_of is not None:
            return self._copied(claim, trial)
        bundle = self.experiment.settings.experiment.bundle
        if HEAD in claim.point.settings or (bundle is not None and claim.point.variant == WHOLE):
            return self._scored(claim)
        return self._trained(claim, trial)

    def _trained(self, claim: TrialClaim, trial: TrialFolder) -> TrialResult | None:
        point = claim.point
        run = self.experiment.run_settings(point)
        corpus = self.corpora.of(run)
        settings, minutes = self.budgeted(run, point)
        if minutes is not None:
            then = with_budget_of_then(trial.run, settings, minutes.minutes)
            settings, minutes = (settings, minutes) if then is None else (then, None)
        if trial.run.is_finished:  # killed before the result was written: the bundle is made again from the checkpoints
            shutil.rmtree(trial.run.bundle)
        watchers = [self.corpora.link(run, trial.path), *self._pruning(claim), *self.watchers]
        try:
            outcome = train_bundle(
                settings, trial.path, lambda line: None, watchers, budget=minutes, corpus=corpus
            )  # fmt: skip
        except Pruned as pruned:
            found = self._measured(claim, settings, corpus, pruned.validation, pruned.progress)
            return found.model_copy(update={"state": "pruned"})
        if outcome.bundle is None or outcome.chosen is None:
            return None
        return self._measured(claim, settings, corpus, outcome.chosen, outcome.progress)

    def _pruning(self, claim: TrialClaim) -> list[Observer]:
        trial = self.claims.pruned_trial(claim)
        return [] if trial is None else [PruningObserver(trial, self.claims.studies.failures)]

    def _copied(self, claim: TrialClaim, trial: TrialFolder) -> TrialResult:
        """The same training is not made twice: its files get second names here, and cost nothing."""
        assert claim.copy_of is not None
        source, found = self.folder.trial(claim.copy_of), self.folder.board().results[claim.copy_of]
        for name in RUN:
            if name not in NOT_COPIED and (source.path / name).exists():
                link_tree(source.path / name, trial.path / name)
        kept = ("number", "variant", "group", "settings", "seed", "started", "ended", "copy_of", "short")
        named = self._named(claim)
        free = dict.fromkeys(("seconds", "processor_seconds", "flops"), 0.0)
        return found.model_copy(update={key: getattr(named, key) for key in kept} | free)

    def _scored(self, claim: TrialClaim) -> TrialResult:
        """The trained model, whole or without a head, scored on the validation pairs."""
        point, before, used = claim.point, time.time(), time.process_time()
        settings = self.experiment.run_settings(point)
        corpus, bundle = self.corpora.of(settings), self._bundle(point.seed)
        if bundle.tokenizers.fingerprint != corpus.tokenizers.fingerprint:
            raise ConfigError(
                f"{self._bundle_path(point.seed)}: this model has other pieces than its run's data gives now",
                why="so the validation pairs are others than those that it was trained with",
                hint="bring the data back, or train the model again",
                code="C141",
            )
        precision = choose_precision(settings.training.precision, bundle.model.output_weight.device)
        validator, head = make_validator(settings, corpus, bundle.model, precision), point.settings.get(HEAD)
        with without_head(bundle.model, str(head)) if head is not None else nullcontext():
            found = validator.validate(0)
        settings = settings.model_copy(update={"model": bundle.settings.model})
        measured = self._measured(claim, settings, corpus, found, Progress())
        took = {"seconds": time.time() - before, "processor_seconds": time.process_time() - used}
        return measured.model_copy(update={name: round(seconds, 3) for name, seconds in took.items()})

    def _bundle_path(self, seed: int) -> Path:
        """The trained model that heads are removed from."""
        if (named := self.experiment.settings.experiment.bundle) is not None:
            return Path(named)
        whole = self.folder.board().best(WHOLE, None, seed)
        assert whole is not None, "heads are removed from models that have finished"
        return self.folder.trial(whole.number).path

    def _bundle(self, seed: int) -> Bundle:
        path = self._bundle_path(seed)
        if self._loaded is None or self._loaded[0] != path:
            self._loaded = path, load_bundle(path)
        return self._loaded[1]

    def _measured(
        self, claim: TrialClaim, settings: RunSettings, corpus: RunCorpus, chosen: Validation, progress: Progress
    ) -> TrialResult:
        cost = cost_in(settings, corpus, batches_of(settings, corpus))
        validating = sum(validation.seconds for validation in progress.validations)
        figures = {name: _finite(getattr(chosen, name)) for name in FIGURES}
        measured = {
            "validation": figures, "signature": self._signature(chosen), "weights": cost.weights,
            "tokenizers": corpus.tokenizers.fingerprint, "data": corpus.train.fingerprint,
            "updates": progress.step, "target_tokens": progress.target_tokens,
            "seconds": round(progress.seconds + validating, 3),
            "processor_seconds": round(progress.processor_seconds, 3),
            "flops": cost.training_flops * progress.target_tokens,
        }  # fmt: skip
        return self._named(claim).model_copy(update=measured)

    def _signature(self, chosen: Validation) -> str:
        """How the figure was computed that trials are compared by, as sacreBLEU says it; empty of other figures."""
        match self.experiment.settings.experiment.metric:
            case "bleu":
                return chosen.signature
            case "chrf":
                return chrf(["a"], ["a"]).signature
            case _:
                return ""

    def _failed(self, claim: TrialClaim, error: OpenworkError, trial: TrialFolder) -> TrialResult:
        problem, made = TrialProblem(code=error.code, what=error.what, why=error.why), trial.made
        took = {"updates": made.updates, "seconds": round(made.seconds + made.validating, 3)}
        return self._named(claim).model_copy(update={"state": "failed", "problem": problem, **took})

    def _named(self, claim: TrialClaim) -> TrialResult:
        """A finished trial, without what was measured of it."""
        point = claim.point
        return TrialResult(
            number=claim.number, variant=point.variant, group=point.group, settings=point.settings, seed=point.seed,
            state="finished", metric=self.experiment.settings.experiment.metric,
            machine=self.machine,
            started=claim.started, ended=round(time.time(), 3), copy_of=claim.copy_of, short=point.short,
        )  # fmt: skip


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _unexpected(error: Exception, folder: Path) -> OpenworkError:
    """The failure of a trial that no sentence was written for; its traceback goes into the trial's folder."""
    atomic_write_text(folder / TRACEBACK, "".join(traceback.format_exception(error)))
    if wants_memory(error):
        return OpenworkError(
            "not enough memory",
            why=f"details: {folder / TRACEBACK}",
            hint="lower batches.tokens, or have fewer workers",
            code="E007",
        )
    first = (str(error).splitlines() or [""])[0]
    return OpenworkError(
        f"unexpected {type(error).__name__}: {first}".removesuffix(": "),
        why=f"this is a bug in openwork; details: {folder / TRACEBACK}",
        hint="please report it with that file",
        code="E008",
    )
