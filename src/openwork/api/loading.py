"""Loading a trained model for use."""

import os

from openwork.api.models import KINDS, LanguageModel, TrainedModel
from openwork.api.texts import as_path
from openwork.base.tasks import task_of
from openwork.bundles.bundle import load_bundle
from openwork.runs.usable import usable_bundle


def load(path: str | os.PathLike[str]) -> TrainedModel:
    """Loads the trained model at `path`: a bundle, the folder of a run, or one of its checkpoints.

    Its task decides the class: `Translator`, `Classifier`, `Tagger`, `Answerer`, `MaskFiller`, `LanguageModel` or
    `Embedder`. BundleError if there is none at `path`, or if it is damaged.

    >>> openwork.load(en_de)
    Translator(...)
    """
    folder = as_path(path)
    bundle = load_bundle(usable_bundle(folder))
    if bundle.model.continues:
        return LanguageModel(bundle, folder)
    return KINDS[task_of(bundle.settings.model)](bundle, folder)
