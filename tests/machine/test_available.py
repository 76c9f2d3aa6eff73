"""Available memory as the machine and its control groups say it."""

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from openwork.machine import available
from openwork.machine.available import MachineMemory, free_disk, free_memory, group_limits, memory_of_machine

MACHINE = SimpleNamespace(total=1000 * 1024, free=10 * 1024, available=400 * 1024)


def group(folder: Path, **files: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(f"{content}\n")
    return folder


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 400 kB to give and no groups yet."""
    (tmp_path / "own").write_text("0::/a/b\n")
    monkeypatch.setattr(available, "GROUPS", tmp_path / "groups")
    monkeypatch.setattr(available, "OWN_GROUP", tmp_path / "own")
    monkeypatch.setattr(psutil, "virtual_memory", lambda: MACHINE)
    return tmp_path


@pytest.mark.usefixtures("machine")
def test_a_machine_without_limits():
    assert memory_of_machine() == MachineMemory(1000 * 1024, 400 * 1024)
    assert free_memory() == 400 * 1024


def test_the_tightest_group_above_counts(machine: Path):
    """What the system keeps of files can be given back: 900 - 700 + 50."""
    group(machine / "groups/a", memory__max=900, memory__current=700, memory__stat="anon 5\ninactive_file 50")
    group(machine / "groups/a/b", memory__max="max", memory__current=700)
    assert group_limits(machine / "groups", machine / "own") == [250]
    assert free_memory() == 250


def test_groups_of_the_first_version(machine: Path):
    (machine / "own").write_text("3:cpu,memory:/x\n2:devices:/x\n")
    files = {"memory__usage_in_bytes": 100, "memory__stat": "inactive_file 7\ntotal_inactive_file 20"}
    group(machine / "groups/memory", memory__limit_in_bytes=9223372036854771712, **files)
    group(machine / "groups/memory/x", memory__limit_in_bytes=300, **files)
    assert group_limits(machine / "groups", machine / "own") == [220]


@pytest.mark.parametrize("own", ["", "nonsense\n", "0::/../..\n"])
def test_what_says_nothing_limits_nothing(machine: Path, own: str):
    (machine / "own").write_text(own)
    assert group_limits(machine / "groups", machine / "own") == []
    assert group_limits(machine / "groups", machine / "no such file") == []


def test_the_disk_of_a_folder_to_be(tmp_path: Path):
    assert free_disk(tmp_path / "not/yet/there") > 0
