"""Error rates by hand, resampled, and without jiwer."""

import sys

import pytest

from openwork.base.errors import DataError, UsageError
from openwork.metrics.recognition import error_rates

pytest.importorskip("jiwer", reason="needs the extra audio")


def test_by_hand() -> None:
    """One word of six is another, one is left out, one too many; of 22 characters one is another."""
    words, _ = error_rates(["a sat  b", "one two three"], ["a cat b", "one three four"])
    assert words.name == "WER" and words.value == pytest.approx(100 * 3 / 6)
    _, characters = error_rates(["sat", "on"], ["cat", "one"])
    assert characters.name == "CER" and characters.value == pytest.approx(100 * 2 / 6)
    assert characters.low is None and "jiwer" in characters.signature


def test_nothing_said_and_nothing_heard() -> None:
    words, _ = error_rates(["", "a b"], ["one two", ""])
    assert words.value == pytest.approx(100 * 4 / 2)
    assert error_rates(["x"] * 9, ["x"] * 9, bootstrap=50)[0].interval == (0.0, 0.0)


def test_an_interval_holds_the_rate() -> None:
    rate = error_rates(["a", "b", "c", "d"] * 5, ["a", "b", "x", "d"] * 5, bootstrap=200)[0]
    assert rate.low is not None and rate.high is not None and 0 < rate.low < rate.value == 25.0 < rate.high < 60


def test_what_cannot_be_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError):
        error_rates(["a"], [])
    monkeypatch.setitem(sys.modules, "jiwer", None)
    with pytest.raises(UsageError) as refused:
        error_rates(["a"], ["a"])
    assert refused.value.code == "U119" and "pip install jiwer" in refused.value.hint
