"""The resident memory of this process, as the system counts it."""

from pathlib import Path

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _field(name: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def resident_bytes() -> int:
    """Now."""
    return _field("VmRSS")


def anonymous_bytes() -> int:
    """Now, without pages of files, which the system takes back when it wants."""
    return _field("RssAnon")


def begin_peak() -> int:
    """The peak is counted anew from here; returns what is resident now."""
    RESET.write_text("5")
    return resident_bytes()


def peak_bytes() -> int:
    """The most since the process began, or since `begin_peak`."""
    return _field("VmHWM")
