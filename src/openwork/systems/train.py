"""From a run's settings to a trained bundle: data, tokenizers, model, loop, observers, and the choice at the end."""

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

import torch

from openwork import __version__
from openwork.base.errors import BundleError, DataError
from openwork.base.files import atomic_write_text
from openwork.base.printing import json_text
from openwork.base.records import RecordWriter
from openwork.data.batching import BatchPlan
from openwork.data.filters import FilterReport
from openwork.data.mixture import Mixture
from openwork.data.records import Pair
from openwork.data.store import TokenStore
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel, count_weights
from openwork.models.label_model import LabelModel
from openwork.systems.beginnings import are_texts, parted_texts
from openwork.systems.bundle import Bundle, make_golden, write_bundle
from openwork.systems.bundle_settings import settings_of_run
from openwork.systems.card import write_card
from openwork.systems.choice import choose_weights
from openwork.systems.coach.probe import Probe, frequency_entropy
from openwork.systems.computing import arrangement, made_ready, validation_arrangement
from openwork.systems.cost import weights_of
from openwork.systems.device import choose_device, choose_products
from openwork.systems.fine_tuning import Beginning, begin_tuning, check_fine_tuning
from openwork.systems.languages import languages_of, with_languages
from openwork.systems.learner import Learner, go_back, resume
from openwork.systems.origins import check_origins, origins_of, read_origins, write_origins
from openwork.systems.pairs import PairSource, Sampling, find_splits, store_pairs
from openwork.systems.preflight.budget import within
from openwork.systems.preflight.check import preflight, preflight_resumed
from openwork.systems.preflight.report import preflight_lines
from openwork.systems.preflight.subject import Subject
from openwork.systems.reach import check_reach
from openwork.systems.room import check_room, free_memory
from openwork.systems.run_file import RunSettings
from openwork.systems.run_folder import NewLength, Presence, RunFolder
from openwork.systems.run_length import Budget, history_of
from openwork.systems.tasks import LinesInForm, check_known, in_form, task_of, wished_pairs
from openwork.systems.validate import Validator
from openwork.systems.validate_foretold import ForetellingValidator
from openwork.systems.validate_labels import LabelValidator
from openwork.systems.validate_masked import MaskedValidator
from openwork.text.pair import TokenizerPair, train_pair
from openwork.text.word_by_word import beginnings
from openwork.training.batches import BatchStream
from openwork.training.checkpoint import checkpoints
from openwork.training.loop import train
from openwork.training.low_rank import merge
from openwork.training.moments import Observer, Run
from openwork.training.moving_average import MovingAverage
from openwork.training.observers.averaging import AveragingObserver
from openwork.training.observers.checkpointing import CheckpointObserver
from openwork.training.observers.coaching import CoachingObserver
from openwork.training.observers.interruption import INTERRUPTED, InterruptionObserver, ending_like_ctrl_c
from openwork.training.observers.presence import PresenceObserver
from openwork.training.observers.recording import RecordObserver
from openwork.training.observers.recovery import RecoveryObserver
from openwork.training.observers.stopping import StoppingObserver
from openwork.training.observers.tensorboard import TensorBoardObserver
from openwork.training.observers.validation import ValidationObserver
from openwork.training.optimisers import make_optimiser
from openwork.training.precision import choose_precision
from openwork.training.progress import Progress, Validation
from openwork.training.schedules import make_schedule
from openwork.training.step import Updater
from openwork.training.workers import choose_workers

Say = Callable[[str], None]
GOLDEN_EXAMPLES = 5
# Who looks at held-out pairs, by the model's task; those that are not here tell labels.
VALIDATORS: dict[str, type[Validator]] = {
    "write": Validator,
    "fill": MaskedValidator,
    "foretell": ForetellingValidator,
}


@dataclass(frozen=True)
class Corpus:
    """The data of a run, ready to use. `examples`: pairs whose sources the bundle shows what it makes of."""

    tokenizers: TokenizerPair
    train: TokenStore
    valid: TokenStore
    train_pairs: PairSource
    valid_pairs: list[Pair]
    examples: list[Pair]
    report: FilterReport
    mixture: Mixture | None = None


@dataclass(frozen=True)
class Outcome:
    """What a training came to. `bundle` is None when it was interrupted."""

    bundle: Path | None
    progress: Progress
    chosen: Validation | None = None


