"""The settings of an experiment file. No torch and no Optuna here."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

from openwork.base.config import Settings
from openwork.base.errors import RuleError
from openwork.base.limits import FACTOR, LINES, OPERATIONS, SEED, THREADS, UPDATES
from openwork.experiments.search.spaces import Choices, Dimension, Range, Value, grid_values
from openwork.training.progress import Metric

Kind = Literal["search", "factors", "protocol", "heads"]
SamplerName = Literal["grid", "random", "tpe", "gp", "guided"]
BY_VALUES = ("grid", "guided")  # samplers that go through the values of a list
TRIALS = 20  # of a search by chance or by model
DATA = ("data", "text", "filters")  # sections that decide pairs and pieces
LENGTHS = ("updates", "tokens", "flops", "seconds")
Seed = Annotated[int, Field(ge=0, le=SEED)]


def _tag(value: Any) -> str:
    return "range" if isinstance(value, Mapping | Range) else "choices"


TaggedDimension = Annotated[Annotated[Range, Tag("range")] | Annotated[Choices, Tag("choices")], Discriminator(_tag)]
Space = dict[str, TaggedDimension]


class ExperimentSection(Settings):
    """What is asked, of which run, and how it is carried out."""

    name: str = Field(default="experiment", min_length=1, description="name of the experiment")
    kind: Kind = Field(
        description="search: the best settings; factors: variants and values, each with every seed; protocol: "
        "structure against tuning; heads: a trained model without each of its heads"
    )
    base: str = Field(description="run file, recipe or folder of a run that the trials change")
    metric: Metric = Field(default="bleu", description="validation figure that trials are compared by")
    seeds: tuple[Seed, ...] = Field(
        default=(1,), min_length=1, description="a search uses the first, its best all; short searches one of their own"
    )
    test: str | None = Field(
        default=None, description="split of the run's corpus that the chosen trials are scored on, once, at the end"
    )
    test_source: str | None = Field(default=None, description="source sentences to test with, in place of a split")
    test_target: str | None = Field(default=None, description="their translations")
    trials: int | None = Field(
        default=None, ge=1, le=UPDATES, description=f"trials of each search; {TRIALS}, or all values of a list"
    )
    sampler: SamplerName = Field(
        default="tpe",
        description="grid: all combinations; guided: one setting after another, in the documents' order; random; tpe, "
        "gp: Bayesian",
    )
    prune: Literal["none", "median", "halving"] = Field(
        default="none", description="how a search ends trials early whose validations promise little"
    )
    workers: int = Field(default=1, ge=1, le=THREADS, description="processes that share the trials")
    storage: str | None = Field(
        default=None, description="URL of Optuna's storage; a SQLite file in the experiment's folder"
    )
    keep_checkpoints: bool = Field(default=False, description="keep the checkpoints of finished trials")
    bundle: str | None = Field(
        default=None, description="heads: the trained model; without it one is trained with each seed"
    )
    command: str | None = Field(default=None, description="command that started the experiment; openwork notes it")

    @model_validator(mode="after")
    def _go_together(self) -> "ExperimentSection":
        if len(set(self.seeds)) < len(self.seeds):
            raise RuleError(
                "a seed is named twice in seeds",
                hint="the same seed gives the same training; name each once",
                code="C115",
            )
        if (self.test_source is None) != (self.test_target is None) or (self.test and self.test_source):
            raise RuleError(
                "test_source and test_target go together, and replace test",
                hint="name both files, or a split of the corpus, or nothing to test with",
                code="C116",
            )
        if self.is_tested and self.metric in ("loss", "score"):
            raise RuleError(
                f'the metric "{self.metric}" is not measured on a test set, whose sentences are translated',
                hint='set metric = "bleu", "chrf" or "exact", or leave test out',
                code="C117",
            )
        return self

    @property
    def is_tested(self) -> bool:
        """Whether the chosen trials are scored on a test set."""
        return self.test is not None or self.test_source is not None


class BudgetSection(Settings):
    """What every trial may cost: exactly one length, and perhaps a number of weights."""

    updates: int | None = Field(default=None, ge=1, le=UPDATES, description="updates of each trial")
    tokens: int | None = Field(default=None, ge=1, le=LINES * 1000, description="target tokens of each trial")
    flops: float | None = Field(
        default=None, gt=0, le=OPERATIONS * OPERATIONS, description="floating-point operations of each trial"
    )
    seconds: float | None = Field(
        default=None, gt=0, le=float(LINES), description="seconds of training of each trial, on this machine"
    )
    search: float = Field(
        default=1.0, gt=0, le=1, description="part of that length that trials of a search train; its best train all"
    )
    weights: int | None = Field(
        default=None, ge=1, le=LINES * 1000, description="weights of each model, by its widths, at most"
    )
    width_factor: float | None = Field(
        default=None, gt=0, le=FACTOR, description="what all widths of each model are multiplied by"
    )

    @model_validator(mode="after")
    def _one_length(self) -> "BudgetSection":
        if sum(getattr(self, name) is not None for name in LENGTHS) != 1:
            raise RuleError(
                "a budget has one length, which is the same for every trial",
                hint=f"set exactly one of: {', '.join(LENGTHS)}",
                code="C118",
            )
        if self.weights is not None and self.width_factor is not None:
            raise RuleError(
                "weights and width_factor both decide the widths of the models",
                hint="leave one of them out",
                code="C119",
            )
        return self

    @property
    def of_search(self) -> "BudgetSection":
        """The budget of a search's trials."""
        name = next(name for name in LENGTHS if getattr(self, name) is not None)
        length = getattr(self, name)
        part = max(1, round(length * self.search)) if isinstance(length, int) else length * self.search
        return self.model_copy(update={name: part})


