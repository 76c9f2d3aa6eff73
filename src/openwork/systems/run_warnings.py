"""What is allowed in a run file and still cannot be meant: settings without effect, files that are not there.

A rule is one entry of a table. No torch here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from openwork.base.config import Layer
from openwork.systems.config_show import holds
from openwork.systems.run_file import RunSettings


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


IDLE = (
    Idle(
        "decoding.length_penalty",
        lambda run: run.decoding.beam > 1,
        "decoding.length_penalty has no effect with decoding.beam = 1: there is nothing to rank",
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
    Idle("training.beta1", _adam, "training.beta1 acts on the optimisers adam and adamw alone"),
    Idle("training.beta2", _adam, "training.beta2 acts on the optimisers adam and adamw alone"),
    Idle(
        "training.momentum",
        lambda run: run.training.optimiser == "sgd",
        "training.momentum acts on the optimiser sgd alone",
    ),
    Idle(
        "training.smoothing_form",
        lambda run: run.training.label_smoothing > 0,
        "training.smoothing_form has no effect with training.label_smoothing = 0",
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
    if training.validate_every <= training.steps:
        return ""
    return f"training.validate_every ({training.validate_every}) is longer than the run ({training.steps} steps)"


RULES: tuple[Callable[[RunSettings], str], ...] = (_peak_warning, _validation_warning)


def find_warnings(settings: RunSettings, layer: Layer) -> list[str]:
    """One sentence for each, in the order of the tables; `layer` tells what was written."""
    idle = [rule.sentence for rule in IDLE if holds(layer.mapping, rule.key.split(".")) and not rule.acts(settings)]
    told = [sentence for sentence in (rule(settings) for rule in RULES) if sentence]
    return [*idle, *told, *_file_warnings(settings)]


def _file_warnings(settings: RunSettings) -> Iterator[str]:
    data = settings.data
    for part in (*data.parts, *([data.validation] if data.validation is not None else [])):
        for path in (part.source, part.target, part.file):
            if path is not None and not Path(path).exists():
                yield f"{path} is not there, seen from {Path.cwd()}"
