"""Learning rates, against values worked out from equation 3."""

import math
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from openwork.training.schedules import (
    SCHEDULES,
    constant_rate,
    cooldown_factor,
    cosine_rate,
    inverse_square_root_rate,
    linear_rate,
    make_schedule,
    paper_rate,
    slanted_triangular_rate,
)
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


def test_the_slanted_triangle_by_hand() -> None:
    # 0.32 (1 + 31 p) / 32: p is 1 at the cut, 1/2 halfway up and halfway down, 0 at update 12, just after the last.
    rates = {2: 0.165, 4: 0.32, 8: 0.165, 12: 0.01}
    for step, rate in rates.items():
        assert slanted_triangular_rate(step, 0.32, 32.0, 4, 11) == pytest.approx(rate)
    made = make_schedule(
        TrainingSettings(schedule="slanted-triangular", learning_rate=0.32, warmup=4, steps=11, slant=2.0), 8
    )
    assert made(8) == pytest.approx(0.24)  # the lowest rate is half the peak


def test_cosine_by_hand() -> None:
    # 4 updates up, then 11 - 4 = 7 more; the end of the half wave is update 12, its middle 8, a quarter 6.
    rates = [cosine_rate(step, 2.0, 0.0, 4, 11) for step in (1, 2, 4, 6, 8, 10, 11)]
    root = 0.5**0.5  # cos 45 degrees
    last = 1 + math.cos(7 / 8 * math.pi)  # 0.0761
    assert rates == pytest.approx([0.5, 1.0, 2.0, 1 + root, 1.0, 1 - root, last])
    # half way between 2 and 0.5 is 1.25
    assert cosine_rate(8, 2.0, 0.5, 4, 11) == pytest.approx(1.25)


def test_linear_and_constant_by_hand() -> None:
    assert [linear_rate(step, 2.0, 0.0, 4, 11) for step in (1, 4, 5, 8, 11)] == pytest.approx([0.5, 2, 1.75, 1, 0.25])
    assert linear_rate(8, 2.0, 1.0, 4, 11) == pytest.approx(1.5)
    assert [constant_rate(step, 2.0, 4) for step in (1, 3, 4, 5, 11)] == [0.5, 1.5, 2.0, 2.0, 2.0]


@given(st.integers(1, 60), st.integers(1, 40), st.integers(1, 50))
def test_every_rate_is_between_nothing_and_its_peak(step: int, warmup: int, steps: int) -> None:
    for rate in (cosine_rate, linear_rate):
        assert 0.0 <= rate(step, 1.0, 0.0, warmup, steps) <= 1.0


@pytest.mark.parametrize("name", [name for name in SCHEDULES if name not in ("paper", "slanted-triangular")])
def test_named_schedules_take_their_values_from_the_settings(name: str) -> None:
    values = {"schedule": name, "learning_rate": 0.5, "warmup": 4, "steps": 11, "lowest_rate": 0.125}
    rate = make_schedule(TrainingSettings.model_validate(values), 16)
    assert rate(2) == 0.25 and rate(4) == 0.5
    expected = {"inverse-square-root": 0.5 / 2**0.5, "cosine": 0.3125, "linear": 0.3125, "constant": 0.5}
    assert rate(8) == pytest.approx(expected[name])
    cooled = make_schedule(TrainingSettings.model_validate({**values, "cooldown": 1}), 16)
    assert cooled(11) == pytest.approx(rate(11) / 2)


def test_the_table_and_the_settings_name_the_same_schedules() -> None:
    assert set(SCHEDULES) == set(get_args(TrainingSettings.model_fields["schedule"].annotation))


def test_update_zero_is_refused() -> None:
    for rate in (
        lambda: paper_rate(0, 512, 4000),
        lambda: inverse_square_root_rate(0, 1e-3, 10),
        lambda: constant_rate(0, 1e-3, 10),
        lambda: cosine_rate(0, 1e-3, 0.0, 10, 20),
        lambda: linear_rate(0, 1e-3, 0.0, 10, 20),
        lambda: slanted_triangular_rate(0, 1e-3, 32.0, 10, 20),
    ):
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
        ({"lowest_rate": 0.1, "learning_rate": 0.01}, "set it lower"),
        ({"weight_decay": 0.1}, 'set optimiser = "adamw"'),
        ({"optimiser": "sgdd"}, "adafactor"),
        ({"ema": 1.0}, "less than 1"),
        ({"r_drop": -1.0}, "greater than or equal to 0"),
    ],
)
def test_settings_that_cannot_work_are_refused(values: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        TrainingSettings.model_validate(values)
