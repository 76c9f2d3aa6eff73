"""The length that a budget gives a trial, counted by hand, and budgets that no trial fits."""

from pathlib import Path

import pytest

from experiments.samples import HEAD, write_experiment
from openwork.base.errors import ConfigError, UsageError
from openwork.experiments.experiment import Point
from openwork.experiments.file import read_experiment
from openwork.experiments.settings import BudgetSection
from openwork.experiments.trials.budget import batches_of, cost_in, with_budget
from openwork.runs.corpus import RunCorpus, prepare_corpus
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder

Prepared = tuple[RunSettings, RunCorpus]
FACTORS = HEAD.format(kind="factors", more="") + '[[variants]]\nname = "one"\n'


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    folder = tmp_path_factory.mktemp("budget")
    settings = read_experiment(write_experiment(folder, FACTORS)).run_settings(Point("one", None, {}, 1))
    (folder / "corpus").mkdir()
    return settings, prepare_corpus(settings, RunFolder(folder / "corpus"), lambda line: None)


def test_updates_bring_their_warm_up_cool_down_and_validations(prepared: Prepared):
    settings, corpus = prepared
    training = with_budget(settings, BudgetSection(updates=6), corpus, ())[0].training
    assert (training.steps, training.warmup, training.validate_every) == (6, 5, 2)
    training = with_budget(settings, BudgetSection(updates=6), corpus, ("warmup",))[0].training
    assert training.warmup == 10, "what the experiment sets stays"


def test_tokens_are_those_of_the_mean_batch(prepared: Prepared):
    settings, corpus = prepared
    each = batches_of(settings, corpus).target_tokens
    every = sum(corpus.train.target.lengths + 1)
    assert each * round(every / each) == pytest.approx(every), "an epoch has all of them"
    for updates in (1, 5, 17):
        found, minutes = with_budget(settings, BudgetSection(tokens=round(each * updates)), corpus, ())
        assert found.training.steps == updates and minutes is None
    doubled = settings.model_copy(update={"training": settings.training.model_copy(update={"accumulate": 2})})
    assert with_budget(doubled, BudgetSection(tokens=round(each * 6)), corpus, ())[0].training.steps == 3


def test_operations_are_those_of_the_model(prepared: Prepared):
    settings, corpus = prepared
    batches = batches_of(settings, corpus)
    each = cost_in(settings, corpus, batches).training_flops * batches.target_tokens
    assert with_budget(settings, BudgetSection(flops=9 * each), corpus, ())[0].training.steps == 9


def test_seconds_are_measured_when_the_training_begins(prepared: Prepared):
    settings, corpus = prepared
    found, minutes = with_budget(settings, BudgetSection(seconds=90), corpus, ("warmup",))
    assert found == settings and minutes is not None
    assert minutes.minutes == 1.5 and minutes.kept == {"warmup"}


def test_models_of_a_number_of_weights(prepared: Prepared):
    settings, corpus = prepared
    most = 40_000
    found = with_budget(settings, BudgetSection(updates=1, weights=most), corpus, ())[0]
    assert 0.9 * most < cost_in(found, corpus, batches_of(found, corpus)).weights <= most


@pytest.mark.parametrize("budget", [BudgetSection(tokens=5), BudgetSection(flops=1000.0)])
def test_less_than_one_update_is_no_budget(prepared: Prepared, budget: BudgetSection):
    with pytest.raises(ConfigError, match="is less than one update of this run") as refused:
        with_budget(*prepared[:1], budget, prepared[1], ())
    assert refused.value.code == "C140"


def test_too_few_weights_for_any_width(prepared: Prepared):
    with pytest.raises(UsageError):
        with_budget(prepared[0], BudgetSection(updates=1, weights=10), prepared[1], ())


def test_a_factor_on_all_widths(tmp_path: Path):
    text = FACTORS.replace("updates = 4", "updates = 4\nwidth_factor = 0.5")
    model = read_experiment(write_experiment(tmp_path, text)).run_settings(Point("one", None, {}, 1)).model
    assert (model.width, getattr(model, "feedforward_width", None)) == (8, 12)
