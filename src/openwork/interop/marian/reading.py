"""Reads a folder of Marian's as a bundle: a model in .npz, its vocabularies, and its search where a .yml tells it.

Marian's sinusoids have all sines first and all cosines after them, and their slowest wave is exactly 10,000 times as
long as the fastest: not those of the paper, nor of the converters for other toolkits.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openwork.base.errors import BundleError
from openwork.base.messages import msg
from openwork.base.regular_files import check_downloaded
from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import Bundle
from openwork.bundles.settings import BundleSettings
from openwork.decoding.settings import DecodingSettings
from openwork.interop.hugging_face.folder import build_imported, own_weights
from openwork.interop.marian.archive import read_archive, yaml_object
from openwork.interop.marian.layout import OUTPUT, SOURCE_TABLES, places
from openwork.interop.marian.settings import decoding_settings, read_settings, transformer_settings, unsupported
from openwork.interop.marian.vocabularies import read_vocabularies, vocabulary_of
from openwork.interop.vocabulary import sizes_differ
from openwork.text.external.library import read_bounded

MODEL, SEARCH = "model.npz", "decoder.yml"


@dataclass(frozen=True)
class MarianFiles:
    """The files of a folder; `search`: what its decoder.yml says, empty without one."""

    model: Path
    vocabularies: tuple[Path, Path]
    search: Mapping[str, Any]


def bundle_from_marian(folder: Path) -> Bundle:
    """The model in the folder with its tokenizers and search.

    BundleError and DataError for what is missing, damaged or a model that openwork has not.
    """
    files = find_files(folder)
    weights, content = read_archive(files.model)
    marian = read_settings(content, files.model)
    settings = transformer_settings(marian, files.model)
    if not any(weights[name].shape[-1:] == (marian.width,) for name in SOURCE_TABLES if name in weights):
        raise unsupported(files.model, "dim-emb", marian.width, msg("no embeddings of that width in this file"))
    pair = read_vocabularies(folder, files.vocabularies, marian.vocabularies)
    source, target = map(vocabulary_of, (pair.source, pair.target))
    for vocabulary, size in zip((source, target), marian.vocabularies, strict=True):
        if vocabulary.external_size != size or vocabulary.external[SYMBOL_IDS.end] is None:
            raise sizes_differ(folder, size, vocabulary.external_size)
    wanted = places(settings, input_first=f"{OUTPUT}_W" in weights)
    found = own_weights(wanted, weights, {"source": source, "target": target}, folder)
    model = build_imported(folder, settings, source, target, found)
    decoding = decoding_settings(files.search) if files.search else DecodingSettings()
    about = BundleSettings(model=settings, decoding=decoding)
    return Bundle(about, pair, model, card=f"# {folder.name}\n\nRead from a folder of Marian's.\n")


def find_files(folder: Path) -> MarianFiles:
    """BundleError for a folder without a model or without vocabularies."""
    check_downloaded(folder)
    models_here = [path for path in sorted(folder.glob("*.npz")) if not path.name.endswith(".optimizer.npz")]
    search = next((path for path in (folder / SEARCH, *sorted(folder.glob(f"*.{SEARCH}"))) if path.is_file()), None)
    content = _search(search) if search is not None else {}
    model = _named(folder, content.get("models"), 0) or (models_here[0] if len(models_here) == 1 else folder / MODEL)
    if not model.is_file():
        raise _missing(folder, msg("model.npz"))
    both = [_named(folder, content.get("vocabs"), side) for side in range(2)]
    if None in both:
        lists = sorted({*folder.glob("*vocab*.yml"), *folder.glob("*vocab*.json"), *folder.glob("vocab*.spm")})
        both = lists * (3 - len(lists))
    if len(both) != 2:
        raise _missing(folder, msg("the vocabularies, such as vocab.yml"))
    return MarianFiles(model, (both[0], both[1]), content)  # type: ignore[arg-type]


def _search(path: Path) -> dict[str, Any]:
    try:
        content = yaml_object(read_bounded(path))
        decoding_settings(content)
    except ValueError as error:
        raise BundleError(
            f"{path}: these are no settings of a search",
            why=str(error),
            hint="correct the file, or take it away: the search is openwork's usual one then",
            code="B085",
        ) from error
    return content


def _named(folder: Path, names: object, place: int) -> Path | None:
    """The file of the folder that a list names; it may have lain in another folder when the list was written."""
    if not isinstance(names, list) or len(names) <= place or not isinstance(names[place], str):
        return None
    path = folder / Path(names[place]).name
    return path if path.is_file() else None


def _missing(folder: Path, what: str) -> BundleError:
    return BundleError(
        f"{folder}: this is no folder of a Marian model",
        why=f"it lacks {what}",
        hint="name a folder with the model's .npz, its vocabularies (.yml or .spm) and, where there are, source.spm, "
        "target.spm and decoder.yml",
        code="B086",
    )
