"""Forecasts: sampled by hand and in the class, scaled, repeated; on the command line, and scored beside baselines."""

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from openwork.base.errors import BundleError, DataError, UsageError
from openwork.base.lines import ignore_progress
from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.bundles.settings import BundleSettings
from openwork.cli.main import app
from openwork.data.records import Pair
from openwork.evaluation.evaluate import EvaluationSet
from openwork.evaluation.forecasts import SAMPLES, baselines, evaluate_forecasts, naive
from openwork.inference.forecaster import Forecaster
from openwork.inference.scorer import Scorer
from openwork.models.build import build_model
from openwork.models.settings import DecoderSettings
from openwork.signals.bins import Bins
from openwork.signals.settings import SeriesSettings
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.words import Labels

SERIES = SeriesSettings(context=4, horizon=2, season=3, bins=6, limit=2.0)
HISTORY = [9.0, 1.0, 3.0, -2.0, 2.0]


def bundle(series: SeriesSettings | None = SERIES) -> Bundle:
    names = Labels.of(Bins(SERIES).names)
    settings = DecoderSettings(width=8, heads=2, feedforward_width=8, layers=1, maximum_length=10, positions="learned")
    with torch.random.fork_rng():
        torch.manual_seed(5)
        model = build_model(settings, names.vocabulary_size, names.vocabulary_size)
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(torch.randn_like(weight))  # so that bins differ
    return Bundle(BundleSettings(model=settings, series=series), TokenizerPair(names, names), model.eval())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_bundle(tmp_path / "bundle", bundle())
    (tmp_path / "table.csv").write_text("a,b\n" + "".join(f"{value},{2 * value}\n" for value in HISTORY))
    return tmp_path


def test_samples_have_the_model_s_probabilities() -> None:
    """Two ways, one answer: the share of each pair of bins among samples, and its score as a text."""
    model, bins = bundle(), Bins(SERIES)
    scale = bins.scale(HISTORY[-4:])
    samples = Forecaster(model).sample(HISTORY, 2, 20_000)
    assert samples.shape == (20_000, 2)
    counts = Counter(bins.text(row, scale) for row in samples.tolist())
    texts = [f"{one} {two}" for one in bins.names for two in bins.names]
    scorer, source = Scorer(model.model, model.tokenizers), bins.text(HISTORY[-4:], scale)
    scored = [one.log_probabilities[:2] for one in scorer.score([(source, text) for text in texts])]
    probabilities = np.exp([sum(one) for one in scored])
    shares = np.array([counts[text] / 20_000 for text in texts])
    # the forecast leaves out the symbols, which a text may hold
    known = np.array([one[0] for one in scored]).reshape(6, 6)[:, 0]
    first = np.exp(known) / np.exp(known).sum()
    rest = probabilities.reshape(6, 6) / probabilities.reshape(6, 6).sum(axis=1, keepdims=True)
    assert shares.reshape(6, 6) == pytest.approx(first[:, None] * rest, abs=0.015)


def test_a_forecast_is_the_same_for_the_same_seed() -> None:
    forecaster = Forecaster(bundle())
    first, second, other = (forecaster.sample(HISTORY, 3, 20, seed) for seed in (1, 1, 2))
    assert (first == second).all() and (first != other).any()
    assert (forecaster.sample([5.0, *HISTORY], 3, 20, 1) == first).all()  # no more than the context is read


@pytest.mark.parametrize("scaling", ["mean", "standard"])
def test_a_factor_of_a_series_is_one_of_its_forecast(scaling: str) -> None:
    forecaster = Forecaster(bundle(SeriesSettings.model_validate({**SERIES.model_dump(), "scaling": scaling})))
    found, larger = (forecaster.sample([size * value for value in HISTORY], 3, 20) for size in (1.0, 8.0))
    assert larger == pytest.approx(8 * found)


def test_one_value_is_history_enough() -> None:
    assert np.isfinite(Forecaster(bundle()).sample([0.0], 5, 3)).all()


def test_too_many_steps_and_other_bundles_are_refused() -> None:
    with pytest.raises(UsageError, match="places for 5") as refused:
        Forecaster(bundle()).sample(HISTORY, 6, 1)
    assert refused.value.code == "U128" and Forecaster(bundle()).sample(HISTORY, 5, 1).shape == (1, 5)
    with pytest.raises(UsageError) as refused:
        Forecaster(bundle(None))
    assert refused.value.code == "U127"


def test_pieces_that_are_not_the_bins_are_refused(tmp_path: Path) -> None:
    write_bundle(tmp_path / "other", bundle(SERIES.model_copy(update={"bins": 7})))
    with pytest.raises(BundleError) as refused:
        load_bundle(tmp_path / "other")
    assert refused.value.code == "B080"


