"""What the name of a corpus stands for: the record that each corpus fills in, and what several of them share."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

from openwork.data.corpora.download import Told
from openwork.data.corpora.splits import SPLITS
from openwork.data.records import Pair

ROLES = SPLITS
"""What a split is for. Every corpus has all three; corpora whose origin has names of its own take those too."""

Reader = Callable[[str, Path | None, int | None, int], Iterator[Pair]]
"""(split, folder, count, seed) -> pairs; None: no folder given, or the corpus's own size."""

Fetcher = Callable[[Path | None, Told], None]
"""(folder, told) -> None: brings what is not on this machine, and says how far it is."""


def _nothing_to_fetch(folder: Path | None, told: Told) -> None:
    """For corpora that are generated, or that cannot be fetched."""


def _nowhere(folder: Path | None) -> str:
    return ""


@dataclass(frozen=True)
class NamedCorpus:
    """What a name stands for.

    `terms`: on what terms it may be used, for the card. `origin`: where it can be had in public. `languages`: source
    and target, empty for made-up ones. `pairs`: how many each split has, None where that is not known beforehand.
    `names`: the origin's own name of each split. `found`: where it lies on this machine, empty if it does not.
    `fetch`: what `openwork data prepare` does first.
    """

    read: Reader
    terms: str
    origin: str
    languages: tuple[str, str] | tuple[()] = ()
    pairs: tuple[int | None, int | None, int | None] = (None, None, None)
    names: tuple[str, str, str] = ROLES
    found: Callable[[Path | None], str] = _nowhere
    fetch: Fetcher = _nothing_to_fetch


def both_ways(
    family: str, languages: tuple[str, ...], make: Callable[[str, str], NamedCorpus]
) -> dict[str, NamedCorpus]:
    """`make(source, target)` for every direction between the languages, by name: family-source-target."""
    return {f"{family}-{source}-{target}": make(source, target) for source, target in permutations(languages, 2)}
