"""openwork forecast"""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from openwork.base.errors import UsageError
from openwork.base.limits import LENGTH, SAMPLES, SEED
from openwork.cli.options import AsJson, Bundle, load
from openwork.cli.terminal import print_result


def forecast(
    *,
    bundle: Bundle,
    file: Annotated[Path, Argument(help="CSV or Parquet file of series, one value a line.", show_default=False)],
    steps: Annotated[int | None, Option(min=1, max=LENGTH, help="Values to predict; else the horizon.")] = None,
    columns: Annotated[str, Option(help="Names of the series, with commas between; else all of numbers.")] = "",
    samples: Annotated[int, Option(min=1, max=SAMPLES, help="Sampled continuations of each series.")] = 100,
    quantiles: Annotated[str, Option(help="Quantiles of the samples, with commas between.")] = "0.1,0.5,0.9",
    seed: Annotated[int, Option(min=0, max=SEED, help="Random seed of the samples.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Predict how series go on, as quantiles.

    openwork forecast series sales.csv --steps 6

    openwork forecast series sales.parquet --columns shop,web --quantiles 0.05,0.5,0.95 --json
    """
    chosen = _quantiles(quantiles)
    loaded = load(bundle)
    import numpy as np

    from openwork.data.readers.series import read_series
    from openwork.inference.forecaster import Forecaster

    forecaster = Forecaster(loaded)
    names = [name.strip() for name in columns.split(",")] if columns else []
    found: dict[str, Any] = {}
    for name, values in read_series(file, names).items():
        sampled = forecaster.sample(values, steps or forecaster.settings.horizon, samples, seed)
        found[name] = np.quantile(sampled, chosen, axis=0).T.tolist()
    rows = [(name, step, row) for name, steps in found.items() for step, row in enumerate(steps, start=1)]
    header = "\t".join(["series", "step", *map(str, chosen)])
    print_result(
        lambda: {"quantiles": chosen, "series": found},
        lambda: [header, *("\t".join([name, str(step), *(f"{one:.6g}" for one in row)]) for name, step, row in rows)],
        as_json=as_json,
    )


def _quantiles(text: str) -> list[float]:
    """UsageError for what is not numbers from 0 to 1."""
    try:
        found = [float(one) for one in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(0 <= one <= 1 for one in found):
        raise UsageError(
            f"--quantiles {text}: not numbers from 0 to 1", hint="write them as in --quantiles 0.1,0.5,0.9", code="U125"
        )
    return found
