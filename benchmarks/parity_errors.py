"""How far our numbers are from those that tests hold them equal to: the largest difference in each test.

    python benchmarks/parity_errors.py [--out benchmarks/results/parity.json] [TESTS ...]

Runs these tests (tests/parity and tests/nn by themselves) as pytest does, and looks on where two tensors are compared
within a tolerance. Of numbers that are bitwise equal the difference is 0. It needs openwork[dev,parity].
"""

import argparse
import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))
from machine import describe_machine

ROOT = Path(__file__).resolve().parents[1]


class Onlooker:
    """A plugin that notes the largest absolute difference of each test, and the largest number beside it."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Any]] = {}
        self.counts: dict[str, int] = {}
        self._test = ""

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, None]:
        self._test = f"{item.path.relative_to(ROOT)}::{item.name.partition('[')[0]}"
        before, torch.testing.assert_close = (
            torch.testing.assert_close,
            self._watching(torch.testing.assert_close, item),
        )
        try:
            yield
        finally:
            torch.testing.assert_close = before

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.counts[report.outcome] = self.counts.get(report.outcome, 0) + 1

    def _watching(self, compare: Any, item: pytest.Item) -> Any:
        def watched(actual: Any, expected: Any, **options: Any) -> None:
            for one, other in zip(_tensors(actual), _tensors(expected), strict=True):
                self._note(one, other, item.name)
            compare(actual, expected, **options)

        return watched

    def _note(self, one: Tensor, other: Tensor, test: str) -> None:
        if one.shape != other.shape or not one.numel():
            return
        one, other = one.detach().double().cpu(), other.detach().double().cpu()
        difference = torch.nan_to_num((one - other).abs(), nan=0.0, posinf=0.0, neginf=0.0)  # both are infinite there
        known = self.found.setdefault(self._test, {"comparisons": 0, "largest": -1.0})
        known["comparisons"] += 1
        if float(difference.max()) > known["largest"]:
            known |= {"largest": float(difference.max()), "beside": float(other.abs().max()), "in": test}


def _tensors(value: Any) -> list[Tensor]:
    """Those of a tensor, a number, or of sequences and mappings of them."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        return [tensor for one in value.values() for tensor in _tensors(one)]
    if isinstance(value, list | tuple):
        return [tensor for one in value for tensor in _tensors(one)]
    return [torch.as_tensor(value)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", default=["tests/parity", "tests/nn"])
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    onlooker = Onlooker()
    code = pytest.main(["-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}", *asked.tests], plugins=[onlooker])
    result = {
        "machine": describe_machine(),
        "tests": onlooker.counts,
        "comparisons": dict(sorted(onlooker.found.items())),
    }
    if asked.out is not None:
        asked.out.write_text(json.dumps(result, indent=1) + "\n")
    print("| tests | comparisons | largest difference | beside numbers up to |\n| --- | --- | --- | --- |")
    for name, one in result["comparisons"].items():
        print(f"| {name} | {one['comparisons']:,} | {one['largest']:.1e} | {one['beside']:.3g} |")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
