"""When production code is changed, figures of the documents fail: those that docs/mutations.md names."""

import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from openwork.nn.kernels import reference
from truth.changing import Change, Expression
from truth.mutations import ELSEWHERE, MUTATIONS, PAGE, failing
from truth.test_numbers import BY_ID

pytestmark = pytest.mark.slow

# One of attention, positions, norm, rate and loss; the others are made in the slow test.
QUICK = ("attention without 1 / sqrt(d_k)", "sinusoids to the base 100", "a layer norm that leaves the mean",
    "a rate that takes the larger branch", "a loss that forgets the right token")  # fmt: skip


@pytest.mark.parametrize("words", QUICK)
def test_a_change_is_felt(words: str) -> None:
    (mutation,) = [one for one in MUTATIONS if one.words == words]
    assert set(mutation.must) - failing(mutation) == set()


@pytest.mark.long
def test_every_change_is_felt_where_the_page_says() -> None:
    tests = Path(__file__).parents[1]
    made = subprocess.run(
        [sys.executable, "-m", "truth.mutations"], cwd=tests, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    assert made.stdout == PAGE.read_text("utf-8")


@pytest.mark.parametrize(("change", "test"), [pytest.param(*one, id=words) for words, *one in ELSEWHERE])
def test_what_no_figure_depends_on_is_felt_by_a_test(change: Change, test: Callable[[], None]) -> None:
    test()
    with change.made(), pytest.raises(AssertionError):
        test()
    test()


def test_figures_that_must_fail_exist() -> None:
    assert {identifier for mutation in MUTATIONS for identifier in mutation.must} <= set(BY_ID)
    assert len({mutation.words for mutation in MUTATIONS}) == len(MUTATIONS)


def test_a_change_is_undone_and_must_be_there_to_be_made() -> None:
    function = inspect.unwrap(reference.weighted_sum)
    before = function.__code__
    with pytest.raises(KeyError), Expression(reference.weighted_sum, "weights @ value", "value").made():
        assert function.__code__ is not before
        raise KeyError
    assert function.__code__ is before
    with pytest.raises(ValueError, match="0 times"), Expression(reference.weighted_sum, "value @ weights", "").made():
        pass
