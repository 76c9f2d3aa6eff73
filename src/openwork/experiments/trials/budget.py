"""What a trial may cost: the size of its model, and the number of its updates."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from openwork.base.errors import ConfigError
from openwork.cost.budget import fitted
from openwork.cost.cost import Cost, cost_of, weights_of
from openwork.data.batching import BatchPlan
from openwork.experiments.settings import BudgetSection
from openwork.models.families import ModelSettings
from openwork.runs.corpus import RunCorpus
from openwork.runs.file.settings import RunSettings
from openwork.runs.length import MinutesBudget, with_steps


@dataclass(frozen=True)
class Batches:
    """Means over the first epoch: target tokens of an update, and tokens of a sentence on both sides, all with ends."""

    target_tokens: float
    source_length: float
    target_length: float


def batches_of(settings: RunSettings, corpus: RunCorpus) -> Batches:
    """The batches that a run makes of its corpus."""
    plan = BatchPlan.of(corpus.train, settings.batches, settings.training.seed, settings.versions, corpus.mixture)
    epoch = plan.epoch(0)
    rows = np.concatenate([epoch[number] for number in range(len(epoch))])
    sources, targets = plan.source_lengths[rows] + 1, plan.target_lengths[rows] + 1
    each = float(targets.sum()) / len(epoch) * settings.training.accumulate
    return Batches(each, float(sources.mean()), float(targets.mean()))


def cost_in(settings: RunSettings, corpus: RunCorpus, batches: Batches) -> Cost:
    """The cost of the run's model in sentences of its corpus."""
    sizes = corpus.tokenizers.sizes
    lengths = round(batches.source_length), round(batches.target_length)
    return cost_of(settings.model, *sizes, source_length=lengths[0], target_length=lengths[1])


def with_weights(settings: RunSettings, weights: int | None, corpus: RunCorpus) -> RunSettings:
    """The run with its model as wide as so many weights allow. UsageError where none is narrow enough."""
    if weights is None:
        return settings
    sizes = corpus.tokenizers.sizes
    model = fitted(settings.model, lambda model: _weights(model, *sizes), weights, settings.model.kind)
    return settings.model_copy(update={"model": model})


def _weights(model: ModelSettings, source: int, target: int) -> float:
    return weights_of(model, source) if source == target else cost_of(model, source, target).weights


def with_budget(
    settings: RunSettings, budget: BudgetSection, corpus: RunCorpus, kept: Collection[str]
) -> tuple[RunSettings, MinutesBudget | None]:
    """The run with the size and the length that the budget gives it; minutes are measured when it begins.

    Its warm-up, cool-down and interval of validations follow, but for `kept` keys. ConfigError where the budget is less
    than one update.
    """
    settings = with_weights(settings, budget.weights, corpus)
    if budget.seconds is not None:
        return settings, MinutesBudget(budget.seconds / 60, frozenset(kept))
    if budget.updates is not None:
        return with_steps(settings, budget.updates, kept), None
    batches = batches_of(settings, corpus)
    if budget.tokens is not None:
        key, given, each = "tokens", float(budget.tokens), batches.target_tokens
    else:
        assert budget.flops is not None, "a budget has one length"
        each = cost_in(settings, corpus, batches).training_flops * batches.target_tokens
        key, given = "flops", budget.flops
    if each > given:
        raise ConfigError(
            f"budget.{key} = {given:,.0f} is less than one update of this run",
            why=f"an update takes {each:,.0f}",
            hint="give a larger budget, a smaller model, or smaller batches",
            code="C140",
        )
    return with_steps(settings, round(given / each), kept), None
