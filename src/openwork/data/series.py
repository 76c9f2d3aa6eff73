"""Series as pairs of texts: divided by time, and cut into windows whose pieces are bins.

A series is a pair of its earlier values and of those of a split, as numbers with spaces between; the values of the
training have none before them. Nothing is shuffled across time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from openwork.base.config import fingerprint
from openwork.base.errors import DataError
from openwork.data.readers.series import is_number
from openwork.data.records import Pair
from openwork.data.sources import PairSource
from openwork.signals.bins import Bins
from openwork.signals.settings import SeriesSettings


def values_of(text: str, place: str) -> list[float]:
    """The numbers of a text; DataError for another text, which names its place."""
    words = text.split()
    if wrong := [word for word in words if not is_number(word)]:
        raise DataError(
            f"{place}: not a series of numbers: {wrong[0][:40]}",
            hint="name a file of series in data.series, or a corpus of series; texts need no section [series]",
            code="D159",
        )
    return list(map(float, words))


def origins(pair: Pair, settings: SeriesSettings, place: str) -> Iterator[tuple[list[float], list[float]]]:
    """All values before each origin of the forecasts in a split, and the values of the horizon after it.

    DataError for a split that is shorter than the horizon, or has too few values before it.
    """
    before, part = values_of(pair.source, place), values_of(pair.target, place)
    if len(part) < settings.horizon or len(before) < settings.context:
        raise too_short(place, len(before) + len(part), settings)
    whole = before + part
    for origin in range(len(before), len(whole) - settings.horizon + 1):
        yield whole[:origin], whole[origin : origin + settings.horizon]


def windowed(pairs: PairSource, settings: SeriesSettings) -> PairSource:
    """Windows of the series as texts of bins: all of the training's, and those of each origin of another split.

    Of the former the first value is the prompt, since a model learns from all others; of the latter the context.
    """
    bins, length = Bins(settings), settings.context + settings.horizon

    def texts(window: Sequence[float], known: int) -> Pair:
        scale = bins.scale(window[: settings.context])
        return Pair(bins.text(window[:known], scale), bins.text(window[known:], scale))

    def read() -> Iterator[Pair]:
        for number, pair in enumerate(pairs.read(), start=1):
            place = pairs.place(number)
            if pair.source:
                for before, after in origins(pair, settings, place):
                    yield texts([*before[-settings.context :], *after], settings.context)
                continue
            values = values_of(pair.target, place)
            if len(values) < length:
                raise too_short(place, len(values), settings)
            for first in range(len(values) - length + 1):
                yield texts(values[first : first + length], 1)

    return replace(pairs, read=read, identity=f"{pairs.identity} {fingerprint(settings)}", alone=False)


def too_short(place: str, count: int, settings: SeriesSettings) -> DataError:
    return DataError(
        f"{place}: too short a series, of {count:,} values",
        why=f"a window has {settings.context:,} + {settings.horizon:,} values (series.context, series.horizon); "
        "the first 70 % of a series are learnt from, 10 % validate and 20 % test",
        hint="give a longer series, or make the context or the horizon shorter",
        code="D160",
    )
