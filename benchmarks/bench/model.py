"""The trained system that all translate with."""

from collections.abc import Callable
from pathlib import Path

from bench.options import Options
from bench.training import assignments
from bench.workload import training_settings
from openwork.bundles import folder as bundle_folder
from openwork.runs.train import train_bundle


def find_bundle(options: Options, say: Callable[[str], None]) -> Path:
    """The one that is named, else one of shape S that is trained once and kept; a stop in between loses little."""
    if options.bundle is not None:
        return bundle_folder.find_bundle(options.bundle)
    folder = options.folder / f"model-{options.corpus}-{options.model_updates}"
    if not (folder / "bundle").is_dir():
        say(f"training a model to translate with (once): {options.model_updates:,} updates; --bundle names another")
        changes = [f"training.steps={options.model_updates}", f"training.warmup={min(500, options.model_updates // 2)}"]
        train_bundle(training_settings([*assignments(options), *changes]), folder, say)
    return folder / "bundle"