def prepare_corpus(settings: RunSettings, folder: RunFolder, say: Say) -> Corpus:
    """Reads, filters, learns the vocabulary, tokenises; what is there already is used again."""
    splits = find_splits(*wished_pairs(settings))
    splits.tell(say)
    begun = bool(checkpoints(folder.checkpoints))
    now = origins_of(splits.parts, splits.valid if settings.data.validation is not None else None)
    before = read_origins(folder.stores) if begun else None
    if before is not None:
        check_origins(before, now, folder.path)
    known = before.vocabulary if before is not None else ""
    tokenizers = _tokenizers(settings, folder, splits.train, say, begun=begun, known=known)
    check_known(splits.valid, tokenizers, say, held_out=settings.data.validation is None)
    say("tokenising")
    store = partial(store_pairs, tokenizers=tokenizers, begun=begun, say=say)
    train_store = store(folder.stores / "train", splits.train, sampling=_sampling(settings))
    valid_pairs, golden = _examples(splits.valid, settings.training.validation_sentences)
    metric = settings.training.metric
    if not valid_pairs and metric != "loss":
        raise DataError(
            f"{splits.valid.description}: the first {settings.training.validation_sentences:,} sources are blank",
            why=f'training.metric = "{metric}" needs sources to translate',
            hint='give other pairs to validate with, or set training.metric = "loss"',
        )
    valid_store = store(folder.stores / "valid", splits.valid)
    say(f"validation pairs: {len(valid_store):,} from {splits.valid.description}")
    if not begun:
        write_origins(folder.stores, replace(now, vocabulary=tokenizers.fingerprint))
    return Corpus(
        tokenizers, train_store, valid_store, splits.train, valid_pairs, golden, splits.report, splits.mixture
    )


def _examples(valid: PairSource, count: int) -> tuple[list[Pair], list[Pair]]:
    """The validation pairs to translate, none where they have no sources, and examples for the bundle."""
    pairs = list(islice(valid.read(), count))
    if are_texts(pairs):
        return [], parted_texts(valid.read(), GOLDEN_EXAMPLES if pairs else 0)
    return pairs, pairs[:GOLDEN_EXAMPLES]


def _sampling(settings: RunSettings) -> Sampling | None:
    text = settings.text
    return Sampling(text.sampling, text.samplings, settings.training.seed) if text.sampling > 0 else None


def _tokenizers(
    settings: RunSettings, folder: RunFolder, pairs: PairSource, say: Say, *, begun: bool, known: str
) -> TokenizerPair:
    """Those of the run if it has `begun`; before the first checkpoint the data may still change, so they are learnt.

    `known`: their fingerprint, empty where it was not noted.
    """
    if begun:
        try:
            tokenizers = in_form(TokenizerPair.load(folder.tokenizers), task_of(settings.model))
            if not known or tokenizers.fingerprint == known:
                return tokenizers
        except BundleError:
            pass
        say(f"{folder.tokenizers}: the vocabulary is damaged; the same data gives it again")
    folder.tokenizers.mkdir(exist_ok=True)
    tokenizers = new_tokenizers(settings, pairs, say)
    if known and tokenizers.fingerprint != known:
        raise BundleError(
            f"{folder.tokenizers}: the vocabulary of this run is damaged",
            why="learnt again from the same data it has become another one",
            hint="bring this folder back from a copy, or give another --out to begin anew",
        )
    tokenizers.save(folder.tokenizers)
    sizes = {tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size}
    kind = "shared" if tokenizers.shared else "separate"
    say(f"vocabulary: {' and '.join(f'{size:,}' for size in sorted(sizes))} pieces, {kind}")
    return tokenizers


def new_tokenizers(settings: RunSettings, pairs: PairSource, say: Say) -> TokenizerPair:
    """Learnt from the pairs, or read from files, or those of the bundle that the run begins with."""
    tuning = settings.fine_tuning
    if tuning.from_bundle is None:
        say("learning the vocabulary")
        sources = LinesInForm(pairs.side("source"), task_of(settings.model))
        learnt = train_pair(sources, pairs.side("target"), settings.text)
    else:
        learnt = Beginning.of(tuning.from_bundle).tokenizers_for(settings, pairs.side("source"), pairs.side("target"))
    return in_form(learnt, task_of(settings.model))


