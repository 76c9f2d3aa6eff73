"""What is allowed in a run file and still cannot be meant: settings without effect, files that are not there.

A rule is one entry of a table. No torch here.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from openwork.base.config import Layer
from openwork.base.tasks import task_of
from openwork.runs.file.keys import holds
from openwork.runs.file.settings import RunSettings
from openwork.training.settings import TrainingSettings


@dataclass(frozen=True)
class Idle:
    """A key that was written but does nothing unless `acts` says so; `sentence` tells why."""

    key: str
    acts: Callable[[RunSettings], bool]
    sentence: str


def _falls(run: RunSettings) -> bool:
    return run.training.schedule in ("cosine", "linear")


def _adam(run: RunSettings) -> bool:
    return run.training.optimiser in ("adam", "adamw")


def _reads_tokenizers(run: RunSettings) -> bool:
    return run.text.source_file is not None and (run.text.shared or run.text.target_file is not None)


def _masks(run: RunSettings) -> bool:
    return task_of(run.model) == "fill"


IDLE = (
    Idle(
        "decoding.length_penalty",
        lambda run: run.decoding.beam > 1,
        "decoding.length_penalty has no effect with decoding.beam = 1: there is nothing to rank",
    ),
    Idle(
        "decoding.length_rule",
        lambda run: run.decoding.beam > 1 and run.decoding.length_penalty > 0,
        "decoding.length_rule has no effect with decoding.beam = 1 or decoding.length_penalty = 0",
    ),
    Idle(
        "decoding.patience",
        lambda run: run.decoding.beam > 1,
        "decoding.patience has no effect with decoding.beam = 1",
    ),
    Idle(
        "decoding.diversity",
        lambda run: run.decoding.groups > 1,
        "decoding.diversity has no effect with decoding.groups = 1",
    ),
    Idle(
        "decoding.seed",
        lambda run: run.decoding.samples > 0,
        "decoding.seed has no effect with decoding.samples = 0: a search draws nothing",
    ),
    Idle(
        "text.samplings",
        lambda run: run.text.sampling > 0,
        "text.samplings has no effect with text.sampling = 0",
    ),
    Idle(
        "text.minimum_frequency",
        lambda run: run.text.kind != "unigram" and not _reads_tokenizers(run),
        'text.minimum_frequency has no effect with text.kind = "unigram", nor on a tokenizer from a file',
    ),
    Idle(
        "text.vocabulary_size",
        lambda run: not _reads_tokenizers(run),
        "text.vocabulary_size has no effect on a tokenizer from a file: that has its own",
    ),
    Idle(
        "text.kind",
        lambda run: not _reads_tokenizers(run),
        "text.kind has no effect on a tokenizer from a file: that has its own",
    ),
    Idle(
        "training.learning_rate",
        lambda run: run.training.schedule != "paper",
        'training.learning_rate has no effect with training.schedule = "paper": set training.schedule_scale instead',
    ),
    Idle(
        "training.schedule_scale",
        lambda run: run.training.schedule == "paper",
        'training.schedule_scale acts on training.schedule = "paper" alone: set training.learning_rate instead',
    ),
    Idle(
        "training.lowest_rate",
        _falls,
        "training.lowest_rate acts on the schedules cosine and linear alone",
    ),
    Idle(
        "training.slant",
        lambda run: run.training.schedule == "slanted-triangular",
        'training.slant acts on training.schedule = "slanted-triangular" alone',
    ),
    Idle("training.beta1", _adam, "training.beta1 acts on the optimisers adam and adamw alone"),
    Idle("training.beta2", _adam, "training.beta2 acts on the optimisers adam and adamw alone"),
    Idle(
        "training.epsilon",
        lambda run: run.training.optimiser in ("adam", "adamw", "adagrad"),
        "training.epsilon acts on the optimisers adam, adamw and adagrad alone",
    ),
    Idle(
        "training.momentum",
        lambda run: run.training.optimiser == "sgd",
        "training.momentum acts on the optimiser sgd alone",
    ),
    Idle("training.mask_share", _masks, 'training.mask_share acts on model.task = "fill" alone'),
    Idle("training.mask_whole_words", _masks, 'training.mask_whole_words acts on model.task = "fill" alone'),
    Idle(
        "training.smoothing_form",
        lambda run: run.training.label_smoothing > 0,
        "training.smoothing_form has no effect with training.label_smoothing = 0",
    ),
    Idle(
        "training.average",
        lambda run: run.training.average <= -(-run.training.steps // run.training.validate_every),
        "training.average asks for more checkpoints than the run makes, one for each validation",
    ),
    Idle(
        "data.held_out",
        lambda run: run.data.validation is None,
        "data.held_out has no effect where there are validation pairs already",
    ),
)


def _peak_warning(run: RunSettings) -> str:
    training = run.training
    if training.warmup < training.steps:
        return ""
    return (
        f"training.warmup ({training.warmup}) is no shorter than the run ({training.steps} steps): the rate only rises"
    )


def _validation_warning(run: RunSettings) -> str:
    training = run.training
    default = TrainingSettings.model_fields["validate_every"].default
    if training.validate_every <= training.steps or training.validate_every == default:
        return ""
    return f"training.validate_every ({training.validate_every}) is longer than the run ({training.steps} steps)"


def _cooldown_warning(run: RunSettings) -> str:
    training = run.training
    if training.warmup >= training.steps or training.warmup + training.cooldown <= training.steps:
        return ""
    return (
        f"training.warmup ({training.warmup}) and training.cooldown ({training.cooldown}) overlap in {training.steps} "
        "steps: the rate never reaches its peak"
    )


def _divergence_warning(run: RunSettings) -> str:
    dropouts = [value for key, value in run.model.model_dump().items() if key.endswith("dropout")]
    if run.training.r_drop == 0 or any(dropouts):
        return ""
    return "training.r_drop compares two passes that differ in dropout alone, and there is no dropout"


def _beam_warning(run: RunSettings) -> str:
    if run.decoding.beam < run.text.vocabulary_size or _reads_tokenizers(run):
        return ""
    return (
        f"decoding.beam ({run.decoding.beam}) is as large as the vocabulary ({run.text.vocabulary_size} pieces at most)"
    )


def _length_warning(run: RunSettings) -> str:
    decoding = run.decoding
    if decoding.minimum_length <= decoding.maximum_length:
        return ""
    return (
        f"decoding.minimum_length ({decoding.minimum_length}) is above decoding.maximum_length "
        f"({decoding.maximum_length}), which counts"
    )


def _repeat_warning(run: RunSettings) -> str:
    return (
        "decoding.no_repeat = 1 lets no token come twice in a translation, not even a comma"
        if run.decoding.no_repeat == 1
        else ""
    )


def _same_file_warning(run: RunSettings) -> str:
    for part in run.data.parts:
        # a model that restores masked pieces has the same text on both sides, and does not see all of it
        if part.source is not None and part.source == part.target and not _masks(run):
            return f"{part.source} is both source and target: the model would learn to copy"
    valid = run.data.validation
    files = {path for part in run.data.parts for path in (part.source, part.file, part.text) if path is not None}
    if valid is not None and {valid.source, valid.file, valid.text} & files:
        path = valid.source or valid.file or valid.text
        return f"{path} is what is trained on: validating with it says nothing of other sentences"
    return ""


RULES: tuple[Callable[[RunSettings], str], ...] = (
    _peak_warning,
    _cooldown_warning,
    _validation_warning,
    _divergence_warning,
    _beam_warning,
    _length_warning,
    _repeat_warning,
    _same_file_warning,
)


def find_warnings(settings: RunSettings, layer: Layer) -> list[str]:
    """One sentence for each, in the order of the tables; `layer` tells what was written."""
    return [*find_conflicts(settings, layer), *_file_warnings(settings)]


def find_conflicts(settings: RunSettings, layer: Layer) -> list[str]:
    """The same without a look at the files: a training reads them anyway."""
    idle = [rule.sentence for rule in IDLE if _is_meant(rule.key, settings, layer) and not rule.acts(settings)]
    return [*idle, *(sentence for sentence in (rule(settings) for rule in RULES) if sentence)]


def _is_meant(key: str, settings: RunSettings, layer: Layer) -> bool:
    """Whether the key was written with another value than its default, which openwork itself writes into run.toml."""
    section, name = key.split(".")
    values = getattr(settings, section)
    return holds(layer.mapping, [section, name]) and getattr(values, name) != type(values).model_fields[name].default


def _file_warnings(settings: RunSettings) -> Iterator[str]:
    data = settings.data
    for part in (*data.parts, *([data.validation] if data.validation is not None else [])):
        for path in (part.source, part.target, part.file, part.text):
            if path is not None and not os.path.exists(path):  # unlike pathlib's, it takes names that no disk takes
                yield f"{path} is not there, seen from {Path.cwd()}"
