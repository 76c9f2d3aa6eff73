"""Multi30k: captions of photographs in English, German and French, 29,000 to learn from.

Elliott et al. 2016, "Multi30K: Multilingual English-German Image Descriptions"; for research and education. The text is
raw: cased and untokenised; or in small letters ("multi30k-lowercased-en-de" and so on), as the published scores of
small models have it (Wu et al. 2021, "Good for Misconceived Reasons"). Files are looked for in the folder given, in
OPENWORK_DATA, in the user's cache, and fetched from the public origin at last: they are small.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, product
from pathlib import Path

from openwork.base.cache import find_cache, need_cache
from openwork.data.corpora.corpus import ROLES, NamedCorpus, both_ways
from openwork.data.corpora.download import RemoteFile, Told, fetch, silent
from openwork.data.corpora.places import find_file, find_folder
from openwork.data.readers.parallel import read_parallel
from openwork.data.records import Pair

HOME = "multi30k"
TERMS = "Multi30k, task 1, raw (github.com/multi30k/dataset); for research and education"
ORIGIN = "https://github.com/multi30k/dataset"
LANGUAGES = ("en", "de", "fr")
FILES = {"train": "train", "valid": "val", "test": "test_2016_flickr"}
"""The origin's own name of each split."""

_FILES_AT = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/"
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


def locate(language: str, split: str, folder: Path | None = None, told: Told = silent) -> Path:
    """One side of a split as a file on this machine, fetched if need be; `DataError` where that fails."""
    name = f"{FILES[split]}.{language}"
    found = find_file(HOME, name, folder)
    cache = find_cache(HOME)
    if found is not None and (cache is None or found != cache / f"{name}.gz"):
        return found
    cached = need_cache(HOME) / f"{name}.gz"
    remote = RemoteFile(_FILES_AT + cached.name, f"sha256:{_SHA256[cached.name]}")
    hint = f"put {cached.name} into a folder FOLDER/multi30k, by hand if need be, and set OPENWORK_DATA=FOLDER"
    fetch(remote, cached, hint=hint, told=told)
    return cached


def _direction(source: str, target: str) -> NamedCorpus:
    def read(split: str, folder: Path | None, count: int | None, seed: int) -> Iterator[Pair]:
        return islice(read_parallel(locate(source, split, folder), locate(target, split, folder)), count)

    def found(folder: Path | None) -> str:
        return find_folder(HOME, [f"{name}.{side}" for name in FILES.values() for side in (source, target)], folder)

    def bring(folder: Path | None, told: Told) -> None:
        for split, language in product(ROLES, (source, target)):
            locate(language, split, folder, told)

    train, valid, test = (FILES[role] for role in ROLES)
    return NamedCorpus(
        read, TERMS, ORIGIN, (source, target), (29_000, 1_014, 1_000), (train, valid, test), found, bring
    )


def _lowercased(source: str, target: str) -> NamedCorpus:
    cased = _direction(source, target)

    def read(split: str, folder: Path | None, count: int | None, seed: int) -> Iterator[Pair]:
        for pair in cased.read(split, folder, count, seed):
            yield Pair(pair.source.lower(), pair.target.lower())

    return replace(cased, read=read)


CORPORA = {
    **both_ways("multi30k", LANGUAGES, _direction),
    **both_ways("multi30k-lowercased", LANGUAGES, _lowercased),
}