def test_the_command_shows_quantiles(folder: Path) -> None:
    run, arguments = CliRunner().invoke, ["forecast", str(folder / "bundle"), str(folder / "table.csv")]
    shown = run(app, [*arguments, "--steps", "3", "--columns", "b"])
    assert shown.exit_code == 0, shown.output
    lines = [line.split("\t") for line in shown.output.splitlines()]
    assert lines[0] == ["series", "step", "0.1", "0.5", "0.9"] and [line[:2] for line in lines[1:]] == [
        ["b", "1"], ["b", "2"], ["b", "3"],
    ]  # fmt: skip
    found = json.loads(run(app, [*arguments, "--quantiles", "0,1", "--seed", "3", "--samples", "50", "--json"]).output)
    samples = Forecaster(bundle()).sample(HISTORY, 2, 50, 3)
    assert found["quantiles"] == [0, 1] and np.array(found["series"]["a"]) == pytest.approx(
        np.stack([samples.min(axis=0), samples.max(axis=0)], axis=1)
    )
    assert np.array(found["series"]["b"]) == pytest.approx(2 * np.array(found["series"]["a"]))


@pytest.mark.parametrize("quantiles", ["", "half", "0.5,1.5", "nan"])
def test_quantiles_are_shares(quantiles: str, folder: Path) -> None:
    arguments = ["forecast", str(folder / "bundle"), str(folder / "table.csv"), "--quantiles", quantiles]
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code == 2 and "U125" in refused.output


def test_naive_forecasts_by_hand() -> None:
    """Changes over one value and over two, up and down; the last season is 3 1, and the next is the same."""
    history = [2.0, 3.0, 1.0, 3.0, 1.0]
    last, seasonal = (naive(season)(history, 2, 0) for season in (1, 2))
    assert set(last[:, 0]) == {0.0, 2.0, -1.0, 3.0} and set(last[:, 1]) == {0.0, 1.0, 2.0}
    assert set(seasonal[:, 0]) == {2.0, 3.0, 4.0} and set(seasonal[:, 1]) == {0.0, 1.0, 2.0}
    assert np.median(last, axis=0).tolist() == [1, 1] and np.median(seasonal, axis=0).tolist() == [3, 1]


WAVE = [10 + 3 * np.sin(place * 2 * np.pi / 3) + 0.1 * place + (place * 7 % 5) / 20 for place in range(60)]


def test_ets_follows_trend_and_season() -> None:
    pytest.importorskip("statsmodels", reason="needs the extra series")
    assert list(baselines(1)) == ["last value", "ETS"]
    samples = baselines(3)["ETS"](WAVE[:54], 6, 0)
    assert samples.shape == (SAMPLES, 6)
    assert np.median(samples, axis=0) == pytest.approx(WAVE[54:], abs=0.3)
    assert (samples == baselines(3)["ETS"](WAVE[:54], 6, 0)).all()


def test_scores_are_those_of_each_forecast() -> None:
    """MASE by hand for the last season: the errors of every origin over the mean change of a season before it."""
    pytest.importorskip("statsmodels", reason="needs the extra series")
    before, after = WAVE[:50], WAVE[50:]
    tested = EvaluationSet([Pair(*(" ".join(map(repr, map(float, part))) for part in (before, after)))], "wave")
    found = {one.name: one.value for one in evaluate_forecasts(bundle(), tested, ignore_progress).scores}
    expected = []
    for origin in range(50, 59):
        unit = np.mean([abs(WAVE[place] - WAVE[place - 3]) for place in range(3, origin)])
        errors = [abs(WAVE[origin + step] - WAVE[origin + step - 3]) for step in (0, 1)]
        expected.append(np.mean(errors) / unit)
    assert found["MASE: seasonal naive"] == pytest.approx(np.mean(expected))
    assert found["MASE: ETS - model"] == pytest.approx(found["MASE: ETS"] - found["MASE: model"])
    assert found["CRPS: ETS"] < found["CRPS: seasonal naive"] < found["CRPS: last value"]
    longer = evaluate_forecasts(bundle(), tested, ignore_progress, season=1)
    assert longer.examples == 9 and not any("seasonal" in one.name for one in longer.scores)


def test_what_cannot_be_scored_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tested = EvaluationSet([Pair("1 2 3 1 2 3 1", "2 3 1")], "loop")
    with pytest.raises(DataError, match="loop: series 1") as refused:
        pytest.importorskip("statsmodels", reason="needs the extra series")
        evaluate_forecasts(bundle(), tested, ignore_progress)
    assert refused.value.code == "D164"
    with pytest.raises(DataError) as refused:
        evaluate_forecasts(bundle(), tested, ignore_progress, season=7)
    assert refused.value.code == "D164"
    arguments = ["evaluate", str(folder / "bundle"), "--series", str(folder / "table.csv")]
    assert "U126" in CliRunner().invoke(app, [*arguments, "--next"]).output
    assert "D160" in CliRunner().invoke(app, arguments).output
    monkeypatch.setitem(sys.modules, "statsmodels.tsa.exponential_smoothing.ets", None)
    with pytest.raises(UsageError) as missing:
        baselines(1)
    assert missing.value.code == "U124"
