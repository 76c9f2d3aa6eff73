"""The documents' and the paper's figures beside a variant, as they print them."""

import pytest

from openwork.experiments.report.published import (
    ABLATIONS,
    BASELINE,
    COMPLETE,
    SENSITIVITY,
    SWAPPED,
    TUNED,
    published_change,
    published_score,
)


@pytest.mark.parametrize(
    ("variant", "settings", "documents", "paper"),
    [
        ("single", {"model.heads": 1}, -2.3, -0.9),
        ("x", {"model.norm": "no-residual"}, -4.9, None),
        ("x", {"model.positions": "none"}, -5.6, None),
        ("x", {"model.feedforward": "convolution"}, -0.3, None),
        ("A4", {}, None, -0.4),
        ("table3-c-n2", {}, None, -2.1),
        ("x", {"model.preset": "table3-c-ff4096"}, None, 0.4),
        ("x", {"training.label_smoothing": 0.0}, None, -0.5),
        ("x", {"model.heads": 1, "model.dropout": 0.5}, None, None),
        ("base", {}, None, 0.0),
        ("paper-base", {}, None, None),
        ("something", {}, None, None),
    ],
)
def test_how_much_a_change_costs(
    variant: str, settings: dict[str, object], documents: float | None, paper: float | None
):
    assert published_change(variant, settings) == (documents, paper)  # type: ignore[arg-type]


def test_the_figures_of_the_sensitivity():
    assert published_score("LSTM, small", "training.learning_rate", 5e-5) == 24.2
    assert published_score("transformer", "model.dropout", 0.2) == 28.4
    assert published_score("transformer", "model.dropout", 0.25) is None
    assert published_score("convs2s", "model.dropout", 0.2) is None
    assert published_score("transformer", "training.optimiser", "adam") is None


def test_the_documents_own_sums():
    """As it prints them: drops of 2.3, 4.9, 5.6 and 0.3, and gains of 2.3 and 3.9; its gaps are 2.7 to 4.6."""
    assert [round(COMPLETE - bleu, 1) for _, bleu in ABLATIONS] == [2.3, 4.9, 5.6, 0.3]
    assert (round(SWAPPED - BASELINE, 1), round(TUNED - BASELINE, 1)) == (2.3, 3.9)
    gaps = [round(tf - lstm, 1) for values in SENSITIVITY.values() for lstm, tf in values.values()]
    assert (min(gaps), max(gaps)) == (2.7, 4.6)
