"""Which bundles write the text of sounds."""

from pathlib import Path

from openwork.base.errors import UsageError
from openwork.base.tasks import COMMANDS, task_of
from openwork.bundles.bundle import Bundle


def check_reads_sounds(bundle: Bundle, path: Path) -> None:
    """UsageError for a bundle at `path` whose sources are no sounds."""
    if bundle.settings.sound is None:
        raise UsageError(
            f"{path}: the sources of this model are no sounds",
            hint=f"{COMMANDS[task_of(bundle.settings.model)]} is for it, or name another bundle",
            code="U120",
        )
