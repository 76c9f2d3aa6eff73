"""Series that the package statsmodels ships (the extra `series`), each divided by time.

`co2`: carbon dioxide in the air above Mauna Loa, monthly means of weekly values, 1958 to 2001 (Keeling and Whorf 2004);
months without a value are interpolated. `elnino`: the sea's temperature off Peru by month, 1950 to 2010 (NOAA).
`sunspots`: their number by year, 1700 to 2008. `monthly-series`: co2 and elnino.
"""

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from openwork.base.errors import DataError
from openwork.base.messages import msg
from openwork.data.corpora.corpus import NamedCorpus, check_split
from openwork.data.readers.series import split_by_time
from openwork.data.records import Pair

TERMS = msg("series in the public domain, as the package statsmodels (BSD-3) has them")

SERIES: dict[str, Callable[[Any], Any]] = {
    "co2": lambda table: table.co2.resample("MS").mean().interpolate(),
    "elnino": lambda table: table.iloc[:, 1:].stack(),  # a year a line, a month a column
    "sunspots": lambda table: table.SUNACTIVITY,
}
NAMES = {**{name: (name,) for name in SERIES}, "monthly-series": ("co2", "elnino")}


def read(names: tuple[str, ...], split: str, folder: Path | None) -> Iterator[Pair]:
    """The split of each series; DataError without statsmodels. No folder is searched."""
    check_split(split)
    for name in names:
        try:
            table = import_module(f"statsmodels.datasets.{name}").load_pandas().data
        except ImportError as error:
            raise DataError(
                f"the series {name} is in the package statsmodels, which is not installed",
                hint="pip install statsmodels (the extra series)",
                code="D163",
            ) from error
        yield split_by_time(SERIES[name](table).tolist(), split)


def found(folder: Path | None) -> str:
    spec = find_spec("statsmodels")
    return "" if spec is None or spec.origin is None else str(Path(spec.origin).parent)


CORPORA = {
    name: NamedCorpus(
        TERMS,
        f"statsmodels (datasets.{', '.join(parts)})",
        partial(read, parts),
        pairs=(len(parts), len(parts), len(parts)),
        found=found,
    )
    for name, parts in NAMES.items()
}
