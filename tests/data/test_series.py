"""Series: read from files, divided by time, cut into windows; and those that statsmodels ships."""

import sys
from pathlib import Path
from typing import Any

import pytest

from openwork.base.errors import ConfigError, DataError
from openwork.data.corpora import catalogue as corpora
from openwork.data.readers import series as reader
from openwork.data.readers.series import read_series, split_by_time
from openwork.data.records import Pair
from openwork.data.series import origins, values_of, windowed
from openwork.data.settings import OriginSettings
from openwork.data.sources import PairSource, source_of
from openwork.signals.settings import SeriesSettings

SETTINGS = SeriesSettings(context=2, horizon=1, bins=5, limit=1.0)
TABLE = "day,sold,made\n2026-01-01,1,2.5\n\n2026-01-02, 3 ,-4e1\n"


def test_columns_of_numbers_are_read(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(TABLE)
    assert read_series(tmp_path / "table.csv") == {"sold": [1.0, 3.0], "made": [2.5, -40.0]}
    assert read_series(tmp_path / "table.csv", ["made"]) == {"made": [2.5, -40.0]}


def test_parquet_is_read_like_csv(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra scale")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra scale")
    columns = {"day": ["one", "two"], "sold": [1, 3], "made": [2.5, -40.0], "open": [True, False]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "table.parquet")
    assert read_series(tmp_path / "table.parquet") == {"sold": [1.0, 3.0], "made": [2.5, -40.0]}
    parquet.write_table(pyarrow.table({"sold": [1, None]}), tmp_path / "gap.parquet")
    with pytest.raises(DataError, match=r"gap\.parquet:2") as refused:
        read_series(tmp_path / "gap.parquet")
    assert refused.value.code == "D162"
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(DataError, match=r"damaged\.parquet") as refused:
        read_series(tmp_path / "damaged.parquet")
    assert refused.value.code == "D162"


def test_parquet_needs_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="pyarrow"):
        read_series(tmp_path / "table.parquet")


