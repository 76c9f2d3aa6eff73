"""Faults, a few of each kind in the suite and all of them by `make faults`, which says what was survived."""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from faults.nursery import Nursery
from faults.runs import LONG, Undisturbed, undisturbed

survived: dict[str, Counter[str]] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if "faults/" in report.nodeid and (report.when == "call" or report.outcome != "passed"):
        name = report.nodeid.split("faults/")[-1].split("[")[0].removesuffix(".py")
        survived.setdefault(name, Counter())[report.outcome] += 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not LONG:
        return
    terminalreporter.section("faults tried and survived")
    for name, outcomes in survived.items():
        terminalreporter.line(f"{name:100} {', '.join(f'{count} {what}' for what, count in outcomes.items())}")


@pytest.fixture(scope="session")
def whole(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """A run that nobody disturbed."""
    return undisturbed(nursery, tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="session")
def half_run(whole: Undisturbed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the same run, killed when its second checkpoint had just been written."""
    out = tmp_path_factory.mktemp("half") / "run"
    last = max(place for place, name in enumerate(whole.operations) if name.startswith("rename checkpoints/"))
    killed = whole.start_again(out, ["at_operation", out, last + 2, "kill"])
    assert killed.code == -9 and len(list((out / "checkpoints").glob("step-*"))) == 2, killed.err
    return out


@pytest.fixture
def half(half_run: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoilt."""
    return shutil.copytree(half_run, tmp_path / "half")
