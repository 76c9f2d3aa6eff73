"""Imports Hugging Face's folders as bundles, and exports bundles as such folders: model, tokenizers and search."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from openwork.base.folders import atomic_folder
from openwork.base.outputs import EXPORT, put_export_mark
from openwork.base.regular_files import check_downloaded
from openwork.bundles.bundle import Bundle
from openwork.bundles.settings import BundleSettings
from openwork.interop.hugging_face.bart import read_hugging_face, write_model_files
from openwork.interop.hugging_face.bert import bundle_from_bert, write_bert
from openwork.interop.hugging_face.config import CONFIG, card_of, read_json_object
from openwork.interop.hugging_face.decoder import CONFIGS, read_decoder, write_decoder
from openwork.interop.hugging_face.tokenizers import VOCABULARY, read_single, read_tokenizers, write_tokenizers
from openwork.interop.vocabulary import sizes_differ
from openwork.models.settings import DecoderSettings, EncoderSettings
from openwork.text.external.adapted import AdaptedTokenizer
from openwork.text.external.library import read_json
from openwork.text.external.marian import UNKNOWN
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.tokenizer import Tokenizer


def bundle_from_hugging_face(folder: Path) -> Bundle:
    """A Marian model with its tokenizers, what `write_hugging_face_folder` wrote, or one of `OTHERS`, as a bundle.

    BundleError and DataError for what is missing, damaged, pickled, or of a kind that openwork has not.
    """
    check_downloaded(folder)
    content = read_json_object(folder / CONFIG)
    other = OTHERS.get(str(content.get("model_type")))
    if other is not None:
        return other(folder, content)
    tokenizers = read_tokenizers(folder)
    names = read_json(folder / VOCABULARY) if (folder / VOCABULARY).is_file() else {}
    read = read_hugging_face(folder, names.get(UNKNOWN))
    for tokenizer, vocabulary in ((tokenizers.source, read.source), (tokenizers.target, read.target)):
        if tokenizer.vocabulary_size != vocabulary.size:
            raise sizes_differ(folder, vocabulary.size, tokenizer.vocabulary_size)
    settings = BundleSettings(model=read.settings, decoding=read.decoding)
    return Bundle(settings, tokenizers, read.model, card=card_of(folder))


def _language_model(folder: Path, content: Mapping[str, object]) -> Bundle:
    found = read_single(folder)
    tokenizer = AdaptedTokenizer(found) if not isinstance(found, Tokenizer) else found
    assert isinstance(tokenizer, AdaptedTokenizer | LearntTokenizer)
    read = read_decoder(folder, tokenizer)
    settings = BundleSettings(model=read.settings, decoding=read.decoding)
    return Bundle(settings, TokenizerPair(tokenizer, tokenizer), read.model, card=card_of(folder))


# Readers of models other than the BART family, by type: from a folder and its configuration.
OTHERS: dict[str, Callable[[Path, dict[str, Any]], Bundle]] = {
    "bert": bundle_from_bert,
    **dict.fromkeys(CONFIGS, _language_model),
}


def write_hugging_face_folder(folder: Path, bundle: Bundle) -> None:
    """The bundle's model, tokenizers and search, for `AutoTokenizer` and the `AutoModel` of its task.

    ConfigError for a model or a tokenizer that Hugging Face has not. The folder appears complete or not at all.
    """
    write = WRITERS.get(type(bundle.settings.model), _write_encoder_decoder)
    with atomic_folder(folder, EXPORT.own_in(folder)) as partial:
        write(partial, bundle)
        put_export_mark(partial)


def _write_encoder_decoder(folder: Path, bundle: Bundle) -> None:
    write_model_files(folder, bundle.settings.model, bundle.model, bundle.settings.decoding)
    write_tokenizers(folder, bundle.tokenizers)


# Writers of models other than encoder-decoders, by their settings.
WRITERS: dict[type, Callable[[Path, Bundle], None]] = {EncoderSettings: write_bert, DecoderSettings: write_decoder}
