"""Colours that can be read, in both themes."""

import pytest

from openwork.base.pages import BLUE, PAPER, ROLES, mixed, readable_on


def luminance(colour: tuple[float, float, float]) -> float:
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: tuple[float, float, float], second: tuple[float, float, float]) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("role", sorted(set(ROLES) - {"paper", "rule"}))
def test_every_colour_of_text_has_enough_contrast(role: str, theme: str):
    """WCAG 2, level AA: 4.5 to 1."""
    paper = mixed(getattr(PAPER, theme), "#000000", 1.0)
    assert contrast(mixed(getattr(ROLES[role], theme), "#000000", 1.0), paper) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("percent", range(0, 101, 5))
def test_numbers_on_cells_can_be_read_at_every_weight(percent: int, theme: str):
    cell = mixed(getattr(BLUE, theme), getattr(PAPER, theme), percent / 100)
    ink = {"black": (0.0, 0.0, 0.0), "white": (1.0, 1.0, 1.0)}[readable_on(cell)]
    assert contrast(cell, ink) >= 4.5


def test_mixing():
    """Worked by hand: a quarter of white over black."""
    assert mixed("#ffffff", "#000000", 0.25) == (0.25, 0.25, 0.25)
