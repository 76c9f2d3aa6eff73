"""An experiment that was read, and the settings of each of its trials. No torch and no Optuna at load."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec

from openwork.base.config import Layer, apply_assignments, fingerprint
from openwork.base.errors import ConfigError, OpenworkError
from openwork.base.fields import shortened
from openwork.base.toml import ValueOrigin, write_value
from openwork.experiments.heads import HEAD
from openwork.experiments.search.spaces import Dimension, Range, Value
from openwork.experiments.settings import BudgetSection, ExperimentSettings, VariantSection
from openwork.runs.file.resolve import resolve_layer
from openwork.runs.file.settings import RunSettings

ALONE = VariantSection(name="base")  # the variant of an experiment that names none
OTHER_MODEL = ("model.preset", "model.kind")
WRONG_VALUES = ("C011", "C013")  # an unknown key, and a value that a key never takes
WIDTH_STEP = 2


@dataclass(frozen=True)
class Point:
    """What a trial trains: a variant, with these settings besides, and a seed.

    `group` separates trials whose best are looked for apart; `settings` are in the order of the file; `short`: with
    the budget of a search's trials.
    """

    variant: str
    group: str | None
    settings: Mapping[str, Value]
    seed: int
    short: bool = False


@dataclass(frozen=True)
class Experiment:
    """`base`: the run that the trials change; `origins`: the places of the experiment's keys."""

    settings: ExperimentSettings
    base: Layer
    origins: Mapping[str, ValueOrigin] = field(default_factory=dict)

    @property
    def budget(self) -> BudgetSection:
        """What every trial may cost."""
        assert self.settings.budget is not None, "this experiment trains nothing"
        return self.settings.budget

    def budget_of(self, point: Point) -> BudgetSection:
        """What the trial may cost."""
        return self.budget.of_search if point.short else self.budget

    @cached_property
    def variants(self) -> dict[str, VariantSection]:
        """By name; one of the base alone where the file has none."""
        return {variant.name: variant for variant in self.settings.variants or (ALONE,)}

    def variant(self, name: str) -> VariantSection:
        """The variant of a trial; the base alone for a model whose heads are removed."""
        return self.variants.get(name, ALONE)

    def space_of(self, variant: str) -> dict[str, Dimension]:
        """The whole space of a search of the variant."""
        return {**self.settings.space, **self.variants[variant].space}

    def run_settings(self, point: Point) -> RunSettings:
        """The run of a trial, before its budget gives it a length. OpenworkError where its settings do not fit."""
        variant = self.variant(point.variant)
        layer = _without_model(self.base) if any(key in variant.settings for key in OTHER_MODEL) else self.base
        decided: dict[str, Value] = {"training.seed": point.seed, "training.metric": self.settings.experiment.metric}
        assignments = [*_assignments(variant.settings), *_assignments(_trained(point)), *_assignments(decided)]
        try:
            settings = resolve_layer(apply_assignments(layer, assignments), _silent, choose_rest=False).settings
        except OpenworkError as error:
            error.what = _without_place(error.what, assignments)
            raise
        training = settings.training
        if training.workers is None:  # so that the figures do not depend on how many workers share the cores
            training = training.model_copy(update={"workers": 1})
        return self._scaled(settings.model_copy(update={"training": training}))

    def identity(self, point: Point) -> str:
        """The same for points that are the same training, whatever their names."""
        try:
            run = fingerprint(self.run_settings(point))
        except OpenworkError:  # the trial will fail, and say why
            run = f"{point.variant} {sorted(point.settings.items())} {point.seed}"
        return f"{run} {'short' if point.short else ''}{point.settings.get(HEAD, '')}".rstrip()

    def check(self) -> None:
        """ConfigError for a variant that is no run, and for a key or value that a variant can never have."""
        seed = self.settings.experiment.seeds[0]
        for number, variant in enumerate(self.variants.values()):
            where = self.origins.get(f"variants.{number}") or self.origins.get("experiment.base") or "experiment"
            try:
                self.run_settings(Point(variant.name, None, {}, seed))
            except OpenworkError as error:
                raise placed(f"{where}: variant {variant.name}", error) from error
            for section, key, value in self._ends(variant):
                try:
                    self.run_settings(Point(variant.name, None, {key: value}, seed))
                except OpenworkError as error:
                    if error.code in WRONG_VALUES:
                        place = self.origins.get(f"{section}.{key}") or where
                        raise placed(f"{place}: variant {variant.name}", error) from error

    def check_extras(self) -> None:
        """ConfigError where a package is not installed that the searches or the report will need."""
        section = self.settings.experiment
        needed = ["optuna"] if section.kind in ("search", "protocol") else []
        needed += ["scipy"] if len(section.seeds) > 1 or section.sampler == "gp" else []
        if missing := [name for name in needed if find_spec(name) is None]:
            raise ConfigError(
                f"this experiment and its report need {' and '.join(missing)}, not installed here",
                why="optuna searches; scipy knows the distributions that intervals and tests go by",
                hint=f"pip install {' '.join(missing)} (the extra experiments)",
                code="C139",
            )

    def _ends(self, variant: VariantSection) -> Iterator[tuple[str, str, Value]]:
        """The values of each setting that is varied, or the ends of its range; after their section."""
        for key, values in self.settings.factors.values.items():
            yield from (("factors", key, value) for value in values)
        for key, dimension in self.space_of(variant.name).items():
            values = (dimension.low, dimension.high) if isinstance(dimension, Range) else dimension
            yield from (("space", key, value) for value in values)

    def _scaled(self, settings: RunSettings) -> RunSettings:
        factor = self.settings.budget.width_factor if self.settings.budget else None
        if not factor:
            return settings
        from openwork.cost.budget import scaled  # which loads torch

        heads = getattr(settings.model, "heads", 1)
        step = heads * WIDTH_STEP
        width = max(step, step * round(settings.model.width * factor / step))
        return settings.model_copy(update={"model": scaled(settings.model, width)})


def _without_model(layer: Layer) -> Layer:
    return replace(layer, mapping={key: value for key, value in layer.mapping.items() if key != "model"})


def _trained(point: Point) -> dict[str, Value]:
    """The settings that the training of a point has: a head is removed afterwards."""
    return {key: value for key, value in point.settings.items() if key != HEAD}


def _assignments(settings: Mapping[str, Value]) -> list[str]:
    return [f"{key}={write_value(value)}" for key, value in settings.items()]


def placed(place: str, error: OpenworkError) -> ConfigError:
    """The error with the place that it comes from."""
    return ConfigError(f"{place}: {error.what}", why=error.why, hint=error.hint, code=error.code)


def _without_place(what: str, assignments: Sequence[str]) -> str:
    """The sentence without the assignment that gave the value to the run: the user has written none."""
    for assignment in assignments:
        what = what.removeprefix(f"--set {shortened(assignment)}: ")
    return what


def _silent(line: str) -> None:
    """Reports of a trial's own settings are not shown: the experiment says what it trains."""
