"""A plugin of pytest: fast tests come before slow ones, the nearest files first, and what fails is told by its id."""

import pytest

FAILED = "the test that failed: "


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)  # stable: files keep their order


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        print(f"\n{FAILED}{report.nodeid}")


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        print(f"\n{FAILED}{report.nodeid}")
