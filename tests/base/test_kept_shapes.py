"""torch's libraries keep what they prepared for few shapes of a product, since sentences have thousands."""

import subprocess
import sys

import pytest

NAMES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
SHAPES = """
import openwork, torch
def held():
    return int(next(line for line in open("/proc/self/status") if line.startswith("RssAnon")).split()[1]) * 1024
torch.set_num_threads(1)
a, b = torch.ones(64, 64).bfloat16(), torch.ones(128, 64).bfloat16()
def work(rows):
    x = torch.ones(rows, 64).bfloat16()
    return (x @ b.T) @ b, x @ a.T
for rows in range(10, 70): work(rows)
before = held()
for rows in range(100, 300): work(rows)
print(held() - before)
"""


@pytest.mark.parametrize("value", [None, "7"])
def test_it_is_set_before_torch_is_loaded_and_left_to_whoever_sets_it(
    value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        if value:
            monkeypatch.setenv(name, value)
    code = f"import openwork, os, sys; print('torch' in sys.modules, *(os.environ[n] for n in {NAMES!r}))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert told == ["False", *[value or "64"] * 2]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_does_not_grow_with_the_shapes_that_were_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the bound, these two hundred take 400 MB."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    told = subprocess.run([sys.executable, "-c", SHAPES], capture_output=True, text=True, check=True).stdout
    assert int(told) < 150e6
