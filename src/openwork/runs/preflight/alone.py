"""`openwork train --preflight`: what a training would need, and no training."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from openwork.runs.assembly import prepare_training, settle_computing
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder
from openwork.runs.preflight.check import preflight
from openwork.runs.preflight.report import Preflight


def preflight_alone(settings: RunSettings, out: Path | None, say: Callable[[str], None]) -> Preflight:
    """OpenworkError for a plan that cannot be carried out here.

    Data and vocabulary are made for the occasion; nothing is written to `out`, whose disk is looked at, nor kept.
    """
    settings, device = settle_computing(settings, None)
    with tempfile.TemporaryDirectory(prefix="openwork-preflight-") as scratch:
        setup, _ = prepare_training(settings, RunFolder(Path(scratch)), device, say)
        return preflight(setup.subject(settings, RunFolder(out or Path.cwd())))