def new_model(settings: RunSettings, tokenizers: TokenizerPair) -> SequenceModel:
    """The model with the first weights that the seed gives."""
    sizes = tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size
    check_room(weights_of(settings.model, max(sizes)), free_memory())
    torch.manual_seed(settings.training.seed)
    model = build_model(settings.model, *sizes)
    if isinstance(model, LabelModel):
        model.mark_beginnings(torch.tensor(beginnings(tokenizers.source)))
    return model


def resolve_computing(settings: RunSettings, folder: RunFolder | None, device: torch.device) -> RunSettings:
    """The same settings with precision and workers decided; a run that goes on keeps what it decided at first."""
    before = folder.read_settings() if folder is not None else None
    known = before.training if before is not None else settings.training
    wanted = settings.training
    precision = choose_precision(known.precision if wanted.precision == "auto" else wanted.precision, device)
    chosen = choose_workers(wanted.workers or known.workers, settings.batches.tokens, device)
    workers = 1 if settings.needs_whole_batches else chosen
    training = wanted.model_copy(update={"precision": precision, "workers": workers})
    return settings.model_copy(update={"training": training})


def train_bundle(
    settings: RunSettings,
    out: Path,
    say: Say,
    watchers: Sequence[Observer] = (),
    *,
    length: NewLength | None = None,
    budget: Budget | None = None,
) -> Outcome:
    """Trains, or continues the training in `out`, and writes `out/bundle`.

    `length`: the run in `out` is to have another one. `budget`: a new run is to take so many minutes.
    """
    folder = RunFolder(out)
    device = choose_device()
    settings = with_languages(settings, folder.read_settings() if checkpoints(folder.checkpoints) else None, say)
    settings = resolve_computing(settings, folder, device)
    choose_products(settings.training.precision, device)
    check_fine_tuning(settings)
    if settings.training.tensorboard:
        watchers = [*watchers, TensorBoardObserver(folder.tensorboard)]
    with ending_like_ctrl_c(), folder.claimed(settings, length) as presence:
        ready, progress = made_ready_to_train(settings, folder, device, say)
        if budget is not None and progress.step == 0:
            settings = within(budget, ready.subject(settings, folder), say)
            ready, progress = made_ready_with(ready.corpus, settings, folder, device, lambda line: None)
        return _train_claimed(settings, presence, ready, progress, device, say, watchers)


def _train_claimed(
    settings: RunSettings,
    presence: Presence,
    ready: "Ready",
    progress: Progress,
    device: torch.device,
    say: Say,
    watchers: Sequence[Observer],
) -> Outcome:
    folder = presence.folder
    corpus, learner, stream, validator = ready.corpus, ready.learner, ready.stream, ready.validator
    model, training = learner.model, settings.training
    probe = Probe(model, corpus.tokenizers, corpus.valid, corpus.valid_pairs, validator.language)
    writer = RecordWriter(folder.records)
    observers = [
        PresenceObserver(presence.check),
        RecoveryObserver(partial(go_back, folder, learner), partial(_keep_batches, folder, corpus, stream), say),
        *([AveragingObserver(learner.moving_average)] if learner.moving_average is not None else []),
        ValidationObserver(validator.validate),
        StoppingObserver(),
        CheckpointObserver(folder.checkpoints, model, learner.optimiser, learner.moving_average),
        RecordObserver(writer),
        CoachingObserver(probe.look, frequency_entropy(corpus.train), settings.model.width, say),
        InterruptionObserver(lambda: say("stopping after this update, to save; once more stops at once")),
        *watchers,
    ]
    run = Run(training, progress, observers)
    with made_ready(ready.updater, stream, run, device, say) as batches:
        _look_ahead(ready.subject(settings, folder), progress, say)
        writer.write("run", **_circumstances(corpus, device))
        train(ready.updater, batches, run)
    if run.stop_reason == INTERRUPTED:
        return Outcome(None, progress)
    chosen = choose_weights(folder.checkpoints, training, model, validator, progress, say)
    return Outcome(write_chosen(settings, presence, ready, chosen, progress), progress, chosen)


def _look_ahead(subject: Subject, progress: Progress, say: Say) -> None:
    """Says what the run will need; OpenworkError where that is not here."""
    if progress.step > 0:
        if progress.step < subject.settings.training.steps:
            preflight_resumed(subject)
        return
    found = preflight(subject)
    for line in preflight_lines(found):
        say(line)
    progress.divisions = found.divisions


