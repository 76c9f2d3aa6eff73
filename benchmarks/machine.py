"""The machine and the code that a figure was measured with."""

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from openwork.checks.doctor import processor_name


def _commit() -> str:
    asked = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=Path(__file__).parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return asked.stdout.strip() or "unknown"


def describe_machine() -> dict[str, Any]:
    """Processor, cores, what is accelerated, versions, commit, date."""
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    return {
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "avx512_bf16": "avx512_bf16" in flags,
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "commit": _commit(),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
    }


def add_result(path: Path, name: str, command: str, content: dict[str, Any]) -> None:
    """Adds what was measured under a name to a file of results, with the command and the machine."""
    results = json.loads(path.read_text("utf-8")) if path.exists() else {}
    results[name] = {"command": command, "machine": describe_machine(), **content}
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
