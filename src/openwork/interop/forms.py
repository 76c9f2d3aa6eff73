"""The formats of other toolkits that bundles are imported from and exported to, by their names on the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from openwork.base.errors import UsageError
from openwork.base.outputs import BUNDLE, EXPORT, check_folder
from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.interop.ctranslate2.reading import bundle_from_ctranslate2
from openwork.interop.ctranslate2.writing import write_ctranslate2
from openwork.interop.hugging_face.bundle import bundle_from_hugging_face, write_hugging_face_folder
from openwork.text.pair import TokenizerPair, train_pair
from openwork.text.settings import TextSettings


class ModelFormat(NamedTuple):
    """Reads a folder of another toolkit as a bundle, with its own tokenizers or those given, and writes one."""

    read: Callable[[Path, TokenizerPair | None], Bundle]
    write: Callable[[Path, Bundle], None]


def _read_hugging_face(folder: Path, tokenizers: TokenizerPair | None) -> Bundle:
    if tokenizers is not None:
        raise UsageError(
            "--source-tokenizer is for ct2",
            why="a folder of Hugging Face's has its tokenizers in it",
            hint="leave it out",
            code="U037",
        )
    return bundle_from_hugging_face(folder)


FORMS: dict[str, ModelFormat] = {
    "ct2": ModelFormat(bundle_from_ctranslate2, write_ctranslate2),
    "hf": ModelFormat(_read_hugging_face, write_hugging_face_folder),
}


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
    form, tokenizers = FORMS[name], None
    check_folder(out, BUNDLE, (folder, source, target), overwrite=overwrite)
    if source is not None:
        shared = target is None or target == source
        settings = TextSettings(shared=shared, source_file=str(source), target_file=None if shared else str(target))
        tokenizers = train_pair((), (), settings)
    bundle = form.read(folder, tokenizers)
    write_bundle(out, bundle)
    return bundle


def export_model(name: str, folder: Path, out: Path, *, overwrite: bool = False) -> Bundle:
    """Exports a bundle to another toolkit's format; `overwrite` allows a folder that holds an earlier export."""
    form = FORMS[name]
    check_folder(out, EXPORT, [folder], overwrite=overwrite)
    bundle = load_bundle(folder)
    form.write(out, bundle)
    return bundle
