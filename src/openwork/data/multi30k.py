"""Multi30k: captions of photographs in English, German and French, 29,000 to learn from.

Elliott et al. 2016, "Multi30K: Multilingual English-German Image Descriptions"; for research and education. The text is
raw: cased and untokenised. Files are looked for in the folder given, in OPENWORK_DATA, in the user's cache, and fetched
from the public origin at last.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from openwork.base.files import sha256_file
from openwork.data.download import fetch
from openwork.data.readers.parallel import read_parallel
from openwork.data.records import Pair

TERMS = "Multi30k, task 1, raw (github.com/multi30k/dataset); for research and education"
LANGUAGES = ("en", "de", "fr")
FILES = {"train": "train", "valid": "val", "test": "test_2016_flickr"}
"""The origin's own name of each split."""

_ORIGIN = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/"
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


def read(source: str, target: str, split: str, folder: Path | None = None) -> Iterator[Pair]:
    """The pairs of one split (train, valid or test) from language `source` to language `target`."""
    return read_parallel(locate(source, split, folder), locate(target, split, folder))


def locate(language: str, split: str, folder: Path | None = None) -> Path:
    """One side of a split as a file on this machine, fetched if need be; `DataError` where that fails."""
    name = f"{FILES[split]}.{language}"
    for place in _places(folder):
        for candidate in (place / f"{name}.gz", place / name):
            if candidate.is_file():
                return candidate
    name += ".gz"
    path = _cache() / name
    if not path.is_file() or sha256_file(path) != _SHA256[name]:
        hint = f"put {name} into a folder FOLDER/multi30k, by hand if need be, and set OPENWORK_DATA=FOLDER"
        fetch(_ORIGIN + name, path, sha256=_SHA256[name], hint=hint)
    return path


def _places(folder: Path | None) -> Iterator[Path]:
    roots = [folder] if folder else []
    if variable := os.environ.get("OPENWORK_DATA"):
        roots.append(Path(variable))
    for root in roots:
        yield root / "multi30k"
        yield root


def _cache() -> Path:
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "openwork" / "multi30k"
