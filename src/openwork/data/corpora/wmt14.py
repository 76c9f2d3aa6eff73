"""WMT14: the corpora of the paper's two tables, English with German and with French, from their public origins.

The training archives of the shared task, newstest2013 to validate with and newstest2014 (all 3,003 sentences) to test.
They take gigabytes, so nothing is fetched unasked: `openwork data prepare` does it. The archives may also be put into a
folder wmt14 by hand.

The SHA-256 and sizes are those that TensorFlow Datasets publishes for the same addresses (url_checksums of
wmt13_translate and wmt14_translate), the MD5 of the test archive is sacreBLEU's. Pairs: wmt14's own figures in
Hugging Face's dataset_infos.json.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from openwork.base.cache import need_cache
from openwork.base.errors import DataError
from openwork.base.files import read_lines
from openwork.base.messages import msg
from openwork.data.corpora.corpus import SPLITS, NamedCorpus, find_file, find_folder
from openwork.data.corpora.download import Progress, RemoteFile, extract, fetch
from openwork.data.readers.lines import read_parallel
from openwork.data.records import Pair

HOME = "wmt14"
ORIGIN = "https://www.statmt.org/wmt14/translation-task.html"
TERMS = msg(
    "WMT14 shared task, constrained data (statmt.org/wmt14); for research, each corpus on the terms of its origin"
)

EUROPARL = RemoteFile(
    "https://www.statmt.org/wmt13/training-parallel-europarl-v7.tgz",
    "sha256:0224c7c710c8a063dfd893b0cc0830202d61f4c75c17eb8e31836103d27d96e7",
    657_632_379,
)
COMMON_CRAWL = RemoteFile(
    "https://www.statmt.org/wmt13/training-parallel-commoncrawl.tgz",
    "sha256:c7a74e2ea01ac6c920123108627e35278d4ccb5701e15428ffa34de86fa3a9e5",
    918_311_367,
)
NEWS_COMMENTARY = RemoteFile(
    "https://www.statmt.org/wmt14/training-parallel-nc-v9.tgz",
    "sha256:cb8953f292298e6877ae433c98912b927cb0766b303f4540512ddd286c748485",
    80_418_416,
)
UNITED_NATIONS = RemoteFile(
    "https://www.statmt.org/wmt13/training-parallel-un.tgz",
    "sha256:29141b5c1eba149a94f7a59d3b1a834b2e47fe0f8758d68dcd77a3d3f497ee47",
    2_365_634_246,
)
GIGA = RemoteFile(
    "https://www.statmt.org/wmt10/training-giga-fren.tar",
    "sha256:3ff8319f6919393520559bfbc7ad6a747ec81b3abc7be9993b338d4b017b4d9a",
    2_595_102_720,
)
DEVELOPMENT = RemoteFile(
    "https://data.statmt.org/wmt19/translation-task/dev.tgz",
    "sha256:7a7deccf82ebb05ba508dba5eb21356492224e8f630ec4f992132b029b4b25e7",
    38_654_961,
)
TEST = RemoteFile("https://www.statmt.org/wmt14/test-full.tgz", "md5:a8cd784e006feb32ac6f3d9ec7eb389a")

_TRAINING = {  # archive, and its member with the place of the language left open
    "de": (
        (EUROPARL, "training/europarl-v7.de-en.{}"),
        (COMMON_CRAWL, "commoncrawl.de-en.{}"),
        (NEWS_COMMENTARY, "training/news-commentary-v9.de-en.{}"),
    ),
    "fr": (
        (EUROPARL, "training/europarl-v7.fr-en.{}"),
        (COMMON_CRAWL, "commoncrawl.fr-en.{}"),
        (UNITED_NATIONS, "un/undoc.2000.fr-en.{}"),
        (NEWS_COMMENTARY, "training/news-commentary-v9.fr-en.{}"),
        (GIGA, "giga-fren.release2.fixed.{}.gz"),
    ),
}
_PAIRS = {"de": (4_508_785, 3_000, 3_003), "fr": (40_836_715, 3_000, 3_003)}
_SEGMENT = re.compile(r"<seg\b[^>]*>(.*)</seg>")


@dataclass(frozen=True)
class ArchivePart:
    """Two aligned files, source and target, as members of an archive."""

    archive: RemoteFile
    members: tuple[str, str]

    def files(self) -> list[str]:
        """Their names once they are unpacked, without the ending of a compressed file."""
        return [member.rpartition("/")[2].removesuffix(".gz") for member in self.members]


def parts(source: str, target: str, split: str) -> list[ArchivePart]:
    other = source if target == "en" else target
    if split == "train":
        return [ArchivePart(archive, (name.format(source), name.format(target))) for archive, name in _TRAINING[other]]
    if split == "valid":
        return [ArchivePart(DEVELOPMENT, (f"dev/newstest2013.{source}", f"dev/newstest2013.{target}"))]
    stem = f"test-full/newstest2014-{other}en"
    return [ArchivePart(TEST, (f"{stem}-src.{source}.sgm", f"{stem}-ref.{target}.sgm"))]


def _direction(source: str, target: str) -> NamedCorpus:
    name = f"wmt14-{source}-{target}"
    every = [part for split in SPLITS for part in parts(source, target, split)]

    def read(split: str, folder: Path | None) -> Iterator[Pair]:
        sides = [_locate(name, part, folder) for part in parts(source, target, split)]
        return chain.from_iterable(_aligned(*paths) for paths in sides)

    def found(folder: Path | None) -> str:
        return find_folder(HOME, [file for part in every for file in part.files()], folder)

    def bring(folder: Path | None, progress: Progress) -> None:
        for part in every:
            _bring(part, folder, progress)

    size = sum(archive.size or 0 for archive in {part.archive for part in every})
    return NamedCorpus(
        TERMS,
        f"{ORIGIN} ({size / 1e9:.1f} GB to fetch)",
        read,
        (source, target),
        _PAIRS[source if target == "en" else target],
        found=found,
        fetch=bring,
    )


def _locate(name: str, part: ArchivePart, folder: Path | None) -> tuple[Path, Path]:
    source, target = (find_file(HOME, file, folder) for file in part.files())
    if source is None or target is None:
        size = f"{part.archive.size / 1e6:,.0f} MB" if part.archive.size else "some MB"
        raise DataError(
            f"{name}: {part.files()[source is not None]} is not on this machine",
            why=f"it is in {part.archive.name} ({size}), and so much is not fetched unasked",
            hint=f"openwork data prepare {name} --out FOLDER fetches it, and continues where it stopped",
            code="D062",
        )
    return source, target


def _bring(part: ArchivePart, folder: Path | None, progress: Progress) -> None:
    """Unpack the two files into the cache, from an archive that is here or is fetched."""
    members = dict(zip(part.members, part.files(), strict=True))
    wanted = {member: name for member, name in members.items() if find_file(HOME, name, folder) is None}
    if not wanted:
        return
    cache = need_cache(HOME)
    archive = find_file(HOME, part.archive.name, folder) or cache / part.archive.name
    hint = f"put {archive.name} into a folder FOLDER/{HOME}, by hand if need be, and set OPENWORK_DATA=FOLDER"
    if archive.parent == cache:
        fetch(part.archive, archive, hint=hint, progress=progress)
    elif not part.archive.is_at(archive):
        raise DataError(
            f"{archive}: this is not the expected file",
            why="its checksum is not the published one: it is damaged, cut short, or another version",
            hint=f"fetch it again from {part.archive.url}, or remove it",
            code="D064",
        )
    extract(archive, {member: cache / member.rpartition("/")[2] for member in wanted})


def _aligned(source: Path, target: Path) -> Iterator[Pair]:
    if ".sgm" not in source.name:
        return read_parallel(source, target)
    # Character references stay as they are, as in sacreBLEU.
    sides = [
        [" ".join(found[1].split()) for line in read_lines(path) if (found := _SEGMENT.search(line))]
        for path in (source, target)
    ]
    if len(sides[0]) != len(sides[1]):
        raise DataError(
            f"{source} has {len(sides[0]):,} segments, {target} has {len(sides[1]):,}",
            why="segment n of one must translate segment n of the other",
            hint="remove both, and fetch them again",
            code="D065",
        )
    return (Pair(*both) for both in zip(*sides, strict=True))


CORPORA = {
    f"{HOME}-{source}-{target}": _direction(source, target)
    for other in _TRAINING
    for source, target in (("en", other), (other, "en"))
}
