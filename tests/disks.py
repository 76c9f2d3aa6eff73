"""Disks that are really small and really full, where the machine lets us mount one."""

import errno
import gc
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[Path]:
    """A disk of this size (`2m`, `700k`) under a new folder; the test is skipped where that is not allowed."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small disk needs rights that this process lacks")
    try:
        yield folder
    finally:
        gc.collect()  # what maps a file of the disk may wait in a cycle
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def filled(disk: Path, room: int) -> Path:
    """Fills the disk up to so many bytes; the file that does it, to be removed when there should be room again."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError as error:
            assert error.errno == errno.ENOSPC
    os.truncate(filler, max(0, filler.stat().st_size - room))
    return filler
