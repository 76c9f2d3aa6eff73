"""Corpora of pictures that are written once into the user's cache: a folder of each split, with one of each class."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from numpy.typing import NDArray

from openwork.base.cache import need_cache
from openwork.base.folders import atomic_folder
from openwork.data.corpora.corpus import NamedCorpus, check_split, find_folder
from openwork.data.corpora.download import Progress
from openwork.data.records import Pair

MARK = "terms.txt"  # is written last, so it is there when all pictures are


def written_once(name: str, terms: str, folder: Path | None, write: Callable[[Path], None]) -> Path:
    """The folder of the corpus, which `write` fills where there is none."""
    if known := find_folder(name, [MARK], folder):
        return Path(known)
    home = need_cache(name)
    with atomic_folder(home, [MARK]) as partial:
        write(partial)
        (partial / MARK).write_text(f"{terms}\n", encoding="utf-8")
    return home


class ClassPicture(NamedTuple):
    """A grey picture: its split, its class, and bytes (height, width), white on black."""

    split: str
    label: str
    pixels: NDArray


def grey_file(pixels: NDArray) -> bytes:
    """Bytes (height, width) as a file in the format PGM."""
    height, width = pixels.shape
    return f"P5\n{width} {height}\n255\n".encode() + pixels.tobytes()


@dataclass(frozen=True)
class PictureFolders:
    """Grey pictures with classes. A pair is the path of a picture and its class.

    `pictures`: all of them, from a folder of the user's or from where the origin puts them. Their order gives the
    names of the files.
    """

    name: str
    terms: str
    pictures: Callable[[Path | None], Iterable[ClassPicture]]

    def corpus(self, origin: str, sizes: tuple[int, int, int]) -> NamedCorpus:
        return NamedCorpus(self.terms, origin, self.read, pairs=sizes, found=self.found, fetch=self.fetch)

    def read(self, split: str, folder: Path | None) -> Iterator[Pair]:
        """Each picture's path and class, class by class."""
        check_split(split)
        for file in sorted((self.home(folder) / split).glob("*/*.pgm")):
            yield Pair(str(file), file.parent.name)

    def found(self, folder: Path | None) -> str:
        return find_folder(self.name, [MARK], folder)

    def home(self, folder: Path | None) -> Path:
        """The folder of the pictures, which is written where there is none."""
        return written_once(self.name, self.terms, folder, lambda place: self._write(place, folder))

    def fetch(self, folder: Path | None, progress: Progress) -> None:
        self.home(folder)

    def _write(self, place: Path, folder: Path | None) -> None:
        for number, (split, label, pixels) in enumerate(self.pictures(folder)):
            (place / split / label).mkdir(parents=True, exist_ok=True)
            (place / split / label / f"{number:05}.pgm").write_bytes(grey_file(pixels))
