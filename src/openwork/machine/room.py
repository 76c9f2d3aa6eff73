"""How much memory and disk this machine could still give. No torch here."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from openwork.base.errors import OpenworkError

MEMORY_FILE = Path("/proc/meminfo")
GROUPS = Path("/sys/fs/cgroup")
OWN_GROUP = Path("/proc/self/cgroup")
UNLIMITED = 1 << 60  # bytes; a group of the first version without a limit states a number as large as it can


@dataclass(frozen=True)
class MachineMemory:
    """Bytes of the whole machine, and those that a process could get now."""

    total: int
    free: int


def memory_of_machine(file: Path = MEMORY_FILE) -> MachineMemory | None:
    """As the system counts it; None where it does not say."""
    try:
        text = file.read_text(encoding="ascii")
    except OSError:
        return None
    found = {key: int(value) * 1024 for key, value in re.findall(r"^(MemTotal|MemAvailable):\s+(\d+) kB", text, re.M)}
    return MachineMemory(found["MemTotal"], found["MemAvailable"]) if len(found) == 2 else None


def free_memory() -> int | None:
    """What the machine has free, or what the groups of this process leave of it; None where nobody says."""
    machine = memory_of_machine()
    limits = [*([machine.free] if machine else []), *group_room(GROUPS, OWN_GROUP)]
    return min(limits) if limits else None


def group_room(groups: Path, own: Path) -> list[int]:
    """What the memory limits of a process's control groups (cgroups of either version) leave, one for each limit.

    `groups`: where they are mounted; `own`: the file that says in which the process is. A container sees its own group
    as the root. What the system keeps of files can be given back, so it counts as free.
    """
    try:
        lines = own.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2) if line.count(":") > 1 else ("", "-", "")
        if controllers == "":
            folder, names = groups, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            folder, names = groups / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        inside = [part for part in path.split("/") if part not in ("", "..")]
        places = [folder.joinpath(*inside[:depth]) for depth in range(len(inside) + 1)]
        found += [room for room in (_room(place, *names) for place in places) if room is not None]
    return found


def _room(group: Path, limit: str, used: str, cached: str) -> int | None:
    """What one group leaves; None where it has no limit."""
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


def check_room(weights: int, free: int | None) -> None:
    """OpenworkError where a model's weights alone, of four bytes each, take more than the free memory."""
    if free is not None and 4 * weights > free:
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
