"""`openwork train --preflight`: what a training would need, and no training."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from openwork.machine.device import choose_device, choose_products
from openwork.runs.assembly import made_ready_to_train, resolve_computing
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder
from openwork.runs.preflight.check import preflight
from openwork.runs.preflight.report import Preflight
from openwork.runs.tuning.fine_tuning import check_fine_tuning


def preflight_alone(settings: RunSettings, out: Path | None, say: Callable[[str], None]) -> Preflight:
    """OpenworkError for a plan that cannot be carried out here.

    Data and vocabulary are made for the occasion; nothing is written to `out`, whose disk is looked at, nor kept.
    """
    device = choose_device()
    settings = resolve_computing(settings, None, device)
    choose_products(settings.training.precision, device)
    check_fine_tuning(settings)
    with tempfile.TemporaryDirectory(prefix="openwork-preflight-") as scratch:
        ready, _ = made_ready_to_train(settings, RunFolder(Path(scratch)), device, say)
        return preflight(ready.subject(settings, RunFolder(out or Path.cwd())))
