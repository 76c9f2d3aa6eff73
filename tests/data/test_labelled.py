"""Labelled corpora from a folder; columns by name; docstrings as pairs to sum up."""

from collections.abc import Callable
from pathlib import Path

import pytest

from openwork.base.errors import DataError
from openwork.data.corpora import docstrings
from openwork.data.corpora.catalogue import CORPORA, find, load
from openwork.data.corpora.docstrings import file_pairs, summary_and_rest
from openwork.data.readers.lines import read_columns
from openwork.data.records import Pair

MORE = "docstrings-more"


@pytest.fixture(autouse=True)
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "openwork_data" not in request.fixturenames:
        monkeypatch.delenv("OPENWORK_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_sentiments_have_names(tmp_path: Path) -> None:
    put(tmp_path / "sst2" / "dev.tsv", "so good\t1\nso bad\t0\n")
    assert list(load("sst2", "valid", tmp_path)) == [("so good", "positive"), ("so bad", "negative")]
    assert list(load("sst2", "dev", tmp_path, count=1)) == [("so good", "positive")]
    put(tmp_path / "sst2" / "train.tsv", "so good\t1\nso so\t2\n")
    with pytest.raises(DataError, match=r"train\.tsv:2: the label '2' is neither 0 nor 1"):
        list(load("sst2", "train", tmp_path))


def test_utterances_have_intents_and_slots(tmp_path: Path) -> None:
    for name, text in (("seq.in", "fly  to rome \n"), ("seq.out", "O O B-city \n"), ("label", "flight\n")):
        put(tmp_path / "atis" / "dev" / name, text)
    assert list(load("atis-slots", "dev", tmp_path)) == [("fly to rome", "O O B-city")]
    assert list(load("atis-intent", "dev", tmp_path)) == [("fly to rome", "flight")]


def test_intents_and_slots_are_of_the_same_utterances() -> None:
    for name in ("atis", "snips"):
        assert CORPORA[f"{name}-slots"].pairs == CORPORA[f"{name}-intent"].pairs


@pytest.mark.parametrize("name", ["sst2", "atis-intent", "atis-slots", "snips-intent", "snips-slots"])
def test_what_is_not_there_is_told_with_its_origin(name: str) -> None:
    assert find(name).names == ("train", "dev", "test")
    with pytest.raises(DataError, match=r"is not on this machine") as caught:
        next(load(name, "test"))
    assert "https://github.com" in caught.value.why and "OPENWORK_DATA=FOLDER" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "sizes", "labels"),
    [("sst2", (6_920, 872), 2), ("atis-intent", (4_478, 500), 21), ("atis-slots", (4_478, 500), 120)],
)
def test_the_real_ones(name: str, sizes: tuple[int, int], labels: int, openwork_data: Callable[[str], Path]) -> None:
    openwork_data(name.partition("-")[0])
    train, valid = (list(load(name, split)) for split in ("train", "valid"))
    assert (len(train), len(valid)) == sizes
    assert len({label for pair in train for label in pair.target.split()}) == labels
    if name == "atis-slots":
        assert all(len(pair.source.split()) == len(pair.target.split()) for pair in train + valid)


GLUE = 'index\tsentence1\tsentence2\tlabel\n0\tA b.\tC "d.\t1\n1\te\tf\t0\n'


