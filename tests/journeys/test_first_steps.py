"""The way of a newcomer through the commands, with a model of a second."""

import gzip
import json
from pathlib import Path

import pytest

from faults.nursery import Nursery
from journeys.command import TINY, run_file
from openwork.data.corpora.synthetic import copy

pytestmark = pytest.mark.slow  # each test starts processes


@pytest.fixture(scope="module")
def trained(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the tiny settings, through the command line."""
    folder = tmp_path_factory.mktemp("trained")
    result = nursery.run("train", run_file(folder), "--out", folder / "a run")
    assert result.code == 0, result.err
    assert result.out == b""  # what is said goes to standard error
    assert "done: the translator is" in result.err
    # What is suggested to type next works as it stands.
    assert f"openwork translate '{folder}/a run'" in result.err
    return folder / "a run"


def test_bundle_needs_nothing_else(trained: Path):
    names = {path.name for path in (trained / "bundle").iterdir()}
    assert names == {"bundle.json", "card.md", "config.toml", "golden.json", "tokenizer.json", "weights.safetensors"}


def test_translate(nursery: Nursery, trained: Path):
    result = nursery.run("translate", "--bundle", trained, stdin=b"a b c\n\nx y")
    assert (result.code, len(result.lines), result.lines[1], result.err) == (0, 3, "", "")


def test_evaluate(nursery: Nursery, trained: Path, tmp_path: Path):
    result = nursery.run("evaluate", "--bundle", trained, "--corpus", "copy", "--split", "test", "--json")
    assert result.code == 0, result.err
    scores = {score["name"]: score for score in json.loads(result.out)["scores"]}
    assert scores.keys() == {"BLEU", "chrF2", "lc-BLEU"}
    assert all(score["signature"] and score["low"] <= score["high"] for score in scores.values())
    (tmp_path / "a").write_text("a b\nc d\n")
    plain = nursery.run("evaluate", "--bundle", trained, "--source", tmp_path / "a", "--reference", tmp_path / "a")
    assert plain.code == 0 and plain.out.decode().startswith("BLEU ") and "of 2 sentences" in plain.out.decode()


def test_info(nursery: Nursery, trained: Path):
    facts = json.loads(nursery.run("info", trained, "--json").out)
    assert facts["golden"]["reproduced"] == facts["golden"]["examples"] == 5
    said = nursery.run("info", trained).out.decode()
    assert "5 of 5 are unchanged" in said and "kept 120 of 120 pairs" in said


def test_tokenize(nursery: Nursery, trained: Path):
    ids = nursery.run("tokenize", "--bundle", trained, "--ids", stdin=b"a b c\n")
    assert ids.code == 0, ids.err
    assert nursery.run("tokenize", "--bundle", trained, "--decode", stdin=ids.out).out == b"a b c\n"
    assert nursery.run("tokenize", "--bundle", trained, stdin=b"a b c\n").out == "a ▁b ▁c\n".encode()
    record = json.loads(nursery.run("tokenize", "--bundle", trained, "--json", stdin=b"a b\n").out)
    assert [record["text"][begin:end] for begin, end in record["offsets"]] == record["pieces"] == ["a", " b"]


def test_two_files_and_no_settings(nursery: Nursery, tmp_path: Path):
    """Settings are chosen and told; only the length is cut here, so that the test is short. One file is compressed."""
    pairs = list(copy("train", 90, seed=1))
    source, target = tmp_path / "train.en", tmp_path / "train.de.gz"
    source.write_text("".join(f"{pair.source}\n" for pair in pairs))
    target.write_bytes(gzip.compress("".join(f"{pair.target}\n" for pair in pairs).encode()))
    short = ("--set", "training.steps=3", "--set", "training.cooldown=0", "--set", "training.validation_sentences=5")
    result = nursery.run("train", "--source", source, "--target", target, "--out", tmp_path / "out", *short)
    assert result.code == 0, result.err
    assert (tmp_path / "out/bundle/bundle.json").is_file()
    assert "no run file, so these settings were chosen:" in result.err
    assert "90 pairs: preset nano" in result.err
    assert "held out" in result.err


def test_tab_separated_pairs_compressed(nursery: Nursery, tmp_path: Path):
    """The same pairs in the form of one file with two columns, training and validation both."""
    for name, split in (("train", "train"), ("valid", "valid")):
        text = "".join(f"{pair.source}\t{pair.target}\n" for pair in copy(split, 60))
        (tmp_path / f"{name}.tsv.gz").write_bytes(gzip.compress(text.encode()))
    data = f'tsv = "{tmp_path}/train.tsv.gz"\nvalid_tsv = "{tmp_path}/valid.tsv.gz"'
    settings = run_file(tmp_path, TINY.replace('corpus = "copy"\ncount = 120', data))
    result = nursery.run("train", settings, "--out", tmp_path / "out")
    assert result.code == 0, result.err
    assert "kept 60 of 60 pairs" in result.err and "validation pairs: 60" in result.err


def test_recurrent_model_by_the_same_commands(nursery: Nursery, tmp_path: Path):
    """Another family of models: nothing but its name differs."""
    settings = run_file(tmp_path)
    text = settings.read_text()
    begin, end = text.index("[model]"), text.index("[training]")
    settings.write_text(f'{text[:begin]}[model]\npreset = "recurrent-small"\nwidth = 24\n\n{text[end:]}')
    result = nursery.run("train", settings, "--out", tmp_path / "out")
    assert result.code == 0, result.err
    assert "model: recurrent" in result.err
    assert len(nursery.run("translate", "--bundle", tmp_path / "out", stdin=b"a b\n\nc\n").lines) == 3
    assert json.loads(nursery.run("info", tmp_path / "out", "--json").out)["settings"]["model"]["kind"] == "recurrent"
