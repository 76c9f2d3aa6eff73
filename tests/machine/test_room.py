"""Free memory as the machine and its control groups say it, from files written here."""

from pathlib import Path

import pytest

from openwork.machine import room
from openwork.machine.room import MachineMemory, free_disk, free_memory, group_room, memory_of_machine

MACHINE = "MemTotal:       1000 kB\nMemFree:          10 kB\nMemAvailable:    400 kB\n"


def group(folder: Path, **files: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(f"{content}\n")
    return folder


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 400 kB to give and no groups yet."""
    (tmp_path / "meminfo").write_text(MACHINE)
    (tmp_path / "own").write_text("0::/a/b\n")
    monkeypatch.setattr(room, "GROUPS", tmp_path / "groups")
    monkeypatch.setattr(room, "OWN_GROUP", tmp_path / "own")
    monkeypatch.setattr(room.memory_of_machine, "__defaults__", (tmp_path / "meminfo",))
    return tmp_path


def test_a_machine_without_limits(machine: Path):
    assert memory_of_machine(machine / "meminfo") == MachineMemory(1000 * 1024, 400 * 1024)
    assert free_memory() == 400 * 1024


def test_the_tightest_group_above_counts(machine: Path):
    """What the system keeps of files can be given back: 900 - 700 + 50."""
    group(machine / "groups/a", memory__max=900, memory__current=700, memory__stat="anon 5\ninactive_file 50")
    group(machine / "groups/a/b", memory__max="max", memory__current=700)
    assert group_room(machine / "groups", machine / "own") == [250]
    assert free_memory() == 250


def test_groups_of_the_first_version(machine: Path):
    (machine / "own").write_text("3:cpu,memory:/x\n2:devices:/x\n")
    files = {"memory__usage_in_bytes": 100, "memory__stat": "inactive_file 7\ntotal_inactive_file 20"}
    group(machine / "groups/memory", memory__limit_in_bytes=9223372036854771712, **files)
    group(machine / "groups/memory/x", memory__limit_in_bytes=300, **files)
    assert group_room(machine / "groups", machine / "own") == [220]


@pytest.mark.parametrize("own", ["", "nonsense\n", "0::/../..\n"])
def test_what_says_nothing_limits_nothing(machine: Path, own: str):
    (machine / "own").write_text(own)
    assert group_room(machine / "groups", machine / "own") == []
    assert group_room(machine / "groups", machine / "no such file") == []


def test_where_nobody_says(machine: Path):
    (machine / "meminfo").unlink()
    assert free_memory() is None


def test_the_disk_of_a_folder_to_be(tmp_path: Path):
    assert free_disk(tmp_path / "not/yet/there") > 0
