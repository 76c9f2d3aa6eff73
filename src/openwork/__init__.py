"""openwork: the Transformer of "Attention Is All You Need", complete and open to view.

>>> import openwork
>>> translator = openwork.load(en_de)
>>> translator.translate("a b c")
Translation(...)

What stands in `__all__` is public. It changes only as semantic versioning allows (docs/python.md); everything else is
private. Each name is imported when it is first used, so that `import openwork` takes no time.
"""

import os
from typing import TYPE_CHECKING

from openwork.base.public import import_when_used

if TYPE_CHECKING:
    from openwork import data, decoding, models, nn
    from openwork.api.attention import AttentionReport
    from openwork.api.captioning import Captioner, Transcriber
    from openwork.api.evaluating import Scores, evaluate
    from openwork.api.explanation import Explanation
    from openwork.api.models import (
        Answerer,
        Classifier,
        Embedder,
        LanguageModel,
        MaskFiller,
        Tagger,
        Translator,
        load,
    )
    from openwork.api.remote import RemoteTranslator, connect
    from openwork.api.trained import TrainedModel
    from openwork.api.training import Run, train
    from openwork.base.errors import BundleError, ConfigError, DataError, OpenworkError, UsageError
    from openwork.inference.documents.report import DocumentReport
    from openwork.inference.transcriber import Transcript
    from openwork.inference.translation import Translation
    from openwork.models.seq2seq import Transformer

__version__ = "0.1.0"

__all__ = [
    "Answerer", "AttentionReport", "BundleError", "Captioner", "Classifier", "ConfigError", "DataError",
    "DocumentReport", "Embedder", "Explanation", "LanguageModel", "MaskFiller", "OpenworkError", "RemoteTranslator",
    "Run", "Scores", "Tagger", "TrainedModel", "Transcriber", "Transcript", "Transformer", "Translation", "Translator",
    "UsageError", "__version__", "connect", "data", "decoding", "evaluate", "load", "models", "nn", "train",
]  # fmt: skip

# On a CPU torch's libraries keep what they prepared for each shape of a matrix product, a thousand of each kind by
# themselves. Sentences make a new shape in almost every batch, so a training grew by gigabytes (3.4 GB in its first
# twenty minutes, benchmarks/soak); within an update some dozen shapes come again, and those are kept. The libraries
# read these when they begin, hence here, before torch is loaded; whoever sets them has them as set.
for _name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
    os.environ.setdefault(_name, "64")

__getattr__ = import_when_used(
    __name__,
    {
        "": "data decoding models nn",
        "api.attention": "AttentionReport",
        "api.evaluating": "Scores evaluate",
        "api.explanation": "Explanation",
        "api.captioning": "Captioner Transcriber",
        "api.models": "Answerer Classifier Embedder LanguageModel MaskFiller Tagger Translator load",
        "api.remote": "RemoteTranslator connect",
        "api.trained": "TrainedModel",
        "api.training": "Run train",
        "base.errors": "BundleError ConfigError DataError OpenworkError UsageError",
        "inference.documents.report": "DocumentReport",
        "inference.transcriber": "Transcript",
        "inference.translation": "Translation",
        "models.seq2seq": "Transformer",
    },
)
