"""From a run's settings to a trained bundle: data, tokenizers, model, loop, observers, and the choice at the end."""

import contextlib
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch

from openwork import __version__
from openwork.base.errors import BundleError
from openwork.base.records import RecordWriter
from openwork.data.batching import BatchPlan
from openwork.data.filters import FilterReport
from openwork.data.records import Pair
from openwork.data.store import TokenStore
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel, count_weights
from openwork.systems.bundle import Bundle, BundleSettings, make_golden, write_bundle
from openwork.systems.card import write_card
from openwork.systems.device import choose_device
from openwork.systems.pairs import PairSource, find_splits, store_pairs
from openwork.systems.run_file import RunSettings
from openwork.systems.run_folder import RunFolder
from openwork.systems.validate import Validator
from openwork.text.pair import TokenizerPair, train_pair
from openwork.training.averaging import average
from openwork.training.batches import BatchStream
from openwork.training.checkpoint import checkpoint_step, checkpoints, load_weights, resume_latest
from openwork.training.loop import train
from openwork.training.moments import Observer, Run
from openwork.training.observers.checkpointing import CheckpointObserver
from openwork.training.observers.interruption import INTERRUPTED, InterruptionObserver
from openwork.training.observers.recording import RecordObserver
from openwork.training.observers.stopping import StoppingObserver
from openwork.training.observers.validation import ValidationObserver
from openwork.training.optimisers import make_adam
from openwork.training.precision import choose_precision
from openwork.training.progress import Progress, Validation
from openwork.training.schedules import make_schedule
from openwork.training.step import Updater
from openwork.training.weights import restore_weights

Say = Callable[[str], None]
GOLDEN_EXAMPLES = 5


@dataclass(frozen=True)
class Corpus:
    """The data of a run, ready to use."""

    tokenizers: TokenizerPair
    train: TokenStore
    valid: TokenStore
    valid_pairs: list[Pair]
    report: FilterReport


@dataclass(frozen=True)
class Outcome:
    """What a training came to. `bundle` is None when it was interrupted."""

    bundle: Path | None
    progress: Progress
    chosen: Validation | None = None


def prepare_corpus(settings: RunSettings, folder: RunFolder, say: Say) -> Corpus:
    """Reads, filters, learns the vocabulary, tokenises; what is there already is used again."""
    splits = find_splits(settings.data, settings.filters)
    say(f"training pairs: {splits.train.description}")
    for line in splits.report.lines():
        say(f"  {line}")
    begun = bool(checkpoints(folder.checkpoints))
    tokenizers = _tokenizers(settings, folder, splits.train, say, begun=begun)
    say("tokenising")
    train_store = store_pairs(folder.stores / "train", splits.train, tokenizers, begun=begun)
    valid_store = store_pairs(folder.stores / "valid", splits.valid, tokenizers, begun=begun)
    say(f"validation pairs: {len(valid_store):,} from {splits.valid.description}")
    valid_pairs = list(islice(splits.valid.read(), settings.training.validation_sentences))
    return Corpus(tokenizers, train_store, valid_store, valid_pairs, splits.report)


def _tokenizers(settings: RunSettings, folder: RunFolder, pairs: PairSource, say: Say, *, begun: bool) -> TokenizerPair:
    """Those of the run if it has `begun`; before the first checkpoint the data may still change, so they are learnt."""
    if begun:
        with contextlib.suppress(BundleError):  # damaged: the same data gives the same tokenizers again
            return TokenizerPair.load(folder.tokenizers)
    folder.tokenizers.mkdir(exist_ok=True)
    say("learning the vocabulary")
    tokenizers = train_pair(pairs.side("source"), pairs.side("target"), settings.text)
    tokenizers.save(folder.tokenizers)
    sizes = {tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size}
    kind = "shared" if tokenizers.shared else "separate"
    say(f"vocabulary: {' and '.join(f'{size:,}' for size in sorted(sizes))} pieces, {kind}")
    return tokenizers


def new_model(settings: RunSettings, tokenizers: TokenizerPair) -> SequenceModel:
    """The model with the first weights that the seed gives."""
    torch.manual_seed(settings.training.seed)
    return build_model(settings.model, tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size)


def resolve_precision(settings: RunSettings, folder: RunFolder, device: torch.device) -> RunSettings:
    """The same settings with the precision decided; a run that goes on keeps what it decided at first."""
    before = folder.read_settings()
    wanted = settings.training.precision
    if wanted == "auto" and before is not None:
        wanted = before.training.precision
    training = settings.training.model_copy(update={"precision": choose_precision(wanted, device)})
    return settings.model_copy(update={"training": training})


def train_bundle(settings: RunSettings, out: Path, say: Say, watchers: Sequence[Observer] = ()) -> Outcome:
    """Trains, or continues the training in `out`, and writes `out/bundle`."""
    folder = RunFolder(out)
    device = choose_device()
    settings = resolve_precision(settings, folder, device)
    folder.open(settings)
    with folder.claimed():
        return _train_claimed(settings, folder, device, say, watchers)


