"""Writes bundles as folders of Marian's: what `openwork import marian` reads, and marian-decoder by its decoder.yml.

model.npz              the weights in float32, and the model's settings
decoder.yml            model, vocabularies and search
vocab.yml, vocab.spm   or source.vocab.* and target.vocab.*: the pieces; source.spm and target.spm beside a list
tokenizer.json         or source.tokenizer.json and target.tokenizer.json: a tokenizer that Marian cannot run
card.md                the bundle's card
openwork-export.json   that openwork wrote the folder, and may replace its files
"""

from pathlib import Path

from openwork.base.errors import BundleError
from openwork.base.folders import atomic_folder
from openwork.base.outputs import EXPORT, put_export_mark
from openwork.base.printing import escaped
from openwork.bundles.bundle import Bundle
from openwork.bundles.folder import CARD
from openwork.interop.exports import marian_reason
from openwork.interop.hugging_face.folder import external_weights
from openwork.interop.marian.archive import write_archive, yaml_text
from openwork.interop.marian.layout import OUTPUT, places
from openwork.interop.marian.reading import MODEL, SEARCH
from openwork.interop.marian.settings import marian_settings, search_settings
from openwork.interop.marian.vocabularies import vocabulary_of, write_vocabularies
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings

NEVER = -1e9  # the bias of an id that no text has


def write_marian(folder: Path, bundle: Bundle) -> None:
    """Writes the folder; it appears complete or not at all. BundleError where Marian has no such model."""
    model, settings = bundle.model, bundle.settings.model
    reason = marian_reason(settings)
    if reason or not isinstance(model, Transformer) or not isinstance(settings, TransformerSettings):
        raise BundleError(
            "Marian cannot run this model",
            why=reason,
            hint='train with model.positions = "split-sinusoidal", model.start_vector = "zeros", model.norm = "post" '
            'and model.feedforward = "relu" or "swish"',
            code="B087",
        )
    source, target = map(vocabulary_of, (bundle.tokenizers.source, bundle.tokenizers.target))
    sizes = source.external_size, target.external_size
    unused = sorted(set(range(sizes[1])) - set(target.external))
    settings = settings.model_copy(update={"output_bias": settings.output_bias or bool(unused)})
    own = dict(model.named_parameters(remove_duplicate=False))
    weights = external_weights(places(settings), own, pieces={"source": source, "target": target})
    if unused:
        weights[f"{OUTPUT}_b"][unused] = NEVER
    with atomic_folder(folder, EXPORT.own_in(folder)) as partial:
        write_archive(partial / MODEL, weights, marian_settings(settings, sizes))
        names = write_vocabularies(partial, bundle.tokenizers)
        search = yaml_text(search_settings(bundle.settings.decoding, MODEL, names))
        (partial / SEARCH).write_text(search, encoding="utf-8")
        (partial / CARD).write_text(escaped(bundle.card), encoding="utf-8")
        put_export_mark(partial)
