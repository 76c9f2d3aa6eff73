"""MovieLens 100K: the films that 943 people rated, in the order in which they did (Harper and Konstan 2015).

The package recbole ships it; its files are read where they are, and nothing is imported. A line is films separated by
spaces. Of each person the last film is tested, the one before it chooses the weights, and all before are learnt from
(leave one out, as in Kang and McAuley 2018, section IV): a pair to learn from is the first film of at most fifty that
follow each other, and the others; a pair to test with has at most fifty films as well, and the last one is the target.
"""

from collections import defaultdict
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from openwork.base.errors import DataError
from openwork.base.files import read_lines
from openwork.base.messages import msg
from openwork.data.corpora.corpus import NamedCorpus, check_split, find_file
from openwork.data.records import Pair

NAME, FILES, INSIDE = "movielens-100k", ("ml-100k.inter", "ml-100k.item"), "dataset_example/ml-100k"
FILMS = 50  # of a pair: the end of a sequence comes where it came in training
COLUMNS = 4  # of both files
SIZES = (2_402, 943, 943)
HELD_OUT = {"train": 2, "valid": 1, "test": 0}  # films of each person that come after those of the split
TERMS = msg("MovieLens 100K (Harper and Konstan 2015; for research, with citation), as the package recbole has it")


def read(split: str, folder: Path | None) -> Iterator[Pair]:
    """What each person rated, person by person."""
    check_split(split)
    for films in _people(*_files(folder)):
        known = films[: len(films) - HELD_OUT[split]]
        if split != "train":
            yield Pair(" ".join(known[-FILMS:-1]), known[-1])
            continue
        for end in range(len(known), 1, -FILMS):
            first, *others = known[max(end - FILMS, 0) : end]
            yield Pair(first, " ".join(others))


def found(folder: Path | None) -> str:
    path = _find(FILES[0], folder)
    return "" if path is None or _find(FILES[1], folder) is None else str(path.parent)


def _people(ratings: Path, items: Path) -> Iterator[list[str]]:
    """The films of each person who rated three or more, oldest rating first; those of one second as in the file."""
    names = {number: f"{title}_({year})".replace(" ", "_") for _, (number, title, year, _) in _rows(items)}
    rated: defaultdict[int, list[tuple[float, str]]] = defaultdict(list)
    for place, (person, item, _, seconds) in _rows(ratings):
        try:
            rated[int(person)].append((float(seconds), names[item]))
        except (KeyError, ValueError) as error:
            raise _damaged(place, msg("a person, a film of the list, a rating and a time are needed")) from error
    for _, films in sorted(rated.items()):
        in_order = list(dict.fromkeys(name for _, name in sorted(films, key=lambda one: one[0])))
        if len(in_order) > max(HELD_OUT.values()):
            yield in_order


def _rows(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The place and the four columns of each line but the first, which has their names."""
    for number, line in islice(enumerate(read_lines(path), start=1), 1, None):
        place, row = f"{path}:{number}", line.split("\t")
        if len(row) != COLUMNS:
            raise _damaged(place, msg(f"columns: {len(row)}; needed are {COLUMNS}"))
        yield place, row


def _damaged(place: str, why: str) -> DataError:
    return DataError(
        f"{place}: not a line of MovieLens 100K",
        why=why,
        hint="bring the file back as the package recbole has it",
        code="D154",
    )


def _files(folder: Path | None) -> tuple[Path, ...]:
    paths = [_find(name, folder) for name in FILES]
    if None in paths:
        raise DataError(
            f"the corpus {NAME} is in the package recbole, which is not installed",
            hint=f"put its files {' and '.join(FILES)} into a folder FOLDER/{NAME} and set OPENWORK_DATA=FOLDER",
            code="D153",
        )
    return tuple(path for path in paths if path is not None)


def _find(name: str, folder: Path | None) -> Path | None:
    """The file in a folder for corpora, or in the package."""
    if known := find_file(NAME, name, folder):
        return known
    spec = find_spec("recbole")
    places = [] if spec is None else [Path(one) for one in spec.submodule_search_locations or ()]
    return next((path for place in places if (path := place / INSIDE / name).is_file()), None)


CORPORA = {NAME: NamedCorpus(TERMS, "recbole (dataset_example/ml-100k)", read, pairs=SIZES, found=found)}
