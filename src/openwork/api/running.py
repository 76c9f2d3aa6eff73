"""The part of training that all ways to train from Python share."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from openwork.api.texts import ignore_report, reported
from openwork.base.toml import write_value
from openwork.cli.train import end_process
from openwork.machine.processes import join
from openwork.runs.file.settings import RunSettings
from openwork.runs.length import MinutesBudget
from openwork.runs.train import train_bundle
from openwork.training.progress import Progress


def assignments_of(set: Mapping[str, Any] | None) -> list[str]:
    """Settings by their keys as the command line has them."""
    return [f"{key}={write_value(value)}" for key, value in (set or {}).items()]


def run_training(settings: RunSettings, folder: Path, minutes: float | None, *, progress: bool) -> Progress:
    """Trains with these settings, or goes on, and shows how far it is; Ctrl-C raises KeyboardInterrupt."""
    observers = []
    if progress:
        from openwork.cli.terminal import progress_console
        from openwork.training.observers.console import console_observer

        observers = [console_observer(progress_console())]
    budget = None if minutes is None else MinutesBudget(minutes)
    joined = join(end_process)
    observers = observers if joined.is_first else []
    report = reported(progress=progress) if joined.is_first else ignore_report
    result = train_bundle(settings, folder, report, observers, budget=budget, processes=joined)
    if result.bundle is None:
        raise KeyboardInterrupt
    return result.progress