def test_columns_by_name(tmp_path: Path) -> None:
    path = put(tmp_path / "dev.tsv", GLUE)
    assert list(read_columns(path, ["sentence1", "sentence2", "label"])) == [('A b.\tC "d.', "1"), ("e\tf", "0")]
    assert list(read_columns(path, ["sentence2", "label"]))[1] == Pair("f", "0")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GLUE.replace("label", "score"), "dev.tsv:1: no column, or more than one, has the name 'label'"),
        (GLUE.replace("index", "label"), "dev.tsv:1: no column, or more than one, has the name 'label'"),
        (GLUE + "2\tonly two\n", "dev.tsv:4: 2 columns, the first line names 4"),
        ("", "no column"),
    ],
)
def test_columns_that_are_not_as_the_first_line_says(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(read_columns(put(tmp_path / "dev.tsv", text), ["sentence1", "label"]))


BODY = "It is long enough to be summed up by one sentence."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Return the sum. {BODY}", ("Return the sum.", BODY)),
        (f"Return the\n  sum\n\n{BODY}", ("Return the sum", BODY)),
        (f"Use os.path for it.\n{BODY}", ("Use os.path for it.", BODY)),
        (f"Return the sum. {'word ' * 201}", ("Return the sum.", " ".join(["word"] * 200))),
        (f"Too short. {BODY}", None),
        ("Return the sum. Of both.", None),
        ("Return the sum of both", None),
        (f"{'word ' * 40}. {BODY}", None),
    ],
)
def test_the_first_sentence_and_the_rest(text: str, expected: tuple[str, str] | None) -> None:
    assert summary_and_rest(text) == expected


def test_docstrings_of_a_file_without_running_it(tmp_path: Path) -> None:
    path = put(
        tmp_path / "module.py",
        f'raise SystemExit\nclass A:\n    """Hold one thing only.\n\n    {BODY}\n    """\n'
        f'    def f(self, a, *, b):\n        """Return the other thing. {BODY}"""\n    def g(self): "No."\n',
    )
    assert list(file_pairs(path)) == [
        (f"class A : {BODY}", "Hold one thing only."),
        (f"f (a, b) : {BODY}", "Return the other thing."),
    ]
    assert list(file_pairs(put(tmp_path / "broken.py", "def f(:"))) == []


def test_the_library_is_divided_by_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    functions = [f'def f{n}(x):\n    """Return number {n} of x. {BODY} {n}"""\n' for n in range(60)]
    put(tmp_path / "pkg" / "a.py", "".join(functions[:30]))
    put(tmp_path / "b.py", "".join(functions[30:] + functions[:1]))
    put(tmp_path / "test" / "c.py", f'def c():\n    """Test all of it. {BODY}"""\n')
    monkeypatch.setattr(docstrings.sysconfig, "get_path", lambda name: str(tmp_path))
    docstrings.library_pairs.cache_clear()
    try:
        parts = {split: list(load("docstrings", split)) for split in ("train", "valid", "test")}
    finally:
        docstrings.library_pairs.cache_clear()
    whole = [pair for part in parts.values() for pair in part]
    assert len(whole) == len(set(whole)) == 60 and all(parts.values())
    assert len(parts["train"]) > 40


def test_more_to_learn_from_without_what_is_held_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    functions = [f'def f{n}():\n    """Say number {n} here. {BODY} {n}"""\n' for n in range(60)]
    library = put(tmp_path / "library" / "a.py", "".join(functions)).parent
    own = f'def g():\n    """Say something else here. {BODY}"""\n'
    package = put(tmp_path / "packages" / "strange" / "__init__.py", "".join([*functions, own])).parent
    monkeypatch.setattr(docstrings.sysconfig, "get_path", lambda name: str(library))
    monkeypatch.setattr(docstrings, "PACKAGES", ("strange", "not_installed_anywhere"))
    monkeypatch.syspath_prepend(package.parent)
    for known in (docstrings.library_pairs, docstrings.packages_pairs):
        known.cache_clear()
    try:
        plain, more = ({s: list(load(name, s)) for s in find("docstrings").names} for name in ("docstrings", MORE))
    finally:
        for known in (docstrings.library_pairs, docstrings.packages_pairs):
            known.cache_clear()
    assert (more["valid"], more["test"]) == (plain["valid"], plain["test"]) and more["valid"]
    assert more["train"] == [*plain["train"], *plain["train"], ("g () : " + BODY, "Say something else here.")]


@pytest.mark.slow
def test_this_machines_library_has_pairs_enough() -> None:
    sizes = [len(list(load("docstrings", split))) for split in ("train", "valid", "test")]
    assert sizes[0] >= 2_000 and min(sizes) >= 150
