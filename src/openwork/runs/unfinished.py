"""A run without a bundle, or one of its checkpoints, read as a bundle.

The bundle is written to a temporary folder, which lasts as long as the process; nothing is written to the run.
"""

import atexit
import functools
import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from openwork import __version__
from openwork.base.config import to_toml
from openwork.base.errors import BundleError, report
from openwork.base.outputs import is_checkpoint
from openwork.base.printing import escaped
from openwork.bundles.folder import CARD, CONFIG, GOLDEN, WEIGHTS, write_manifest
from openwork.bundles.settings import load_tokenizers
from openwork.models.weights import tensors_to_bytes
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder, no_checkpoint, settings_of_run
from openwork.training.checkpoint import STATE, checkpoint_step, checkpoints, load_weights
from openwork.training.progress import Progress
from openwork.training.trained_weights import merged_tensors

READINGS = 5  # of a run whose training may remove checkpoints meanwhile


def bundle_of_checkpoint(path: Path) -> Path:
    """The folder of a bundle with the weights of a checkpoint: `path` itself, or one of the run at `path`.

    Of a run it takes the best one by the validation pairs, or the newest one before the first validation. It skips
    damaged ones. BundleError if there is none.
    """
    damaged: list[BundleError] = []
    for _ in range(READINGS):
        found = [path] if is_checkpoint(path) else _by_worth(path)
        damaged.clear()
        for checkpoint in found:
            try:
                return _written(checkpoint.resolve(), _stamp(checkpoint), path)
            except FileNotFoundError:  # removed meanwhile
                continue
            except BundleError as error:
                damaged.append(error)
        if all(checkpoint.exists() for checkpoint in found):
            break
    if damaged:
        raise damaged[0]
    raise no_checkpoint(path)


def _by_worth(run: Path) -> Sequence[Path]:
    """The checkpoints of a run: the best one, then the newest ones."""
    newest = checkpoints(run / "checkpoints")[::-1]
    settings = RunFolder(run).read_settings()
    step = next((step for path in newest if settings and (step := _best_step(path, settings)) is not None), None)
    return sorted(newest, key=lambda path: checkpoint_step(path) != step)  # the order of the others stays


def _best_step(checkpoint: Path, settings: RunSettings) -> int | None:
    """The update of the best weights when the checkpoint was written; None if it is not known."""
    try:
        state = json.loads((checkpoint / STATE).read_text(encoding="utf-8"))
        best = Progress.from_json(state["progress"]).best(settings.training.metric)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return best.step if best is not None else None


def _stamp(checkpoint: Path) -> tuple[int, ...]:
    """When its files were written; FileNotFoundError if it is gone."""
    (checkpoint / STATE).stat()
    return tuple(file.stat().st_mtime_ns for file in sorted(checkpoint.iterdir()))


@functools.cache
def _written(checkpoint: Path, stamp: tuple[int, ...], named: Path) -> Path:
    """`stamp`: when its files were written; `named`: as the user calls it."""
    step, run = checkpoint_step(checkpoint), RunFolder(checkpoint.parents[1])
    run.refuse_links()
    settings = run.settings_of_checkpoints()
    tokenizers = load_tokenizers(run.tokenizers, settings)
    weights = tensors_to_bytes(merged_tensors(load_weights(checkpoint)))
    place = Path(tempfile.mkdtemp(prefix="openwork-checkpoint-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    tokenizers.save(place)
    (place / CONFIG).write_text(to_toml(settings_of_run(settings)), encoding="utf-8")
    (place / WEIGHTS).write_bytes(weights)
    (place / GOLDEN).write_text("[]", encoding="utf-8")
    title = f"# The weights after update {step:,} of {named}"
    card = [title, "", f"Read by openwork {__version__}; the training had written no bundle.", ""]
    (place / CARD).write_text(escaped("\n".join(card)), encoding="utf-8")
    write_manifest(place)
    if is_checkpoint(named):
        report(f"{named}: the weights after update {step:,}")
    else:
        newest = max(checkpoint_step(path) for path in checkpoints(run.checkpoints))
        report(f"{named}: no bundle yet; these are the weights after update {step:,}, of {newest:,} made")
    return place
