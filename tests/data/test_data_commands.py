"""openwork data: what it lists, writes and measures, and what it says of bad input."""

import gzip
import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from journeys.command import Finished, told
from openwork.data.corpora import catalogue as corpora
from openwork.data.corpora import prepare as data_prepare

Call = Callable[..., Finished]


@pytest.fixture(autouse=True)
def own_corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a corpus of two splits: three pairs to train, two to validate; no cache, no network needed."""
    home = tmp_path / "corpora" / "tatoeba-en-de"
    home.mkdir(parents=True)
    (home / "train.en").write_text("A dog.\nA cat.\nA very long line\nOne more.\n")
    (home / "train.de").write_text("Ein Hund.\nEine Katze.\n" + "lang " * 60 + "\n\n")
    (home / "valid.en.gz").write_bytes(gzip.compress(b"A dog.\n\n"))
    (home / "valid.de").write_text("Der Hund.\n\n")
    monkeypatch.setenv("OPENWORK_DATA", str(tmp_path / "corpora"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return home


def test_list_names_each_corpus_with_place_and_terms(call: Call, own_corpora: Path):
    result = call("data", "list")
    text = result.out.decode()
    assert result.code == 0
    for name, corpus in corpora.CORPORA.items():
        line = next(line for line in text.splitlines() if line.startswith(f"{name} "))
        assert corpus.origin in line or corpus.found(None) in line
        assert corpus.terms in text
    assert str(own_corpora) in text and "4,508,785" in text


def test_list_as_json(call: Call, tmp_path: Path, own_corpora: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENWORK_DATA")
    entries = {entry["name"]: entry for entry in json.loads(call("data", "list", "--json").out)}
    assert set(entries) == set(corpora.CORPORA)
    assert entries["tatoeba-en-de"]["found"] == "" and entries["copy"]["found"] == "built in"
    assert entries["wmt14-en-de"]["pairs"] == {"train": 4_508_785, "valid": 3_000, "test": 3_003}
    assert entries["tatoeba-zh-en"]["languages"] == ["zh", "en"]
    given = json.loads(call("data", "list", "--json", "--folder", tmp_path / "corpora").out)
    assert {entry["name"]: entry for entry in given}["tatoeba-en-de"]["found"] == str(own_corpora)


def test_prepare_writes_filtered_training_pairs_and_whole_validation_pairs(call: Call, tmp_path: Path):
    out = tmp_path / "out"
    result = call("data", "prepare", "tatoeba-de-en", "--out", out, "--json")
    assert result.code == 0
    assert (out / "train.de").read_text() == "Ein Hund.\nEine Katze.\n"
    assert (out / "train.en").read_text() == "A dog.\nA cat.\n"
    assert (out / "valid.de").read_text() == "Der Hund.\n\n" and (out / "valid.en").read_text() == "A dog.\n\n"
    assert "left out 1: source is blank" in result.err and "train: 2 pairs written to train.de" in result.err
    assert "test: not written: tatoeba-en-de: there is no test split here" in result.err
    values = json.loads(result.out)["splits"]
    assert values["train"]["left_out"] == {"source is blank": 1, "one side more than 9 times the other": 1}
    assert values["valid"] == {"files": ["valid.de", "valid.en"], "pairs": 2, "left_out": {}, "kept": False}
    assert set(values["test"]) == {"absent"}
    record = json.loads((out / "prepared.json").read_text())
    assert record["terms"] == corpora.find("tatoeba-de-en").terms


def test_prepare_again_keeps_what_is_whole_and_repairs_what_is_not(call: Call, tmp_path: Path):
    out = tmp_path / "out"
    command = ("data", "prepare", "tatoeba-en-de", "--out", out)
    assert call(*command).code == 0
    before = (out / "train.en").stat().st_mtime_ns
    (out / "valid.en").write_text("spoilt\n")
    result = call(*command)
    assert "train: 2 pairs are there already" in result.err and "valid: 2 pairs written" in result.err
    assert (out / "train.en").stat().st_mtime_ns == before and (out / "valid.en").read_text() == "A dog.\n\n"
    result = call(*command, "--set", "filters.maximum_ratio=30", "--set", "filters.drop_blank=false")
    assert result.code == 0 and "train: 4 pairs written" in result.err and "valid: 2 pairs are there" in result.err


def test_a_prepare_that_was_killed_goes_on(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Killed while it writes: no half file under a final name, and the next call takes the folder for its own."""
    out = tmp_path / "out"

    def killed(pairs: object, source: Path, target: Path) -> None:
        source.write_text("half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(data_prepare, "_write", killed)
        assert call("data", "prepare", "tatoeba-en-de", "--out", out).code == 128 + signal.SIGINT
    assert call("data", "prepare", "tatoeba-en-de", "--out", out).code == 0
    assert (out / "train.en").read_text() == "A dog.\nA cat.\n"


@pytest.mark.slow
def test_prepare_generated_pairs(call: Call, tmp_path: Path):
    assert call("data", "prepare", "copy", "--out", tmp_path / "out").code == 0
    lines = (tmp_path / "out" / "valid.source").read_text().splitlines()
    assert len(lines) == 500 and lines == (tmp_path / "out" / "valid.target").read_text().splitlines()


def test_prepare_overwrites_nothing_of_others(call: Call, tmp_path: Path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "valid.de").write_text("mine")
    told(call("data", "prepare", "tatoeba-en-de", "--out", out), 2, "--out is a folder with other things in it")
    assert [path.name for path in out.iterdir()] == ["valid.de"] and (out / "valid.de").read_text() == "mine"
    (out / "valid.de").unlink()
    assert call("data", "prepare", "tatoeba-en-de", "--out", out).code == 0  # without a test split
    (out / "test.de").write_text("mine")
    told(call("data", "prepare", "tatoeba-en-de", "--out", out), 1, "test.de: a file of that name is there", "empty")
    assert (out / "test.de").read_text() == "mine"
    told(call("data", "prepare", "copy", "--out", out), 1, "holds the corpus tatoeba-en-de", "new or empty folder")


@pytest.mark.parametrize(
    "record", ["{", "[]", '{"corpus": 3, "splits": {}}', '{"corpus": "copy", "splits": {"a": {}}}']
)
def test_prepare_refuses_another_record(call: Call, tmp_path: Path, record: str):
    (tmp_path / "prepared.json").write_text(record)
    told(call("data", "prepare", "copy", "--out", tmp_path), 1, "prepared.json: not the record of a prepared corpus")


def test_prepare_refuses_bad_words(call: Call, tmp_path: Path, own_corpora: Path):
    out = tmp_path / "out"
    told(call("data", "prepare", "tatoeba-en-dd", "--out", out), 3, "no such corpus", "tatoeba-en-d")
    told(call("data", "prepare", "copy", "--out", own_corpora / "train.en"), 1, "--out is a file")
    told(call("data", "prepare", "copy", "--out", out, "--set", "filters.ratio=2"), 3, "filters.ratio", "maximum_ratio")
    told(call("data", "prepare", "copy", "--out", out, "--set", "text.shared=true"), 3, "text")
    assert not out.exists()
    (own_corpora / "train.de").write_bytes(b"Stra\xdfe\n")
    told(call("data", "prepare", "tatoeba-en-de", "--out", out), 3, "train.de:1: invalid UTF-8")
    assert not (out / "train.de").exists()


def test_stats_of_a_corpus(call: Call):
    result = call("data", "stats", "tatoeba-en-de", "--json")
    values = json.loads(result.out)
    train, valid = values["splits"]["train"], values["splits"]["valid"]
    assert (train["pairs"], valid["pairs"]) == (4, 2)
    assert train["source"]["words"] == 2 + 2 + 4 + 2 and train["target"]["empty"] == 1
    assert train["target"]["words_a_line"] == {"p5": 0, "p50": 2, "p95": 60, "p99": 60, "p100": 60}
    assert train["left_out_by_filters"] == {"one side more than 9 times the other": 1, "target is blank": 1}
    assert valid["source"]["scripts"] == {"Latin": 1.0}
    assert list(values["absent"]) == ["test"]
    text = call("data", "stats", "tatoeba-en-de").out.decode()
    assert "train: 4 pairs" in text
    assert "the filters would leave out: dropped 1: target is blank (line 4)" in text and "test: not measured" in text


def test_stats_of_files_and_of_a_run_file(call: Call, own_corpora: Path, tmp_path: Path):
    files = {key: own_corpora / name for key, name in (("source", "train.en"), ("target", "train.de"))}
    held_out = {"valid_source": own_corpora / "valid.en.gz", "valid_target": own_corpora / "valid.de"}
    expected = json.loads(call("data", "stats", "tatoeba-en-de", "--json").out)
    options = [word for key, path in (files | held_out).items() for word in (f"--{key.replace('_', '-')}", path)]
    found = json.loads(call("data", "stats", *options, "--json").out)
    assert found["splits"] == expected["splits"]
    run_file = tmp_path / "run.toml"
    lines = [f'{key} = "{path}"' for key, path in (files | held_out).items()]
    run_file.write_text("[data]\n" + "\n".join(lines) + "\n[model]\nwidth = 8\n[filters]\ndrop_blank = false\n")
    found = json.loads(call("data", "stats", run_file, "--json").out)
    assert found["splits"]["train"]["left_out_by_filters"] == {"one side more than 9 times the other": 1}
    run_file.write_text('[data]\ncorpus = "tatoeba-en-de"\n')
    assert json.loads(call("data", "stats", run_file, "--json").out) == expected
    table = tmp_path / "pairs.tsv"
    table.write_text("A dog.\tEin Hund.\nA dog.\tEin Hund.\n")
    found = json.loads(call("data", "stats", table, "--json").out)
    assert found["splits"]["train"]["pairs"] == 2 and found["splits"]["train"]["identical_sides"] == 0


def test_a_folder_comes_before_the_variable(call: Call, own_corpora: Path, tmp_path: Path):
    other = tmp_path / "other" / "tatoeba-en-de"
    other.mkdir(parents=True)
    for name in ("train.en", "train.de", "valid.en", "valid.de"):
        (other / name).write_text("one\n")
    found = json.loads(call("data", "stats", "tatoeba-en-de", "--folder", tmp_path / "other", "--json").out)
    assert found["splits"]["train"]["pairs"] == 1
    assert call("data", "prepare", "tatoeba-en-de", "--out", tmp_path / "out", "--folder", tmp_path / "other").code == 0
    assert (tmp_path / "out" / "train.de").read_text() == "one\n"


@pytest.mark.slow
def test_stats_refuses_bad_words(call: Call, own_corpora: Path, tmp_path: Path):
    told(call("data", "stats"), 2, "name what to measure", "--source and --target")
    told(call("data", "stats", "tatoeba-en-ed"), 3, "no such corpus", "did you mean tatoeba-en-de?")
    both = ("--source", own_corpora / "train.en", "--target", own_corpora / "train.de")
    told(call("data", "stats", "copy", *both), 3, "name exactly one of: corpus, source and target")
    told(call("data", "stats", "--source", own_corpora / "train.en"), 3, "source and target go together")
    told(call("data", "stats", tmp_path / "none.toml"), 3, "none.toml")
    told(call("data", "stats", tmp_path), 3, "this is a folder", "hint:")
    (tmp_path / "pairs.doc").touch()
    told(call("data", "stats", tmp_path / "pairs.doc"), 3, "is not clear from its name", "hint:")
    missing = ("--source", own_corpora / "train.enn", "--target", own_corpora / "train.de")
    told(call("data", "stats", *missing), 3, "no such file", "train.en?")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a\nb\xff\n", "train.en:2: invalid UTF-8"),
        (b"a\0b\n", "train.en:1: the line holds a NUL"),
        (gzip.compress(b"A dog.\n" * 99, mtime=0)[:-12], "archive is damaged or cut short"),
        (b"", "train.en has 0 lines"),
        (b"x" * 1_000_001 + b"\n", "train.en:1: the line is longer than"),
    ],
    ids=["utf-8", "nul", "gzip", "empty", "huge"],
)
def test_stats_names_the_bad_line(call: Call, own_corpora: Path, content: bytes, words: str):
    (own_corpora / "train.en").write_bytes(content)
    told(call("data", "stats", "tatoeba-en-de"), 3, words, "hint:")


def test_an_unreachable_download_is_one_sentence(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def no_network(request: object, timeout: float) -> None:
        raise OSError("Network is unreachable")

    monkeypatch.setattr("urllib.request.urlopen", no_network)
    result = call("data", "prepare", "wmt14-en-de", "--out", tmp_path / "out")
    told(result, 3, "training-parallel-europarl-v7.tgz: cannot be fetched", "Network is unreachable", "FOLDER/wmt14")
    assert not (tmp_path / "out").exists()
