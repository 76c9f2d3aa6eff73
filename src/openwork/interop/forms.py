"""The formats of other toolkits that bundles are imported from and exported to, by their names on the command line."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from openwork.base.errors import UsageError
from openwork.base.folders import atomic_folder
from openwork.base.outputs import BUNDLE, EXPORT, check_folder, put_export_mark
from openwork.base.regular_files import check_downloaded
from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.bundles.settings import BundleSettings
from openwork.inference.settings import settings_over
from openwork.interop.ctranslate2.binary import read_binary
from openwork.interop.ctranslate2.reading import MODEL, bundle_from_ctranslate2
from openwork.interop.ctranslate2.whisper import SPECIFICATION
from openwork.interop.ctranslate2.whisper import bundle_from_whisper as whisper_from_ctranslate2
from openwork.interop.ctranslate2.writing import write_ctranslate2
from openwork.interop.hugging_face.bart import read_hugging_face, write_model_files
from openwork.interop.hugging_face.bert import bundle_from_bert, write_bert
from openwork.interop.hugging_face.decoder import FAMILIES, read_decoder, write_decoder
from openwork.interop.hugging_face.folder import CONFIG, card_of, read_json_object
from openwork.interop.hugging_face.t5 import bundle_from_t5
from openwork.interop.hugging_face.tokenizers import VOCABULARY, read_single, read_tokenizers, write_tokenizers
from openwork.interop.hugging_face.vit import bundle_from_vit, write_vit
from openwork.interop.hugging_face.whisper import bundle_from_whisper, write_whisper
from openwork.interop.marian.reading import bundle_from_marian
from openwork.interop.marian.writing import write_marian
from openwork.interop.onnx.writing import write_onnx
from openwork.interop.vocabulary import sizes_differ
from openwork.models.settings import DecoderSettings, EncoderSettings, SpeechSettings, VisionSettings
from openwork.text.external.adapted import AdaptedTokenizer
from openwork.text.external.library import read_json
from openwork.text.external.marian import UNKNOWN
from openwork.text.pair import TokenizerPair, train_pair
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.settings import TextSettings
from openwork.text.tokenizer import Tokenizer


def bundle_from_hugging_face(folder: Path, tokenizers: TokenizerPair | None = None) -> Bundle:
    """A Marian model with its tokenizers, what `write_hugging_face_folder` wrote, or one of `OTHERS`, as a bundle.

    BundleError and DataError for what is missing, damaged, pickled, or of a kind that openwork has not, and UsageError
    for tokenizers that are given.
    """
    _refuse_tokenizers(tokenizers)
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
    tokenizer = found if isinstance(found, Tokenizer) else AdaptedTokenizer(found)
    assert isinstance(tokenizer, AdaptedTokenizer | LearntTokenizer)
    read = read_decoder(folder, tokenizer)
    settings = BundleSettings(model=read.settings, decoding=read.decoding)
    return Bundle(settings, TokenizerPair(tokenizer, tokenizer), read.model, card=card_of(folder))


# Readers of models other than the BART family, by type: from a folder and its configuration.
OTHERS: dict[str, Callable[[Path, dict[str, Any]], Bundle]] = {
    "bert": bundle_from_bert,
    "vit": bundle_from_vit,
    "whisper": bundle_from_whisper,
    **dict.fromkeys(("t5", "mt5"), bundle_from_t5),
    **dict.fromkeys(FAMILIES, _language_model),
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
WRITERS: dict[type, Callable[[Path, Bundle], None]] = {
    EncoderSettings: write_bert,
    DecoderSettings: write_decoder,
    VisionSettings: write_vit,
    SpeechSettings: write_whisper,
}


class ModelFormat(NamedTuple):
    """Reads a folder of another toolkit as a bundle, with its own tokenizers or those given, and writes one."""

    read: Callable[[Path, TokenizerPair | None], Bundle]
    write: Callable[[Path, Bundle], None]


def _read_ctranslate2(folder: Path, tokenizers: TokenizerPair | None = None) -> Bundle:
    """A translation model, or Whisper, whose tokenizer is in its folder."""
    check_downloaded(folder)
    contents = read_binary(folder / MODEL)
    if contents.specification == SPECIFICATION:
        return whisper_from_ctranslate2(folder, contents)
    return bundle_from_ctranslate2(folder, tokenizers, contents)


def _read_marian(folder: Path, tokenizers: TokenizerPair | None = None) -> Bundle:
    _refuse_tokenizers(tokenizers)
    return bundle_from_marian(folder)


def _refuse_tokenizers(tokenizers: TokenizerPair | None) -> None:
    if tokenizers is not None:
        raise UsageError(
            "--source-tokenizer is for ct2",
            why="a folder of Hugging Face's or Marian's has its tokenizers in it",
            hint="leave it out",
            code="U037",
        )


FORMS: dict[str, ModelFormat] = {
    "ct2": ModelFormat(_read_ctranslate2, write_ctranslate2),
    "hf": ModelFormat(bundle_from_hugging_face, write_hugging_face_folder),
    "marian": ModelFormat(_read_marian, write_marian),
}
"""Those that are read and written."""

IMPORTS: dict[str, Callable[[Path, TokenizerPair | None], Bundle]] = {name: form.read for name, form in FORMS.items()}
"""What reads each form. A graph's names of weights are not a model's, so none is read."""

EXPORTS: dict[str, Callable[[Path, Bundle], None]] = {
    **{name: form.write for name, form in FORMS.items()},
    "onnx": write_onnx,
}
"""What writes each form."""


def import_model(
    name: str, folder: Path, out: Path, source: Path | None, target: Path | None, *, overwrite: bool = False
) -> Bundle:
    """Imports another toolkit's model as a bundle; `source` and `target` are files of tokenizers, one may serve both.

    UsageError for a place where no bundle may be written; `overwrite` allows one that holds a bundle.
    """
    if target is not None and source is None:
        raise UsageError(
            "--target-tokenizer needs --source-tokenizer",
            hint="give --source-tokenizer FILE as well, or alone if it serves both sides",
            code="U039",
        )
    read, tokenizers = IMPORTS[name], None
    check_folder(out, BUNDLE, (folder, source, target), overwrite=overwrite)
    if source is not None:
        shared = target is None or target == source
        settings = TextSettings(shared=shared, source_file=str(source), target_file=None if shared else str(target))
        tokenizers = train_pair((), (), settings)
    bundle = read(folder, tokenizers)
    write_bundle(out, bundle)
    return bundle


def export_model(name: str, folder: Path, out: Path, *, beam: int | None = None, overwrite: bool = False) -> Bundle:
    """Exports a bundle to another toolkit's format; returns what was exported.

    `beam`: of the search that is written, in place of the bundle's. `overwrite` allows a folder that holds an earlier
    export.
    """
    check_folder(out, EXPORT, [folder], overwrite=overwrite)
    bundle = load_bundle(folder)
    if beam is not None:
        settings = bundle.settings
        decoding = settings_over(settings.decoding, {"beam": beam})
        bundle = replace(bundle, settings=settings.model_copy(update={"decoding": decoding}))
    EXPORTS[name](out, bundle)
    return bundle
