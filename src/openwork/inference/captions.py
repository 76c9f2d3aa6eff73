"""Which models write the text of a picture."""

from pathlib import Path

from openwork.base.errors import UsageError
from openwork.base.tasks import command_for, task_of
from openwork.bundles.bundle import Bundle


def writes_captions(bundle: Bundle) -> bool:
    """Whether its sources are pictures and its targets texts."""
    return bundle.settings.picture is not None and task_of(bundle.settings.model) == "generate"


def check_captions(bundle: Bundle, path: Path) -> None:
    """UsageError for a bundle at `path` that writes no texts of pictures."""
    if not writes_captions(bundle):
        raise UsageError(
            f"{path}: this model writes no texts of pictures",
            hint=f"{command_for(bundle.settings)} is for it, or name another bundle",
            code="U129",
        )
