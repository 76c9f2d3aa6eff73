"""Cores, available memory and free disk of this machine. No torch here.

psutil knows the machine; the limits of the control groups that containers run in are read here, since it does not.
"""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import psutil

from openwork.base.errors import OpenworkError

GROUPS = Path("/sys/fs/cgroup")
OWN_GROUP = Path("/proc/self/cgroup")
UNLIMITED = 1 << 60  # bytes; a group of the first version without a limit states a number as large as it can


@dataclass(frozen=True)
class MachineMemory:
    """Bytes: of the whole machine, and what a process could get now."""

    total: int
    free: int


def memory_of_machine() -> MachineMemory:
    """As the system counts it, without the limits of a container."""
    memory = psutil.virtual_memory()
    return MachineMemory(memory.total, memory.available)


def free_memory() -> int:
    """Bytes that this process could get: what the machine has available, or less where a control group limits it."""
    return min([memory_of_machine().free, *group_limits(GROUPS, OWN_GROUP)])


def system_lines(path: Path) -> list[str]:
    """The lines of a file such as /proc/cpuinfo; none where the system has no such file."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def group_limits(groups: Path, own: Path) -> list[int]:
    """Bytes left by each memory limit of a process's control groups (cgroups of either version).

    `groups`: where they are mounted; `own`: the file that names the process's groups. A container sees its own group as
    the root. Cached files count as free.
    """
    found = []
    for line in system_lines(own):
        _, controllers, path = line.split(":", 2) if line.count(":") > 1 else ("", "-", "")
        if controllers == "":
            folder, names = groups, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            folder, names = groups / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        inside = [part for part in path.split("/") if part not in ("", "..")]
        places = [folder.joinpath(*inside[:depth]) for depth in range(len(inside) + 1)]
        found += [free for free in (_left(place, *names) for place in places) if free is not None]
    return found


def _left(group: Path, limit: str, used: str, cached: str) -> int | None:
    """Bytes left by the limit of one group; None where it has none."""
    try:
        most, taken = int((group / limit).read_text()), int((group / used).read_text())
    except (OSError, ValueError):  # no such file, or "max"
        return None
    if most >= UNLIMITED:
        return None
    try:
        kept = re.search(rf"^{cached} (\d+)$", (group / "memory.stat").read_text(), re.M)
    except OSError:
        kept = None
    return max(0, most - taken + (int(kept[1]) if kept else 0))


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


WATCHED = 0.2  # seconds


def free_cores() -> int:
    """Of the cores that this process may use, about how many were idle in the last fifth of a second; at least one.

    To be asked before anything is computed here: what this process does counts as busy.
    """
    own = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    busy = psutil.cpu_percent(WATCHED, percpu=True)
    return max(1, round(sum(1 - busy[core] / 100 for core in own if core < len(busy))))


def check_memory(weights: int, free: int) -> None:
    """OpenworkError where a model's weights alone, of four bytes each, take more than the free memory."""
    if 4 * weights > free:
        raise OpenworkError(
            f"the model has {weights:,} weights, which take {4 * weights / 1e9:,.1f} GB",
            why=f"{free / 1e9:,.1f} GB of memory are free",
            hint="lower model.width, model.feedforward_width or the number of layers",
            code="E032",
        )


def free_disk(place: Path) -> int:
    """Bytes free where a folder is or would be made."""
    there = next(folder for folder in (place.absolute(), *place.absolute().parents) if folder.exists())
    return shutil.disk_usage(there).free
