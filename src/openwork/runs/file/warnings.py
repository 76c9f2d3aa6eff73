"""Warnings about a run file: settings without effect, settings that do not go together, missing files.

No torch here.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from openwork.base.config import Layer
from openwork.base.messages import msg
from openwork.base.tasks import task_of
from openwork.runs.file.keys import holds
from openwork.runs.file.settings import RunSettings
from openwork.training.settings import TrainingSettings


def find_warnings(settings: RunSettings, layer: Layer) -> list[str]:
    """One sentence for each; `layer` has the keys that were written."""
    return [*find_conflicts(settings, layer), *_file_warnings(settings)]


def find_conflicts(settings: RunSettings, layer: Layer) -> list[str]:
    """The same without the files: a training reads them anyway."""
    idle = [sentence for sentence in idle_warnings(settings) if _is_meant(sentence.split()[0], settings, layer)]
    return [*idle, *_conflict_warnings(settings)]


def _is_meant(key: str, settings: RunSettings, layer: Layer) -> bool:
    """Whether the key was written with another value than its default, which openwork itself writes into run.toml."""
    section, name = key.split(".")
    values = getattr(settings, section)
    return holds(layer.mapping, [section, name]) and getattr(values, name) != type(values).model_fields[name].default


def idle_warnings(run: RunSettings) -> Iterator[str]:
    """The keys that do nothing beside the other settings; each sentence begins with its key."""
    decoding, text, training = run.decoding, run.text, run.training
    if decoding.beam == 1:
        yield msg("decoding.length_penalty has no effect with decoding.beam = 1: there is nothing to rank")
    if decoding.beam == 1 or decoding.length_penalty == 0:
        yield msg("decoding.length_rule has no effect with decoding.beam = 1 or decoding.length_penalty = 0")
    if decoding.beam == 1:
        yield msg("decoding.patience has no effect with decoding.beam = 1")
    if decoding.groups == 1:
        yield msg("decoding.diversity has no effect with decoding.groups = 1")
    if decoding.samples == 0:
        yield msg("decoding.seed has no effect with decoding.samples = 0: a search draws nothing")
    if text.sampling == 0:
        yield msg("text.samplings has no effect with text.sampling = 0")
    if text.kind == "unigram" or _reads_tokenizers(run):
        yield msg('text.minimum_frequency has no effect with text.kind = "unigram", nor on a tokenizer from a file')
    if _reads_tokenizers(run):
        yield msg("text.vocabulary_size has no effect on a tokenizer from a file: that has its own")
        yield msg("text.kind has no effect on a tokenizer from a file: that has its own")
    if training.schedule == "paper":
        yield msg(
            'training.learning_rate has no effect with training.schedule = "paper": set training.schedule_scale instead'
        )
    else:
        yield msg(
            'training.schedule_scale acts on training.schedule = "paper" alone: set training.learning_rate instead'
        )
    if training.schedule not in ("cosine", "linear"):
        yield msg("training.lowest_rate acts on the schedules cosine and linear alone")
    if training.schedule != "slanted-triangular":
        yield msg('training.slant acts on training.schedule = "slanted-triangular" alone')
    if training.optimiser not in ("adam", "adamw", "muon"):
        yield msg("training.beta1 acts on the optimisers adam, adamw and muon alone")
        yield msg("training.beta2 acts on the optimisers adam, adamw and muon alone")
    if training.optimiser not in ("adam", "adamw", "muon", "adagrad"):
        yield msg("training.epsilon acts on the optimisers adam, adamw, muon and adagrad alone")
    if training.optimiser != "muon":
        yield msg("training.matrix_rate acts on the optimiser muon alone")
    if training.optimiser != "sgd":
        yield msg("training.momentum acts on the optimiser sgd alone")
    if task_of(run.model) != "fill":
        yield msg('training.mask_share acts on model.task = "fill" alone')
        yield msg('training.mask_whole_words acts on model.task = "fill" alone')
    if training.label_smoothing == 0:
        yield msg("training.smoothing_form has no effect with training.label_smoothing = 0")
    if training.average > -(-training.steps // training.validate_every):
        yield msg("training.average asks for more checkpoints than the run makes, one for each validation")
    if run.data.validation is not None:
        yield msg("data.held_out has no effect where there are validation pairs already")


def _conflict_warnings(run: RunSettings) -> Iterator[str]:
    """Settings that do not go together."""
    decoding, training = run.decoding, run.training
    if training.warmup >= training.steps:
        yield msg(
            f"training.warmup ({training.warmup}) is no shorter than the run ({training.steps} steps): the rate only "
            "rises"
        )
    elif training.warmup + training.cooldown > training.steps:
        yield msg(
            f"training.warmup ({training.warmup}) and training.cooldown ({training.cooldown}) overlap in "
            f"{training.steps} steps: the rate never reaches its peak"
        )
    if training.validate_every > training.steps and (
        training.validate_every != TrainingSettings.model_fields["validate_every"].default
    ):
        yield msg(
            f"training.validate_every ({training.validate_every}) is longer than the run ({training.steps} steps)"
        )
    dropouts = [value for key, value in run.model.model_dump().items() if key.endswith("dropout")]
    if training.r_drop != 0 and not any(dropouts):
        yield msg("training.r_drop compares two passes that differ in dropout alone, and there is no dropout")
    vocabulary_size = run.text.vocabulary_size
    if decoding.beam >= vocabulary_size and not _reads_tokenizers(run):
        yield msg(f"decoding.beam ({decoding.beam}) is as large as the vocabulary ({vocabulary_size} pieces at most)")
    if decoding.minimum_length > decoding.maximum_length:
        yield msg(
            f"decoding.minimum_length ({decoding.minimum_length}) is above decoding.maximum_length "
            f"({decoding.maximum_length}), which counts"
        )
    if decoding.no_repeat == 1:
        yield msg("decoding.no_repeat = 1 lets no token come twice in a translation, not even a comma")
    for part in run.data.parts:
        # a model that restores masked pieces has the same text on both sides, and does not see all of it
        if part.source is not None and part.source == part.target and task_of(run.model) != "fill":
            yield msg(f"{part.source} is both source and target: the model would learn to copy")
            return
    valid = run.data.validation
    files = {
        path
        for part in run.data.parts
        for path in (part.source, part.file, part.text, part.pictures, part.sounds)
        if path is not None
    }
    if valid is not None and {valid.source, valid.file, valid.text, valid.pictures, valid.sounds} & files:
        path = valid.source or valid.file or valid.text or valid.pictures or valid.sounds
        yield msg(f"{path} is what is trained on: validating with it says nothing of other sentences")


def _reads_tokenizers(run: RunSettings) -> bool:
    return run.text.source_file is not None and (run.text.shared or run.text.target_file is not None)


def _file_warnings(settings: RunSettings) -> Iterator[str]:
    data = settings.data
    for part in (*data.parts, *([data.validation] if data.validation is not None else [])):
        for path in (part.source, part.target, part.file, part.text, part.pictures, part.sounds):
            if path is not None and not os.path.exists(path):  # pathlib's raises for names that no disk takes
                yield msg(f"{path} is not there, seen from {Path.cwd()}")
