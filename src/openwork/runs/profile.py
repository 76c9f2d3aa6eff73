"""Where the time of a run's updates goes, and how near they are to what the machine can do; nothing is kept of them."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from openwork.cost.cost import Cost, cost_of
from openwork.machine.matrix_rate import matrix_rate
from openwork.machine.precision import choose_precision
from openwork.runs.assembly import TrainingSetup, prepare_with, settle_computing
from openwork.runs.corpus import prepare_corpus
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder
from openwork.text.pair import TokenizerPair
from openwork.training.checkpoint import checkpoints
from openwork.training.computing.profiling import Updates, make_updates, profiled_updates
from openwork.training.computing.time_division import Division
from openwork.training.progress import Progress

Say = Callable[[str], None]
WARM_UP, TIMED, RECORDED = 3, 10, 5  # updates: before anything counts, for the speed, for where the time goes
LONGEST = 30.0  # seconds after which a part is cut short


@dataclass(frozen=True)
class MeasuredMachine:
    """What computed."""

    device: str
    threads: int
    matrix_rate: float  # operations a second of a large matrix product in the run's number type


@dataclass(frozen=True)
class StepProfile:
    """What was measured. `timed` ran as always, `recorded` under the profiler, which takes time itself."""

    settings: RunSettings
    machine: MeasuredMachine
    cost: Cost
    timed: Updates
    recorded: Updates
    division: Division

    @property
    def tokens_per_second(self) -> float:
        """Target tokens, without padding."""
        return self.timed.target_tokens / self.timed.seconds

    @property
    def flops_per_second(self) -> float:
        """Operations of the real tokens, by the formulas of the cost model."""
        passes = 2 if self.settings.training.r_drop else 1
        return passes * self.cost.training_flops * self.tokens_per_second

    @property
    def share_of_limit(self) -> float:
        """Of what a large matrix product reaches on this machine."""
        return self.flops_per_second / self.machine.matrix_rate


def profile_training(settings: RunSettings, out: Path | None, say: Say) -> StepProfile:
    """Some first updates of the run, by the very parts that train it; nothing is kept of them.

    A run in the folder `out` that has a checkpoint lends the data that it has prepared. It stays as it is; only data
    that are damaged there are prepared again.
    """
    folder = None if out is None else RunFolder(out)
    settings, device = settle_computing(settings, folder)
    with tempfile.TemporaryDirectory(prefix="openwork-") as scratch:
        fresh = RunFolder(Path(scratch))
        if folder is not None and checkpoints(folder.checkpoints):
            say(f"data: as prepared in {folder.path}")
            corpus = prepare_corpus(settings, folder, say)
        else:
            corpus = prepare_corpus(settings, fresh, say)
        setup, progress = prepare_with(corpus, settings, fresh, device, say)
        rate = matrix_rate(choose_precision(settings.training.precision, device), device)
        machine = MeasuredMachine(str(device), torch.get_num_threads(), rate)
        return _measure(settings, machine, setup, progress, say)


def _measure(
    settings: RunSettings, machine: MeasuredMachine, setup: TrainingSetup, progress: Progress, say: Say
) -> StepProfile:
    updater, stream = setup.updater, setup.stream
    say(f"profiling: {WARM_UP} updates to warm up, {TIMED} to take the time of, {RECORDED} to look into")
    make_updates(updater, stream, progress, WARM_UP, LONGEST)
    timed = make_updates(updater, stream, progress, TIMED, LONGEST)
    recorded, division = profiled_updates(updater, stream, progress, RECORDED, LONGEST)
    cost = _cost(settings, setup.corpus.tokenizers, timed)
    return StepProfile(settings, machine, cost, timed, recorded, division)


def _cost(settings: RunSettings, tokenizers: TokenizerPair, updates: Updates) -> Cost:
    """With the mean lengths of the sentences that were seen."""
    sentences = sum(report.sentences for report in updates.reports)
    sources = sum(report.source_tokens for report in updates.reports)
    return cost_of(
        settings.model, tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size,
        source_length=sources / sentences, target_length=updates.target_tokens / sentences,
    )  # fmt: skip
