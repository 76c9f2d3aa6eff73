"""Where the time of a run's updates goes, and how near they are to what the machine can do; nothing is kept of them."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from openwork.cost.cost import Cost, cost_of
from openwork.data.batching import BatchPlan
from openwork.data.pairs import find_splits
from openwork.data.store import TokenStore
from openwork.machine.device import choose_device
from openwork.machine.matrix_rate import matrix_rate
from openwork.machine.precision import choose_precision
from openwork.models.interfaces import SequenceModel
from openwork.runs.assembly import new_model, resolve_computing
from openwork.runs.corpus import prepare_corpus, wished_pairs
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder
from openwork.runs.tuning.fine_tuning import check_fine_tuning, made_tunable
from openwork.text.pair import TokenizerPair
from openwork.training.batches.batch import BatchStream
from openwork.training.computing.profiling import Updates, make_updates, profiled_updates
from openwork.training.computing.time_division import Division
from openwork.training.optimisers import make_optimiser
from openwork.training.progress import Progress
from openwork.training.schedules import make_schedule
from openwork.training.step import Updater

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


@dataclass(frozen=True)
class _Data:
    """What there is to train on."""

    tokenizers: TokenizerPair
    store: TokenStore
    plan: BatchPlan


def profile_training(settings: RunSettings, out: Path | None, say: Say) -> StepProfile:
    """Some first updates of the run. `out`, the folder of a run, lends its prepared data; nothing is written there."""
    device = choose_device()
    folder = None if out is None else RunFolder(out)
    settings = resolve_computing(settings, folder, device)
    check_fine_tuning(settings)
    with tempfile.TemporaryDirectory(prefix="openwork-") as scratch:
        data = _data(settings, folder, RunFolder(Path(scratch)), say)
        rate = matrix_rate(choose_precision(settings.training.precision, device), device)
        machine = MeasuredMachine(str(device), torch.get_num_threads(), rate)
        return _measure(settings, machine, data, say)


def _data(settings: RunSettings, folder: RunFolder | None, scratch: RunFolder, say: Say) -> _Data:
    """That of the run in `folder` if it has prepared any, else made for the occasion."""
    seed, versions = settings.training.seed, settings.text.samplings if settings.text.sampling > 0 else 1
    if folder is not None and (folder.stores / "train").is_dir():
        say(f"data: as prepared in {folder.path}")
        tokenizers, store = TokenizerPair.load(folder.tokenizers), TokenStore.open(folder.stores / "train")
        mixture = find_splits(*wished_pairs(settings)).mixture if settings.data.mix else None
    else:
        corpus = prepare_corpus(settings, scratch, say)
        tokenizers, store, mixture = corpus.tokenizers, corpus.train, corpus.mixture
    return _Data(tokenizers, store, BatchPlan.of(store, settings.batches, seed, versions, mixture))


def _measure(settings: RunSettings, machine: MeasuredMachine, data: _Data, say: Say) -> StepProfile:
    device = torch.device(machine.device)
    model = new_model(settings, data.tokenizers).to(device)
    made_tunable(model, settings.fine_tuning)
    updater = _updater(settings, model)
    stream, place = BatchStream(data.store, data.plan, device), Progress()
    say(f"profiling: {WARM_UP} updates to warm up, {TIMED} to take the time of, {RECORDED} to look into")
    make_updates(updater, stream, place, WARM_UP, LONGEST)
    timed = make_updates(updater, stream, place, TIMED, LONGEST)
    recorded, division = profiled_updates(updater, stream, place, RECORDED, LONGEST)
    return StepProfile(settings, machine, _cost(settings, data.tokenizers, timed), timed, recorded, division)


def _updater(settings: RunSettings, model: SequenceModel) -> Updater:
    training = settings.training
    precision = choose_precision(training.precision, choose_device())
    schedule = make_schedule(training, settings.model.width)
    return Updater(model, make_optimiser(model, training), schedule, training, precision)


def _cost(settings: RunSettings, tokenizers: TokenizerPair, updates: Updates) -> Cost:
    """With the mean lengths of the sentences that were seen."""
    sentences = sum(report.sentences for report in updates.reports)
    sources = sum(report.source_tokens for report in updates.reports)
    return cost_of(
        settings.model, tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size,
        source_length=sources / sentences, target_length=updates.target_tokens / sentences,
    )  # fmt: skip
