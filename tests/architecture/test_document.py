"""docs/architecture.md is short and draws the order that the tests enforce; docs/files.md lists every file."""

import re

from architecture.file_list import PAGE, first_sentence, page
from architecture.house import DOCUMENT, FLOORS, PACKAGE, REPOSITORY, house

MOST_BYTES = 10_000


def test_the_document_is_short():
    assert DOCUMENT.stat().st_size <= MOST_BYTES


def test_the_order_of_the_floors_is_the_plan_of_the_tests():
    text = DOCUMENT.read_text(encoding="utf-8")
    drawn = [tuple(line.split()[1:]) for line in text.splitlines() if re.match(r"^ *\d+  \w", line)]
    assert [set(floors) for floors in reversed(drawn)] == [set(floors) for floors in FLOORS]


def test_the_files_that_the_document_names_exist():
    named = re.findall(r"`([\w/]+(?:\.py|\.toml|/))`", DOCUMENT.read_text(encoding="utf-8"))
    assert named
    missing = [name for name in named if not (PACKAGE / name).exists() and not (REPOSITORY / name).exists()]
    assert [name for name in missing if "NAME" not in name and "LANGUAGE" not in name] == []


def test_the_list_of_files_is_made_from_the_code():
    assert PAGE.read_text(encoding="utf-8") == page(), "make file-list"


def test_every_file_says_what_it_is():
    assert [source.place for source in house().sources if not first_sentence(PACKAGE / source.place)] == []


def test_the_files_that_docstrings_name_exist():
    named = re.compile(r"`((?:\w+/)*\w+\.py)(?:::\w+)?`")
    folders = [REPOSITORY / name for name in ("src", "tests", "benchmarks")]
    places = ["/" + path.relative_to(REPOSITORY).as_posix() for folder in folders for path in folder.rglob("*.py")]
    missing = [
        f"{source.place}: {name}"
        for source in house().sources
        for name in named.findall(source.path.read_text(encoding="utf-8"))
        if not any(place.endswith(f"/{name}") for place in places)
    ]
    assert missing == []
