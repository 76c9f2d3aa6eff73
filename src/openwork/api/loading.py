"""Loading a trained model for use."""

import os
from pathlib import Path

from openwork.api.models import KINDS, LanguageModel, TrainedModel
from openwork.base.tasks import task_of
from openwork.bundles.bundle import load_bundle
from openwork.runs.usable import usable_bundle


def load(path: str | os.PathLike[str]) -> TrainedModel:
    """The trained model at `path`: a bundle, the folder of a run, or one of its checkpoints.

    What it is follows from what it was trained for: a `Translator`, a `Classifier`, a `Tagger`, an `Answerer`, a
    `MaskFiller`, a `LanguageModel` or an `Embedder`. BundleError if there is none at `path`, or if it is damaged.

    >>> openwork.load(en_de)
    Translator(...)
    """
    folder = Path(path)
    bundle = load_bundle(usable_bundle(folder))
    if bundle.model.continues:
        return LanguageModel(bundle, folder)
    return KINDS[task_of(bundle.settings.model)](bundle, folder)