@dataclass(frozen=True)
class Ready:
    """All parts of a training that is about to begin, or to go on."""

    corpus: Corpus
    learner: Learner
    validator: Validator
    stream: BatchStream
    updater: Updater

    def subject(self, settings: RunSettings, out: RunFolder) -> Subject:
        """As the preflight looks at it, for a run that will be written to `out`."""
        pairs, average = self.corpus.train_pairs, self.learner.moving_average
        return Subject(settings, out, self.updater, self.stream, self.validator, pairs, average)


def made_ready_to_train(
    settings: RunSettings, folder: RunFolder, device: torch.device, say: Say
) -> tuple[Ready, Progress]:
    """Data, model and what trains it, and how far the run in the folder has come."""
    return made_ready_with(prepare_corpus(settings, folder, say), settings, folder, device, say)


def made_ready_with(
    corpus: Corpus, settings: RunSettings, folder: RunFolder, device: torch.device, say: Say
) -> tuple[Ready, Progress]:
    """The same with data that are there already."""
    learner, progress = _begin(settings, folder, corpus, device, say)
    model, training = learner.model, settings.training
    precision = choose_precision(training.precision, device)
    language = languages_of(settings.data)[1]
    task, looked_at = task_of(settings.model), (corpus.valid, corpus.valid_pairs)
    parts = (model, corpus.tokenizers, *looked_at, precision, language, validation_arrangement(training, model))
    kind = VALIDATORS.get(task) or partial(LabelValidator, task)
    validator = kind(*parts, shown=corpus.examples)
    versions = settings.text.samplings if settings.text.sampling > 0 else 1
    plan = BatchPlan.of(corpus.train, settings.batches, training.seed, versions, corpus.mixture)
    stream = BatchStream(corpus.train, plan, device, arrangement(training, model, precision, device))
    updater = Updater(model, learner.optimiser, make_schedule(training, settings.model.width), training, precision)
    return Ready(corpus, learner, validator, stream, updater), progress


def _begin(
    settings: RunSettings, folder: RunFolder, corpus: Corpus, device: torch.device, say: Say
) -> tuple[Learner, Progress]:
    """With fresh weights, with those of a bundle, or where the run in the folder stopped."""
    model = new_model(settings, corpus.tokenizers)
    check_reach(model.longest, corpus.train, corpus.valid, continues=model.continues)
    millions = count_weights(model) / 1e6
    say(f"model: {settings.model.kind}, {millions:.2f} million weights; {settings.training.precision} on {device}")
    begin_tuning(settings, model, corpus.tokenizers, say, resumed=bool(checkpoints(folder.checkpoints)))
    model.to(device)
    optimiser = make_optimiser(model, settings.training)
    moving_average = MovingAverage(model, settings.training.ema) if settings.training.ema else None
    learner = Learner(model, optimiser, moving_average)
    return learner, resume(folder, learner, settings.training, say)


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


def _keep_batches(folder: RunFolder, corpus: Corpus, stream: BatchStream, place: tuple[int, int], count: int) -> Path:
    """Writes the pairs of `count` batches from a place on, as text and as ids, one JSON object a line."""
    progress = Progress(epoch=place[0], batch=place[1])
    lines = []
    for row in (int(row) for _ in range(count) for row in stream.rows(progress)):
        source, target = (side.tolist() for side in corpus.train.pair(row))
        texts = {"source": corpus.tokenizers.source.decode(source), "target": corpus.tokenizers.target.decode(target)}
        lines.append(json_text({**texts, "source_ids": source, "target_ids": target}))
    atomic_write_text(folder.bad_batch, "".join(f"{line}\n" for line in lines))
    return folder.bad_batch


def write_chosen(
    settings: RunSettings, presence: Presence, ready: Ready, chosen: Validation, progress: Progress
) -> Path:
    """Writes the bundle of a run whose model has the weights that were chosen."""
    folder, corpus, model = presence.folder, ready.corpus, ready.learner.model
    merge(model)
    card = write_card(settings, corpus.report, chosen, progress, history_of(folder))
    bundle = Bundle(settings_of_run(settings), corpus.tokenizers, model.eval(), card=card)
    bundle = make_golden(bundle, [pair.source for pair in corpus.examples])
    presence.check()
    write_bundle(folder.bundle, bundle)
    folder.extended.unlink(missing_ok=True)
    return folder.bundle