def _train_claimed(
    settings: RunSettings, folder: RunFolder, device: torch.device, say: Say, watchers: Sequence[Observer]
) -> Outcome:
    corpus = prepare_corpus(settings, folder, say)
    model = new_model(settings, corpus.tokenizers).to(device)
    millions = count_weights(model) / 1e6
    say(f"model: {settings.model.kind}, {millions:.2f} million weights; {settings.training.precision} on {device}")
    optimiser = make_adam(model, settings.training)
    progress = _resume(folder, model, optimiser, say)
    precision = choose_precision(settings.training.precision, device)
    validator = Validator(model, corpus.tokenizers, corpus.valid, corpus.valid_pairs, precision)
    writer = RecordWriter(folder.records)
    writer.write("run", **_circumstances(corpus, device))
    observers = [
        ValidationObserver(validator.validate),
        StoppingObserver(),
        CheckpointObserver(folder.checkpoints, model, optimiser),
        RecordObserver(writer),
        InterruptionObserver(lambda: say("stopping after this update, to save; once more stops at once")),
        *watchers,
    ]
    run = Run(settings.training, progress, observers)
    schedule = make_schedule(settings.training, settings.model.width)
    updater = Updater(model, optimiser, schedule, settings.training, precision)
    plan = BatchPlan.of(corpus.train, settings.batches, settings.training.seed)
    train(updater, BatchStream(corpus.train, plan, device), run)
    if run.stop_reason == INTERRUPTED:
        return Outcome(None, progress)
    chosen = choose_weights(settings, folder, model, validator, progress, say)
    bundle = _bundle(settings, corpus, model, chosen, progress)
    write_bundle(folder.bundle, bundle)
    return Outcome(folder.bundle, progress, chosen)


def _circumstances(corpus: Corpus, device: torch.device) -> dict[str, object]:
    """What a run depends on besides its settings: data, versions, machine."""
    return {
        "openwork": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "device": str(device),
        "threads": torch.get_num_threads(),
        "train_data": corpus.train.fingerprint,
        "valid_data": corpus.valid.fingerprint,
        "tokenizers": corpus.tokenizers.fingerprint,
    }


def _resume(folder: RunFolder, model: SequenceModel, optimiser: torch.optim.Optimizer, say: Say) -> Progress:
    resumed = resume_latest(folder.checkpoints, model, optimiser)
    if resumed is None:
        return Progress()
    for error in resumed.damaged:
        say(f"passed over a damaged checkpoint: {error.what}")
    say(f"continuing after update {resumed.progress.step:,} from {resumed.path}")
    return resumed.progress


def choose_weights(
    settings: RunSettings,
    folder: RunFolder,
    model: SequenceModel,
    validator: Validator,
    progress: Progress,
    say: Say,
) -> Validation:
    """Puts the best weights into the model, judged by the validation pairs alone.

    The candidates are the best checkpoint, the mean of the last ones, and the mean of those up to the best one.
    """
    metric, count = settings.training.metric, settings.training.average
    found = checkpoints(folder.checkpoints)
    best = progress.best(metric)
    best_step = best.step if best is not None else progress.step
    until_best = [path for path in found if checkpoint_step(path) <= best_step]
    candidates = {tuple(until_best[-1:]), tuple(found[-count:]), tuple(until_best[-count:])} - {()}
    results: list[tuple[Validation, tuple[Path, ...]]] = []
    for paths in sorted(candidates):
        restore_weights(model, average(load_weights(path) for path in paths), str(paths[0]))
        validation = validator.validate(progress.step)
        results.append((validation, paths))
        name = "checkpoint" if len(paths) == 1 else f"mean of {len(paths)} checkpoints up to"
        say(f"candidate: {name} {checkpoint_step(paths[-1])}: {metric} {abs(validation.figure(metric)):.4f}")
    # Where all answers are right, the loss still tells which weights are surer of them.
    chosen, paths = max(results, key=lambda result: (result[0].figure(metric), -result[0].loss))
    restore_weights(model, average(load_weights(path) for path in paths), str(paths[0]))
    return chosen


def _bundle(
    settings: RunSettings, corpus: Corpus, model: SequenceModel, chosen: Validation, progress: Progress
) -> Bundle:
    data = settings.data
    bundle_settings = BundleSettings(
        model=settings.model,
        decoding=settings.decoding,
        source_language=data.source_language,
        target_language=data.target_language,
    )
    card = write_card(settings, corpus.report, chosen, progress)
    bundle = Bundle(bundle_settings, corpus.tokenizers, model.eval(), card=card)
    return make_golden(bundle, [pair.source for pair in corpus.valid_pairs[:GOLDEN_EXAMPLES]])
