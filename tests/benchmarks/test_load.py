"""benchmarks/load.py on a bundle that has learnt nothing: every answer is the right one, and every figure is there."""

import json
import math
import sys
from pathlib import Path

import load
import pytest

for name in ("fastapi", "uvicorn", "prometheus_client"):
    pytest.importorskip(name, reason="needs the extra serve")
pytestmark = [
    pytest.mark.slow,  # a server is started and asked for seconds
    pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of processes in /proc"),
]


@pytest.mark.long
def test_answers_are_counted_and_compared(bundle_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "texts").write_text("".join(f"{'a b c d e f'[: 1 + 2 * n]}\n" for n in range(6)))
    results = tmp_path / "load.json"
    arguments = ["load.py", bundle_folder, tmp_path / "texts", "--seconds", "0.5", "--results", results]
    monkeypatch.setattr(sys, "argv", list(map(str, arguments)))
    monkeypatch.setattr(load, "COMMANDS", 2)
    load.main()
    found = json.loads(results.read_text())
    assert found["texts"] == 6 and list(found["clients"]) == ["1", "8", "64"]
    for one in (*found["clients"].values(), found["overload"]):
        assert one["answered"] > 0 and one["wrong"] == 0 and one["megabytes"] > 10
        assert one["p50"] <= one["p95"] <= one["p99"]
    assert 0 < found["shell_seconds"]["median"] <= found["shell_seconds"]["longest"]
    assert not math.isnan(found["overload"]["recovery_seconds"])
