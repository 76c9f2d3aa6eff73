"""One training on one, two and four processes: the same weights, however they are divided."""

from pathlib import Path

import pytest

from distributed.equalities import CASES
from distributed.starting import results
from training.tiny import make_store

pytestmark = pytest.mark.slow

ROUNDING = 2e-6  # of float32 sums in another order: the most that was seen is 1.6e-6, on a processor with AVX-512


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.long)])
def test_processes_make_the_weights_of_one(tmp_path: Path, count: int) -> None:
    make_store(tmp_path / "store")
    found = results(count, ["distributed.equalities", str(tmp_path / "store")])
    for one in found:
        assert [line["case"] for line in one] == [*(case.name for case in CASES), "DistributedDataParallel"]
        assert one[-1]["weights"] <= ROUNDING
        assert all(line["between"] == 0.0 for line in one[:-1]), one  # to the bit: processes do not drift apart
    for line in found[0][:-1]:
        assert line["weights"] <= ROUNDING and line["average"] <= ROUNDING, line
        assert line["losses"] <= 1e-5 and line["counts"], line