@pytest.mark.parametrize(
    "line", ["2026-01-03,nan,1", "2026-01-03,inf,1", "2026-01-03,,1", "x,1e101,1", "x,1", "x,1,2,3", 'x,"1,2']
)
def test_a_wrong_line_is_named(line: str, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(f"{TABLE}{line}\n")
    with pytest.raises(DataError, match=r"table\.csv:5") as refused:
        read_series(tmp_path / "table.csv")
    assert refused.value.code == "D162" and refused.value.why


@pytest.mark.parametrize(
    ("content", "columns"),
    [("", []), ("a,b\n", []), ("a,b\nx,y\n", []), ("a,a\n1,2\n", []), ("a,b\n1,2\n", ["c"])],
)
def test_a_file_without_series_is_refused(content: str, columns: list[str], tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(content)
    with pytest.raises(DataError, match=r"table\.csv") as refused:
        read_series(tmp_path / "table.csv", columns)
    assert refused.value.code == "D161"


def test_a_file_may_not_be_endless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MOST_VALUES", 3)
    (tmp_path / "table.csv").write_text(TABLE)
    with pytest.raises(DataError, match=r"table\.csv:4") as refused:
        read_series(tmp_path / "table.csv")
    assert refused.value.code == "D162"


def test_splits_follow_each_other_in_time() -> None:
    values = [float(number) for number in range(10)]
    found = {split: split_by_time(values, split) for split in ("train", "valid", "test")}
    assert found["train"] == Pair("", "0.0 1.0 2.0 3.0 4.0 5.0 6.0")
    assert found["valid"] == Pair(found["train"].target, "7.0")
    assert found["test"] == Pair(f"{found['train'].target} 7.0", "8.0 9.0")


def test_origins_by_hand() -> None:
    assert list(origins(Pair("1 2", "3 4"), SETTINGS, "here")) == [([1, 2], [3]), ([1, 2, 3], [4])]


def test_windows_by_hand() -> None:
    """The mean of a context's sizes is its scale: of 2 and 2 it is 2, and 1 is 0.5."""

    def texts(*pairs: Pair) -> list[Pair]:
        return list(windowed(PairSource(lambda: iter(pairs), "", "here"), SETTINGS).read())

    assert texts(Pair("", "2 2 1 -3")) == [Pair("1", "1 0.5"), Pair("1", "0.5 -1")]
    assert texts(Pair("7 2 2", "1 -2")) == [Pair("1 1", "0.5"), Pair("1 0.5", "-1")]


def test_no_window_of_a_training_reaches_into_the_test() -> None:
    """Not even by its scale: other test values change no window to learn from."""
    values = [float(number % 7) for number in range(40)]
    changed = [*values[:32], *(100 + value for value in values[32:])]

    def windows(series: list[float], split: str) -> list[Pair]:
        pair = split_by_time(series, split)
        return list(windowed(PairSource(lambda: iter([pair]), "", "here"), SETTINGS).read())

    for split in ("train", "valid"):
        assert windows(values, split) == windows(changed, split)
    assert windows(values, "test") != windows(changed, "test")


@pytest.mark.parametrize(
    ("pair", "code"), [(Pair("", "1 2"), "D160"), (Pair("1", "2 3"), "D160"), (Pair("", "a b"), "D159")]
)
def test_other_texts_and_short_series_are_refused(pair: Pair, code: str) -> None:
    with pytest.raises(DataError, match="here:1") as refused:
        list(windowed(PairSource(lambda: iter([pair]), "", "here"), SETTINGS).read())
    assert refused.value.code == code


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(DataError) as refused:
        values_of("1 nan", "here")
    assert refused.value.code == "D159"


def test_the_series_of_a_file_are_a_source(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,b\n" + "".join(f"{number},{-number}\n" for number in range(10)))
    whole = source_of(OriginSettings(series=str(tmp_path / "table.csv")), "valid", None)  # type: ignore[arg-type]
    assert [pair.target for pair in whole.read()] == ["7.0", "-7.0"]
    one = source_of(OriginSettings(series=str(tmp_path / "table.csv"), columns=("b",)), "valid", None)  # type: ignore[arg-type]
    assert [pair.target for pair in one.read()] == ["-7.0"] and one.identity != whole.identity


SIZES = {"co2": 526, "elnino": 732, "sunspots": 309}


@pytest.mark.parametrize("name", SIZES)
def test_statsmodels_series_are_whole(name: str) -> None:
    datasets: Any = pytest.importorskip("statsmodels.api", reason="needs the extra series").datasets
    (train,), (valid,), (test,) = (list(corpora.load(name, split)) for split in ("train", "valid", "test"))
    assert not train.source and valid.source == train.target and test.source == f"{train.target} {valid.target}"
    values = values_of(f"{test.source} {test.target}", name)
    assert len(values) == SIZES[name] and corpora.find(name).found(None)
    if name == "elnino":
        table = datasets.elnino.load_pandas().data
        assert values[:12] == table.iloc[0, 1:].tolist() and values[-1] == table.DEC.iloc[-1]
    elif name == "sunspots":
        assert values == datasets.sunspots.load_pandas().data.SUNACTIVITY.tolist()
    else:  # March 1958 has one value, April four
        weeks = datasets.co2.load_pandas().data.co2
        assert values[0] == weeks.iloc[0] and values[1] == pytest.approx(weeks.iloc[1:5].mean())


def test_several_series_are_one_corpus() -> None:
    pytest.importorskip("statsmodels", reason="needs the extra series")
    both = list(corpora.load("monthly-series", "test"))
    assert both == [*corpora.load("co2", "test"), *corpora.load("elnino", "test")]


def test_without_the_package_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels", None)
    monkeypatch.delitem(sys.modules, "statsmodels.datasets.co2", raising=False)
    monkeypatch.delitem(sys.modules, "statsmodels.datasets", raising=False)
    with pytest.raises(DataError, match="statsmodels") as refused:
        list(corpora.load("co2", "train"))
    assert refused.value.code == "D163" and "pip install statsmodels" in str(refused.value.hint)
