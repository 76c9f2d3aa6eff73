"""The page and the pictures that programs draw from results are what these programs draw."""

import json
import sys
from pathlib import Path

import pytest
from growth import report
from learning_curve import Point, drawn

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_page_is_written_again_from_the_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, results = REPOSITORY / "docs" / "growth.md", REPOSITORY / "benchmarks" / "results" / "growth.json"
    monkeypatch.setattr(sys, "argv", ["growth.report", str(results), str(tmp_path / page.name)])
    report.main()
    assert (tmp_path / page.name).read_text("utf-8") == page.read_text("utf-8")
    made, kept = (
        {path.name: path.read_text("utf-8") for path in (folder / "growth").iterdir()}
        for folder in (tmp_path, page.parent)
    )
    assert made == kept


def test_the_picture_of_the_learning_curves_is_drawn_from_the_result() -> None:
    curves = json.loads((REPOSITORY / "benchmarks/results/learning-curve.json").read_text("utf-8"))["curves"]
    points = {name: [Point(**point) for point in curve["points"]] for name, curve in curves.items()}
    assert drawn(points).rstrip() == (REPOSITORY / "docs/learning-curve.svg").read_text("utf-8").rstrip()
