"""The end of a training: the best weights are chosen, the card is written, the bundle is saved."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from torch import Tensor

from openwork import __version__
from openwork.base.config import to_toml
from openwork.base.errors import BundleError, ConfigError
from openwork.base.records import RecordWriter
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.data.corpora import catalogue as corpora
from openwork.data.filters import FilterReport
from openwork.inference.golden import make_golden
from openwork.models.interfaces import SequenceModel
from openwork.models.weights import restore_weights
from openwork.runs.assembly import TrainingSetup, prepare_training, settle_computing
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder, RunLock, no_checkpoint, settings_of_run
from openwork.runs.length import history_of
from openwork.runs.validation import Validator
from openwork.training.averaging import average
from openwork.training.checkpoint import MOVING_AVERAGE, checkpoint_step, checkpoints, load_weights
from openwork.training.computing.rounding import round_weights
from openwork.training.observers.control import ending_like_ctrl_c
from openwork.training.progress import Metric, Progress, Validation
from openwork.training.settings import TrainingSettings
from openwork.training.trained_weights import merge


@dataclass(frozen=True)
class TrainingResult:
    """The result of a training. `bundle` is None when it was interrupted."""

    bundle: Path | None
    progress: Progress
    chosen: Validation | None = None


def finish_run(out: Path, report: Callable[[str], None]) -> TrainingResult:
    """Writes the bundle of the run in `out` as if its last update had been made; makes no update."""
    folder = RunFolder(out)
    settings = folder.read_settings()
    if settings is None:
        raise ConfigError(f"{out}: there is no run", hint="name the folder of a run", code="C106")
    settings, device = settle_computing(settings, folder)
    with ending_like_ctrl_c(), folder.locked(settings) as lock:
        setup = prepare_training(settings, folder, device, report)
        progress = setup.progress
        if progress.step == 0:
            raise no_checkpoint(out)
        chosen = choose_weights(folder.checkpoints, settings.training, setup.model, setup.validator, progress, report)
        with RecordWriter(folder.records) as records:
            records.write(
                "finished", step=progress.step, reason="openwork finish",
                seconds=round(progress.seconds, 3), target_tokens=progress.target_tokens,
            )  # fmt: skip
        return write_chosen(lock, setup, chosen)


def write_chosen(lock: RunLock, setup: TrainingSetup, chosen: Validation) -> TrainingResult:
    """Writes the bundle of a run whose model has the chosen weights."""
    folder, corpus, progress = setup.folder, setup.corpus, setup.progress
    merge(setup.model)
    if setup.validator.rounding is not None:
        round_weights(setup.model, setup.validator.rounding)
    card = write_card(setup.settings, corpus.report, chosen, progress, history_of(folder))
    bundle = Bundle(settings_of_run(setup.settings), corpus.tokenizers, setup.model.eval(), card=card)
    bundle = make_golden(bundle, [pair.source for pair in corpus.examples])
    lock.check()
    write_bundle(folder.bundle, bundle, setup.settings.fine_tuning.quantise)
    folder.extended.unlink(missing_ok=True)
    return TrainingResult(folder.bundle, progress, chosen)


@dataclass(frozen=True)
class Candidate:
    """Weights that may become the model: the mean of some checkpoints, or the moving average in the last of them."""

    paths: tuple[Path, ...]
    moving: bool = False

    def weights(self) -> Mapping[str, Tensor]:
        return load_weights(self.paths[-1], MOVING_AVERAGE) if self.moving else average(map(load_weights, self.paths))


def candidates(found: Sequence[Path], settings: TrainingSettings, progress: Progress) -> list[Candidate]:
    """Of these, oldest first: the best checkpoint, the mean of the last ones, the mean of those up to the best one;
    and where moving averages are kept, the last one and that of the best checkpoint."""
    best = progress.best(settings.metric)
    best_step = best.step if best is not None else progress.step
    until_best = [path for path in found if checkpoint_step(path) <= best_step]
    count, single = settings.average, tuple(until_best[-1:])
    means = {single, tuple(found[-count:]), tuple(until_best[-count:])} - {()}
    moving = {single, tuple(found[-1:])} - {()} if settings.ema else set()
    return [*map(Candidate, sorted(means)), *(Candidate(paths, moving=True) for paths in sorted(moving))]


def choose_weights(
    folder: Path,
    settings: TrainingSettings,
    model: SequenceModel,
    validator: Validator,
    progress: Progress,
    report: Callable[[str], None],
) -> Validation:
    """Loads the best weights into the model, judged by the validation pairs alone.

    The metric has decided how many updates are best. Among the few candidates there the loss decides: the score of a
    thousand translations moves by half a point of BLEU from one checkpoint to the next, more than these differ. For
    labels their score decides: a classifier that grows too sure of itself is wrong no more often, while its loss rises
    (Guo et al. 2017, section 3).
    """
    metric = settings.metric
    results: list[tuple[Validation, Candidate]] = []
    for candidate in candidates(_whole(folder, settings, report), settings, progress):
        restore_weights(model, candidate.weights(), str(candidate.paths[0]))
        validation = validator.validate(progress.step)
        results.append((validation, candidate))
        step, count = checkpoint_step(candidate.paths[-1]), len(candidate.paths)
        figure, loss = abs(validation.figure(metric)), validation.loss
        if candidate.moving:
            report(f"candidate: moving average up to {step}: {metric} {figure:.4f}, loss {loss:.4f}")
        elif count == 1:
            report(f"candidate: checkpoint {step}: {metric} {figure:.4f}, loss {loss:.4f}")
        else:
            report(f"candidate: mean of {count} checkpoints up to {step}: {metric} {figure:.4f}, loss {loss:.4f}")
    by: Metric = "score" if metric == "score" else "loss"
    chosen, candidate = max(results, key=lambda result: (result[0].figure(by), -result[0].loss))
    restore_weights(model, candidate.weights(), str(candidate.paths[0]))
    return chosen


def _whole(folder: Path, settings: TrainingSettings, report: Callable[[str], None]) -> list[Path]:
    """The checkpoints that can be read; BundleError if all are damaged."""
    whole, damaged = [], []
    for path in checkpoints(folder):
        try:
            load_weights(path)
            if settings.ema:
                load_weights(path, MOVING_AVERAGE)
            whole.append(path)
        except BundleError as error:
            damaged.append(error)
            report(f"passed over a damaged checkpoint: {error.what}")
    if damaged and not whole:
        raise damaged[-1]
    return whole


def write_card(
    settings: RunSettings, report: FilterReport, chosen: Validation, progress: Progress, history: Sequence[str] = ()
) -> str:
    """The card of a bundle, in Markdown: data, training, validation scores, all settings."""
    parts, asked = settings.data.parts, settings.training.steps
    origin = ", ".join(
        f"{part.source} and {part.target}" if part.source else getattr(part, part.origins[0]) for part in parts
    )
    scores = [f"- loss {chosen.loss:.4f} nats per token, perplexity {chosen.perplexity:.3f}"]
    if chosen.bleu is not None:
        scores.append(f"- BLEU {chosen.bleu:.2f} (greedy search; {chosen.signature or 'sacreBLEU'})")
    if chosen.chrf is not None:
        scores.append(f"- chrF2 {chosen.chrf:.2f}")
    if chosen.score is not None:
        scores.append(f"- {chosen.score_name} {chosen.score:.2f}")
    if chosen.exact is not None:
        scores.append(f"- exact matches {100 * chosen.exact:.2f} %")
    return "\n".join(
        [
            f"# {settings.model.kind} trained on {origin}",
            "",
            f"Written by openwork {__version__} on {datetime.now(UTC):%Y-%m-%d}.",
            "",
            "## Data",
            *report.lines(),
            *dict.fromkeys(_terms(part.corpus) for part in parts),
            "",
            "## Training",
            f"{progress.step:,} updates, {progress.target_tokens:,} target tokens, "
            f"{progress.seconds / 60:.1f} minutes.",
            *([f"The run ended early: its settings ask for {asked:,} updates."] if progress.step < asked else []),
            *history,
            "",
            "## Scores on the validation pairs (weights were chosen on them)",
            *scores,
            "",
            "## Settings",
            "```toml",
            to_toml(settings).strip(),
            "```",
            "",
        ]
    )


def _terms(corpus: str | None) -> str:
    """The terms of the data, as far as they are known."""
    if corpus is None:
        return "Files of your own: their terms are known to you. Mind them before you pass this folder on."
    return f"Terms of the corpus: {corpora.find(corpus).terms}."
