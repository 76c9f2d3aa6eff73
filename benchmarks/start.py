"""How long one line takes from the shell, from start to end, and how much of it is the framework's import.

    python benchmarks/start.py BUNDLE

Ten rounds, each way in turn; then once with an empty cache, in which the compiled functions are not there yet. Python's
compiled files are kept, as pip leaves them. Written to results/start.json.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from machine import add_result

RESULTS = Path(__file__).parent / "results" / "start.json"
ROUNDS = 10
LINE = b"A man is standing .\n"


def main() -> None:
    (bundle,) = sys.argv[1:]
    translate = [sys.executable, "-m", "openwork", "translate", bundle]
    ways = {"import torch": [sys.executable, "-c", "import torch"], "one line": translate}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as kept, tempfile.TemporaryDirectory() as empty:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": kept, "PYTHONDONTWRITEBYTECODE": ""}
        for command in ways.values():
            _seconds(command, environment)
        for _ in range(ROUNDS):
            for name, command in ways.items():
                seconds[name].append(_seconds(command, environment))
        first = _seconds(translate, {**environment, "XDG_CACHE_HOME": empty})
    found = {
        name: {"median": round(statistics.median(each), 2), "low": round(min(each), 2), "high": round(max(each), 2)}
        for name, each in seconds.items()
    }
    content = {"rounds": ROUNDS, "seconds": found, "seconds_with_an_empty_cache": round(first, 2)}
    print(content)
    add_result(RESULTS, Path(bundle).parent.name, f"python benchmarks/start.py {bundle}", content)


def _seconds(command: list[str], environment: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, input=LINE, check=True, capture_output=True, env=environment)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
