"""Evaluation of forecasts over rolling origins, beside the last value, the last season and exponential smoothing (ETS).

Every method gives samples: of how its series goes on. Those of the last value and of the last season are these values
plus and minus changes over as many steps in the history; those of ETS are simulated paths of the model that fits best.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from openwork.base.errors import DataError, UsageError
from openwork.base.lines import OnProgress
from openwork.bundles.bundle import Bundle
from openwork.data.series import origins
from openwork.evaluation.evaluate import BOOTSTRAP, EvaluationSet
from openwork.evaluation.labels import LabelEvaluation
from openwork.inference.forecaster import Forecaster
from openwork.metrics.forecasts import Values, block_interval, crps, naive_error
from openwork.metrics.translation import Score
from openwork.signals.settings import SeriesSettings

SAMPLES = 100  # of each forecast, whoever makes it
TRENDS = ((None, False), ("add", False), ("add", True))  # of ETS: none, one that goes on, one that fades

History = Sequence[float]
Method = Callable[[History, int, int], Values]
"""Samples (sample, step) of what follows a history: so many steps, from a seed."""


def evaluate_forecasts(
    bundle: Bundle, tested: EvaluationSet, advanced: OnProgress, *, season: int | None = None
) -> LabelEvaluation:
    """MASE and CRPS of a bundle and of the baselines, with the differences of each baseline from the bundle.

    A forecast from every origin of the test set has the bundle's horizon. Its point forecast is the median. Both scores
    are in units of the mean absolute change over a season in the history, and so of no unit; intervals are by blocks
    of a horizon's origins. `season`: that of the series, where it is another than the bundle's.
    """
    forecaster = Forecaster(bundle)
    settings = forecaster.settings.model_copy(update={"season": season or forecaster.settings.season})
    methods: dict[str, Method] = {
        "model": lambda history, steps, seed: forecaster.sample(history, steps, SAMPLES, seed),
        **baselines(settings.season),
    }
    errors = np.array(list(_errors(methods, tested, settings, advanced)))  # (origin, method, metric)
    signature = f"horizon:{settings.horizon}|season:{settings.season}|samples:{SAMPLES}|blocks:{settings.horizon}"
    scores, names = [], list(methods)
    for metric, name in enumerate(("MASE", "CRPS")):
        found = errors[:, :, metric]
        columns = {each: found[:, place] for place, each in enumerate(names)}
        columns |= {f"{each} - model": columns[each] - columns["model"] for each in names[1:]}
        for each, values in columns.items():
            low, high = block_interval(_mean, values, settings.horizon, BOOTSTRAP)
            scores.append(Score(f"{name}: {each}", _mean(values), low, high, f"{signature}|bs:{BOOTSTRAP}"))
    return LabelEvaluation(len(errors), tuple(scores))


def _mean(values: Values) -> float:
    return float(values.mean())


def _errors(
    methods: dict[str, Method], tested: EvaluationSet, settings: SeriesSettings, advanced: OnProgress
) -> Iterator[list[tuple[float, float]]]:
    """The MASE and the CRPS of each method's forecast, from one origin after another."""
    seed, needed = 0, settings.season * -(-settings.horizon // settings.season) + 1  # for a change over as many seasons
    for number, pair in enumerate(tested.pairs, start=1):
        place = f"{tested.name}: series {number}"
        for before, after in origins(pair, settings, place):
            unit = naive_error(before, settings.season)
            if len(before) < needed or not unit > 0:
                raise DataError(
                    f"{place}: the values before the test are too few, or never change from one season to the next",
                    why=f"MASE divides by that change, over {settings.season:,} values; {needed:,} must come before",
                    hint="name another season, or leave this series out",
                    code="D164",
                )
            truth, found = np.array(after), []
            for method in methods.values():
                samples = method(before, settings.horizon, seed)
                wrong = np.abs(np.median(samples, axis=0) - truth)
                found.append((wrong.mean() / unit, crps(samples, truth).mean() / unit))
            yield found
            seed += 1
        advanced(1)


def baselines(season: int) -> dict[str, Method]:
    """The last value, the last season if there is one, and ETS."""
    seasonal = {"seasonal naive": naive(season)} if season > 1 else {}
    return {"last value": naive(1), **seasonal, "ETS": ets(season)}


def naive(season: int) -> Method:
    """The last value of the same place in a season, which is the median; its errors are changes over as many values."""

    def forecast(history: History, steps: int, seed: int) -> Values:
        values, random = np.array(history), np.random.default_rng(seed)
        columns = []
        for step in range(steps):
            lag = season * (step // season + 1)
            changes = random.choice(values[lag:] - values[:-lag], SAMPLES // 2)
            columns.append(values[len(values) + step - lag] + np.concatenate((changes, -changes)))
        return np.stack(columns, axis=1)

    return forecast


def ets(season: int) -> Method:
    """Exponential smoothing with additive errors, its trend and season chosen by AICc (Hyndman et al. 2002)."""
    try:
        from statsmodels.tsa.exponential_smoothing.ets import ETSModel  # type: ignore[import-not-found]
    except ImportError as error:
        raise UsageError(
            "ETS is computed by the package statsmodels, which is not installed",
            hint="pip install statsmodels (the extra series)",
            code="U124",
        ) from error

    def fitted(values: Values, trend: tuple[str | None, bool], periods: int | None) -> Any:
        seasonal = {} if periods is None else {"seasonal": "add", "seasonal_periods": periods}
        return ETSModel(values, trend=trend[0], damped_trend=trend[1], **seasonal).fit(disp=False)

    def forecast(history: History, steps: int, seed: int) -> Values:
        values, seasons = np.array(history), (None, season) if 1 < season <= len(history) // 2 else (None,)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that did not converge, which another may beat
            best = min((fitted(values, *form) for form in product(TRENDS, seasons)), key=lambda fit: fit.aicc)
        paths = best.simulate(steps, anchor="end", repetitions=SAMPLES, rng=np.random.default_rng(seed))
        return np.asarray(paths).reshape(steps, SAMPLES).T

    return forecast
