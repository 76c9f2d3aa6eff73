"""What every corpus with a name shares: its record, the places of its files, and how it is divided into splits."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import permutations
from pathlib import Path

from openwork.base.cache import find_cache
from openwork.base.compression import ENDINGS
from openwork.base.errors import DataError
from openwork.data.corpora.download import Progress
from openwork.data.records import Pair

VARIABLE = "OPENWORK_DATA"
SPLITS = ("train", "valid", "test")
"""The roles of splits. Every corpus has all three; those whose origin has names of its own take these too."""


@dataclass(frozen=True)
class NamedCorpus:
    """A corpus with a name.

    `terms`: the terms of use, for the card. `origin`: where it is published. `read`: all pairs of a split (by the
    origin's own name), from files in the folder that is given or in the usual places. `languages`: source and target,
    empty for made-up ones. `pairs`: the size of each split, None where it is not known beforehand. `names`: the
    origin's own name of each split. `found`: where it is on this machine, empty if it is not. `fetch`: what `openwork
    data prepare` does first; its second argument receives the progress. `generate`: (split, count, seed) -> so many
    pairs, for a corpus without files; `pairs` are its usual sizes.
    """

    terms: str
    origin: str
    read: Callable[[str, Path | None], Iterator[Pair]] = lambda split, folder: iter(())
    languages: tuple[str, str] | tuple[()] = ()
    pairs: tuple[int | None, int | None, int | None] = (None, None, None)
    names: tuple[str, str, str] = SPLITS
    found: Callable[[Path | None], str] = lambda folder: "built in"
    fetch: Callable[[Path | None, Progress], None] = lambda folder, progress: None
    generate: Callable[[str, int, int], Iterator[Pair]] | None = None

    def changed(self, change: Callable[[Pair], Iterable[Pair]]) -> "NamedCorpus":
        """What `change` makes of each of the pairs."""
        return replace(self, read=lambda *given: (one for pair in self.read(*given) for one in change(pair)))

    def swapped(self) -> "NamedCorpus":
        """The same pairs in the other direction."""
        return replace(self.changed(lambda pair: [Pair(*pair[::-1])]), languages=self.languages[::-1])


def both_ways(
    family: str, languages: tuple[str, ...], make: Callable[[str, str], NamedCorpus]
) -> dict[str, NamedCorpus]:
    """`make(source, target)` for every direction between the languages, by name: family-source-target.

    Where the target comes first in `languages`, it is the other direction swapped.
    """
    return {
        f"{family}-{languages[one]}-{languages[other]}": make(languages[one], languages[other])
        if one < other
        else make(languages[other], languages[one]).swapped()
        for one, other in permutations(range(len(languages)), 2)
    }


def find_file(corpus: str, name: str, folder: Path | None = None) -> Path | None:
    """The file `name` of the folder of a corpus, compressed or not; None if there is none.

    `folder` comes before OPENWORK_DATA, and that before the cache. Each may be the corpus's own folder or its parent;
    OPENWORK_DATA only if it has the corpus's name, since it may hold files of other corpora under the same names.
    """
    for place in _places(corpus, folder):
        for ending in ("", *ENDINGS):
            try:
                if (candidate := place / f"{name}{ending}").is_file():
                    return candidate
            except OSError:  # a file in a folder that may not be searched cannot be reached
                continue
    return None


def need_file(home: str, name: str, folder: Path | None, *, why: str, hint: str) -> Path:
    """The file `name` of the corpus `home`; DataError with this cause and remedy if there is none."""
    path = find_file(home, name, folder)
    if path is None:
        raise DataError(f"{home}: {name} is not on this machine", why=why, hint=hint, code="D062")
    return path


def find_folder(corpus: str, names: list[str], folder: Path | None = None) -> str:
    """The folder of the first of these files if all of them are there; else nothing."""
    files = [find_file(corpus, name, folder) for name in names]
    return str(files[0].parent) if files[0] is not None and None not in files else ""


def _places(corpus: str, folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        yield from (folder / corpus, folder)
    if variable := os.environ.get(VARIABLE):
        root = Path(variable)
        yield root / corpus
        if root.name == corpus:
            yield root
    if cache := find_cache(corpus):
        yield cache


def check_split(split: str) -> None:
    """ValueError unless it is a role."""
    if split not in SPLITS:
        raise ValueError(f"split {split!r} is none of {SPLITS}")


def split_of(content: str, parts: int = 10) -> str:
    """train, valid or test in the proportion (parts - 2) : 1 : 1, from a hash of `content` alone."""
    part = int.from_bytes(blake2b(content.encode(), digest_size=8).digest(), "big") * parts >> 64
    return {parts - 2: "valid", parts - 1: "test"}.get(part, "train")


def divide(pairs: Sequence[Pair], split: str, parts: int = 10) -> Iterator[Pair]:
    """The pairs of one split of a corpus that has none, in their order.

    Two pairs that share a source or a target go to the same split, and so do those that share one with either of them:
    no sentence is in two splits. A group of pairs is placed by the first of its sources in the order of the alphabet.
    Deterministic, whatever the order of the pairs.
    """
    groups = _groups(pairs)
    first: dict[int, str] = {}
    for pair, group in zip(pairs, groups, strict=True):
        first[group] = min(first.get(group, pair.source), pair.source)
    chosen = {group for group, source in first.items() if split_of(source, parts) == split}
    return (pair for pair, group in zip(pairs, groups, strict=True) if group in chosen)


def _groups(pairs: Sequence[Pair]) -> list[int]:
    """A number for each pair, the same for connected pairs (union-find over the sentences)."""
    parents = list(range(len(pairs)))

    def root(index: int) -> int:
        while parents[index] != index:
            parents[index] = index = parents[parents[index]]  # path halving
        return index

    seen: dict[tuple[int, str], int] = {}
    for index, pair in enumerate(pairs):
        for side, sentence in enumerate(pair):
            other = seen.setdefault((side, sentence), index)
            parents[root(index)] = root(other)
    return [root(index) for index in range(len(pairs))]