class VariantSection(Settings):
    """A structure, a row of a table or an ablation: the base with other settings."""

    name: str = Field(min_length=1, description="name of the variant")
    settings: dict[str, Value] = Field(
        default={}, description="settings that it changes; with model.preset or model.kind the whole model"
    )
    space: Space = Field(default={}, description="what only this variant searches; protocol: its own settings")
    baseline: bool = Field(default=False, description="protocol: its best settings are those that the others get")


class FactorsSection(Settings):
    """Settings and their values: each alone, or all combinations."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Choices] = Field(init=False)  # pyrefly: ignore[bad-override]
    cross: bool = Field(default=False, description="all combinations of all values")

    @property
    def values(self) -> dict[str, Choices]:
        """Each setting with its values."""
        return self.__pydantic_extra__ or {}


class ExperimentSettings(Settings):
    """A whole experiment file."""

    experiment: ExperimentSection
    budget: BudgetSection | None = None
    space: Space = Field(default={}, description="settings to search, each with a list of values or a range")
    variants: tuple[VariantSection, ...] = ()
    factors: FactorsSection = FactorsSection()

    @property
    def has_short_searches(self) -> bool:
        """Whether trials of a search train a part of the budget, and count for nothing but the choice."""
        return self.budget is not None and self.budget.search < 1

    @property
    def search_seed(self) -> int:
        """The seed of all searches. Short ones have one that no other trial has, so that none is flattered by it."""
        seeds = self.experiment.seeds
        return min({*range(1, len(seeds) + 2)} - {*seeds}) if self.has_short_searches else seeds[0]

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> "ExperimentSettings":
        kind, names = self.experiment.kind, [variant.name for variant in self.variants]
        if len(set(names)) < len(names):
            raise RuleError(
                "two variants have the same name", hint="give every table [[variants]] a name of its own", code="C120"
            )
        spaces = [{**self.space, **variant.space} for variant in self.variants] or [self.space]
        if kind == "search" and not all(spaces):
            raise RuleError(
                "there is nothing to search: the space is empty",
                hint="add a section [space] with settings and their values or ranges",
                code="C122",
            )
        if kind == "factors" and not (self.variants or self.factors.values):
            raise RuleError(
                "there is nothing to compare: no variant and no factor",
                hint="add tables [[variants]], or a section [factors] with settings and their values",
                code="C123",
            )
        baselines = sum(variant.baseline for variant in self.variants)
        if kind == "protocol" and not (self.space and 0 < baselines < len(self.variants)):
            raise RuleError(
                "the protocol needs a space that all structures share, a baseline and another structure",
                hint="add [space], and tables [[variants]] of which some have baseline = true",
                code="C124",
            )
        if (self.factors.values and kind != "factors") or (kind in ("factors", "heads") and any(spaces)):
            raise RuleError(
                f'an experiment of the kind "{kind}" has no such section',
                hint="space is for searches and the protocol, factors for the kind factors",
                code="C125",
            )
        if kind == "heads" and (self.variants or self.experiment.is_tested):
            raise RuleError(
                "heads are removed from one model, and scored on the validation pairs",
                hint="leave variants and test out",
                code="C126",
            )
        self._check_values(spaces)
        return self

    def _check_values(self, spaces: list[dict[str, Dimension]]) -> None:
        keys = {key for space in spaces for key in space} | set(self.factors.values)
        keys |= {key for variant in self.variants for key in variant.settings}
        if self.experiment.sampler in BY_VALUES and (endless := _endless(spaces)):
            raise RuleError(
                f'{endless} is a range, and the sampler "{self.experiment.sampler}" goes through single values',
                hint="give a list of values, or add points = 4 or a step to the range",
                code="C127",
            )
        if self.experiment.kind == "protocol" and (others := sorted(k for k in keys if k.split(".")[0] in DATA)):
            raise RuleError(
                f"{others[0]} changes the data or its pieces, which are the same for all structures of the protocol",
                hint="set it in the base, for all",
                code="C128",
            )
        sized = self.budget is not None and self.budget.weights is not None
        if sized and any(key.startswith("model.") and key.endswith("width") for space in spaces for key in space):
            raise RuleError(
                "budget.weights decides the widths, and a space would set them too",
                hint="leave budget.weights or the widths in the space out",
                code="C129",
            )


def _endless(spaces: list[dict[str, Dimension]]) -> str:
    """The first range without single values; empty if there is none."""
    return next((key for space in spaces for key, one in space.items() if not grid_values(one)), "")
