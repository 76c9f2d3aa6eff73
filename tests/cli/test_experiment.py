"""`openwork experiment`: what its options refuse, and how many seeds a difference needs."""

from pathlib import Path

import pytest

from calling import Call
from experiments.samples import GRID, begun
from journeys.command import told


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run", "{}/trying", "--out", "{}/elsewhere"], "U108", "goes on in its own folder"),
        (["run", "{}/trying", "--set", "budget.updates=9"], "U108", "goes on in its own folder"),
        (["run", "{}/trying.toml", "--address", "auto"], "U107", "--address goes with --on ray"),
        (["resume", "{}/trying", "--address", "auto"], "U107", "--address goes with --on ray"),
        (["power"], "U109", "measured or given"),
        (["power", "--seeds", "1", "--experiment", "{}/trying"], "U109", "measured or given"),
        (["status", "{}"], "C137", "there is no experiment"),
        (["report", "{}"], "C137", "there is no experiment"),
        (["power", "--experiment", "{}"], "C137", "there is no experiment"),
        (["run", "experiments/grid-document"], "C107", "experiments/grid-documents"),
    ],
)
def test_refusals(tmp_path: Path, call: Call, arguments: list[str], code: str, words: str):
    begun(tmp_path, GRID)
    result = call("experiment", *(word.format(tmp_path) for word in arguments))
    told(result, result.code, code, words)
    assert result.code != 0


@pytest.mark.slow
def test_power_of_given_deviations(call: Call):
    found = call("experiment", "power", "1", "--seeds", "0.4", "--sentences", "12")
    assert found.code == 0 and "0.40 between seeds, 12.00 between the differences" in found.lines[0]
    assert any("A difference of 1 needs" in line for line in found.lines)


def test_status_of_an_experiment_that_has_begun(tmp_path: Path, call: Call):
    begun(tmp_path, GRID)
    assert call("experiment", "status", tmp_path / "trying").lines == ["0 of about 5 trials are over"]
