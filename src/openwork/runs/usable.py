"""Whatever a person can use as a trained model: a bundle, a run, or one checkpoint of a run. No torch here."""

from pathlib import Path

from openwork.bundles.folder import check_bundle, has_bundle


def usable_bundle(path: Path) -> Path:
    """A folder that `load_bundle` reads: `path` itself, or a bundle made for this process of a run's checkpoint.

    BundleError if `path` is neither a bundle, nor a run with a checkpoint, nor a checkpoint.
    """
    check_bundle(path)
    if has_bundle(path):
        return path
    from openwork.runs.unfinished import bundle_of_checkpoint  # which needs torch

    return bundle_of_checkpoint(path)
