"""Reading an experiment file: its settings with the lines of their keys, and the run that its trials change.

No torch and no Optuna here, so that a wrong file is refused at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from openwork.base.config import Layer, apply_assignments, build, read_run_file
from openwork.base.errors import ConfigError
from openwork.base.messages import nearest
from openwork.base.outputs import is_run
from openwork.base.toml import ValueOrigin
from openwork.bundles.folder import has_bundle
from openwork.experiments.experiment import Experiment
from openwork.experiments.search.spaces import READY
from openwork.experiments.settings import LENGTHS, ExperimentSettings
from openwork.runs.file.keys import known_keys
from openwork.runs.file.recipes import RUN_FILE, run_file_of

NOT_CHANGED = ("base", "training.seed", "training.steps", "training.metric")  # the experiment decides them
Flat = dict[str, Any]


def read_experiment(path: Path, assignments: Sequence[str] = ()) -> Experiment:
    """The experiment of a file, with other values such as "budget.updates=500".

    ConfigError for a mistake in it, in its base, or in one of its variants.
    """
    settings, origins = read_settings(path, assignments)
    for place, key in _changed_keys(settings):
        _check_key(place, key, origins)
    base, bundle = _base(path, settings, origins)
    if bundle is not None and settings.experiment.bundle is None:
        section = settings.experiment.model_copy(update={"bundle": str(bundle.absolute())})
        settings = settings.model_copy(update={"experiment": section})
    if settings.budget is None and settings.experiment.bundle is None:
        raise ConfigError(
            f"{path}: the experiment has no budget",
            hint=f"add a section [budget] with one of: {', '.join(LENGTHS)}",
            code="C121",
        )
    return Experiment(settings, base, origins)


def read_settings(path: Path, assignments: Sequence[str] = ()) -> tuple[ExperimentSettings, Mapping[str, ValueOrigin]]:
    """What the file itself says, and where; its base and the keys that it changes are not looked at."""
    layer = _prepared(apply_assignments(read_run_file(path), assignments), path)
    return build(ExperimentSettings, layer.mapping, layer.origins), layer.origins


def _prepared(layer: Layer, path: Path) -> Layer:
    """The layer with a name, with dotted keys in place of nested tables, and with the ready space written out."""
    mapping: dict[str, Any] = dict(layer.mapping)
    if isinstance(section := mapping.get("experiment"), dict):
        mapping["experiment"] = {"name": path.stem, **section}
    for name in ("space", "factors"):
        if isinstance(mapping.get(name), Mapping):
            mapping[name] = _flat(mapping[name])
    if isinstance(variants := mapping.get("variants"), list):
        mapping["variants"] = [_flat_variant(one) if isinstance(one, Mapping) else one for one in variants]
    if isinstance(space := mapping.get("space"), dict) and "use" in space:
        mapping["space"] = _with_ready(space, layer.origins)
    return Layer(mapping, layer.origins)


def _flat(table: Mapping[str, Any], prefix: str = "") -> Flat:
    """{"training": {"warmup": [1, 2]}} as {"training.warmup": [1, 2]}; a range stays a table."""
    found: Flat = {}
    for key, value in table.items():
        if isinstance(value, Mapping) and not ({"low", "high"} & value.keys()):
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def _flat_variant(table: Mapping[str, Any]) -> Flat:
    inner = {key: _flat(table[key]) for key in ("settings", "space") if isinstance(table.get(key), Mapping)}
    return {**table, **inner}


def _with_ready(space: Flat, origins: Mapping[str, ValueOrigin]) -> Flat:
    """The ready space that `use` names, with the other keys in place of its own."""
    own = {key: value for key, value in space.items() if key != "use"}
    name = space["use"]
    if not isinstance(name, str) or name not in READY:
        raise ConfigError(
            f"{origins.get('space.use', 'space.use')}: there is no ready space {name!r}",
            why=f"there are: {', '.join(READY)}",
            hint=nearest(str(name), READY) or "name one of these, or write the space out",
            code="C132",
        )
    return {**READY[name], **own}


def _changed_keys(settings: ExperimentSettings) -> Iterator[tuple[str, str]]:
    """Each key of a run file that the experiment changes, after the section that names it."""
    yield from (("space", key) for key in settings.space)
    yield from (("factors", key) for key in settings.factors.values)
    for number, variant in enumerate(settings.variants):
        yield from ((f"variants.{number}.settings", key) for key in variant.settings)
        yield from ((f"variants.{number}.space", key) for key in variant.space)


def _check_key(place: str, key: str, origins: Mapping[str, ValueOrigin]) -> None:
    known = {one.name for one in known_keys() if "[]" not in one.name} | {"model.kind"}
    if key in known and key not in NOT_CHANGED:
        return
    depth = f"{place}.{key}".split(".")
    where = next((at for end in range(len(depth), 0, -1) if (at := origins.get(".".join(depth[:end])))), place)
    if key in NOT_CHANGED:
        raise ConfigError(
            f"{where}: {key} cannot be varied",
            why="the experiment itself sets it, the same for all trials: by seeds, metric and [budget]",
            hint="leave it out",
            code="C133",
        )
    alike = nearest(key, known) or nearest(key, [one for one in known if one.endswith(f".{key}")], cutoff=0.0)
    raise ConfigError(
        f"{where}: unknown setting {key}",
        why="variants, factors and spaces name keys of a run file, with their section",
        hint=alike or "openwork config schema --text lists every key",
        code="C134",
    )


def _base(path: Path, settings: ExperimentSettings, origins: Mapping[str, ValueOrigin]) -> tuple[Layer, Path | None]:
    """The run that the trials change, and its bundle where heads are to be removed from it.

    A name is first looked for beside the experiment file.
    """
    named = Path(settings.experiment.base)
    base = path.parent / named if (path.parent / named).exists() else named
    if settings.experiment.kind == "heads" and has_bundle(base) and not (base / RUN_FILE).is_file():
        base = base.parent  # the bundle was named in place of its run
    file = run_file_of(base)
    if not file.is_file():
        raise ConfigError(
            f"{origins.get('experiment.base', path)}: base = {str(named)!r} is neither a run file nor a recipe",
            why="it names the run that the trials change; heads also take the folder of a finished run",
            hint="openwork config recipes lists the recipes",
            code="C135",
        )
    layer = read_run_file(file)
    trained = settings.experiment.kind == "heads" and is_run(file.parent) and has_bundle(file.parent)
    return layer, file.parent if trained else None
