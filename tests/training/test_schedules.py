"""Learning rates, against values worked out from equation 3."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from openwork.training.schedules import cooldown_factor, inverse_square_root_rate, make_schedule, paper_rate
from openwork.training.settings import TrainingSettings


def test_the_papers_values() -> None:
    # 512^-0.5 = 0.0441942; 4000^-0.5 = 0.0158114; 4000^-1.5 = 3.95285e-6
    assert paper_rate(1, 512, 4000) == pytest.approx(1.74693e-7, rel=1e-5)
    assert paper_rate(4000, 512, 4000) == pytest.approx(0.00069877, rel=1e-5)
    assert paper_rate(16000, 512, 4000) == pytest.approx(0.00069877 / 2, rel=1e-5)
    assert paper_rate(4000, 512, 4000, scale=2.0) == pytest.approx(2 * 0.00069877, rel=1e-5)


@given(st.integers(1, 10**6), st.integers(1, 10**4), st.integers(1, 2048))
def test_both_forms_are_one_curve(step: int, warmup: int, width: int) -> None:
    peak = paper_rate(warmup, width, warmup)
    assert inverse_square_root_rate(step, peak, warmup) == pytest.approx(paper_rate(step, width, warmup))
    assert paper_rate(step, width, warmup) <= peak * (1 + 1e-12)


def test_update_zero_is_refused() -> None:
    for rate in (lambda: paper_rate(0, 512, 4000), lambda: inverse_square_root_rate(0, 1e-3, 10)):
        with pytest.raises(ValueError, match="counted from 1"):
            rate()


def test_the_cooldown_is_a_straight_line_to_zero() -> None:
    # 10 updates, the last 4 cool down: fifths from 4/5 on, and 0 would be update 11
    assert [cooldown_factor(step, 10, 4) for step in range(5, 12)] == pytest.approx([1, 1, 0.8, 0.6, 0.4, 0.2, 0])
    assert {cooldown_factor(step, 10, 0) for step in range(1, 11)} == {1.0}


def test_settings_choose_the_schedule() -> None:
    paper = make_schedule(TrainingSettings(warmup=10, schedule_scale=3.0), 16)
    assert paper(7) == paper_rate(7, 16, 10, 3.0)
    other = make_schedule(
        TrainingSettings(schedule="inverse-square-root", learning_rate=0.5, warmup=2, steps=9, cooldown=3), 16
    )
    assert other(2) == 0.5 and other(8) == pytest.approx(0.25 * 2 / 4)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"steps": 10, "cooldown": 11}, "cannot be longer than the run"),
        ({"metric": "bleu", "validation_sentences": 0}, "needs translations"),
        ({"seed": 2**32}, "less than"),
    ],
)
def test_settings_that_cannot_work_are_refused(values: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        TrainingSettings.model_validate(values)
