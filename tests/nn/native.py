"""For tests of the compiled kernels: each is compiled for this processor and once more for one with AVX2 alone."""

import platform
from collections.abc import Iterator

import pytest

from openwork.machine.native import building
from openwork.nn.kernels import native
from openwork.nn.kernels.native import products

INSTRUCTIONS = (building.OWN, "-march=haswell")


def forget() -> None:
    building.library.cache_clear()
    native.is_available.cache_clear()
    products.has_pairs.cache_clear()
    products.is_available.cache_clear()
    native.function.cache_clear()


@pytest.fixture(params=INSTRUCTIONS, autouse=True)
def instructions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if reason := building.problem(native.FUNCTIONS):
        pytest.skip(f"nothing can be compiled: {reason}")
    if request.param != building.OWN and platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("needs a processor with AVX2")
    flags = tuple(request.param if flag == building.OWN else flag for flag in building.FLAGS)
    monkeypatch.setattr(building, "FLAGS", flags)
    forget()
    yield
    forget()
