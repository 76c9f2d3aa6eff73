"""Spoken digits: 3,000 recordings of six speakers, each of whom can be held out.

"Free Spoken Digit Dataset" (Jackson et al.). A pair is the path of a recording and the digit as a word. The recordings
are unpacked into the user's cache at the first use. To test: all recordings of one speaker, who is never heard before.
To validate: the first five of each digit of the others, as the dataset's own page divides them.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from openwork.base.cache import find_cache, need_cache
from openwork.base.files import atomic_write_text
from openwork.base.messages import msg
from openwork.data.corpora.corpus import NamedCorpus, check_split, find_file, need_file
from openwork.data.corpora.download import extract
from openwork.data.records import Pair

NAME, HOME, ARCHIVE = "spoken-digits", "speech", "free-spoken-digits.tar.gz"
ORIGIN = "https://github.com/Jakobovski/free-spoken-digit-dataset"
TERMS = msg("Free Spoken Digit Dataset (Jakobovski/free-spoken-digit-dataset; CC BY-SA 4.0)")
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SPEAKERS = ("george", "jackson", "lucas", "nicolas", "theo", "yweweler")
TAKES, HELD_OUT = 50, 5  # recordings of each digit by each speaker; the first ones of them, to validate with
MARK = "terms.txt"  # is written last, so it is there when all recordings are


def read(split: str, folder: Path | None, speaker: str) -> Iterator[Pair]:
    """The recordings of a split, of which `speaker` is held out."""
    check_split(split)
    home = _home(folder)
    takes = {"train": range(HELD_OUT, TAKES), "valid": range(HELD_OUT), "test": range(TAKES)}[split]
    for digit, word in enumerate(WORDS):
        for other in SPEAKERS:
            if (other == speaker) == (split == "test"):
                yield from (Pair(str(home / f"{digit}_{other}_{take}.wav"), word) for take in takes)


def recordings(takes: Iterable[int], folder: Path | None) -> Iterator[tuple[Path, str]]:
    """These takes of each digit by each speaker, and the digit as a word."""
    home = _home(folder)
    for digit, word in enumerate(WORDS):
        yield from ((home / f"{digit}_{one}_{take}.wav", word) for one in SPEAKERS for take in takes)


def found(folder: Path | None) -> str:
    """The folder of the recordings, or that of the archive."""
    home, archive = find_cache(NAME), find_file(HOME, ARCHIVE, folder)
    if home is not None and (home / MARK).is_file():
        return str(home)
    return "" if archive is None else str(archive.parent)


def _home(folder: Path | None) -> Path:
    """The folder of the recordings, unpacked where they are not yet."""
    home = need_cache(NAME)
    if not (home / MARK).is_file():
        archive = need_file(
            HOME,
            ARCHIVE,
            folder,
            why=msg("the recordings are in no package, and nothing is fetched unasked"),
            hint=msg(f"pack the folder recordings of {ORIGIN} as {ARCHIVE}, in a folder {HOME} of OPENWORK_DATA"),
        )
        home.mkdir(parents=True, exist_ok=True)
        names = (f"{d}_{one}_{take}.wav" for d in range(10) for one in SPEAKERS for take in range(TAKES))
        extract(archive, {f"recordings/{name}": home / name for name in names})
        atomic_write_text(home / MARK, f"{TERMS}\n")
    return home


def _corpus(speaker: str) -> NamedCorpus:
    others, each = len(SPEAKERS) - 1, len(WORDS) * TAKES
    valid = others * len(WORDS) * HELD_OUT
    return NamedCorpus(
        TERMS,
        ORIGIN,
        partial(read, speaker=speaker),
        pairs=(others * each - valid, valid, each),
        found=found,
        fetch=lambda folder, progress: fetch(folder),
    )


def fetch(folder: Path | None) -> None:
    """Unpacks the recordings."""
    _home(folder)


CORPORA = {
    NAME: _corpus(SPEAKERS[0]),
    **{f"{NAME}-{speaker}": _corpus(speaker) for speaker in SPEAKERS[1:]},
}
