"""A language model trained on a text: what has no source is neither left out nor translated, and the bundle goes on."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from journeys.command import Finished
from openwork.base.config import Layer, to_toml
from openwork.base.errors import ConfigError, OpenworkError
from openwork.bundles.bundle import load_bundle
from openwork.data.filters import FilterSettings, apply
from openwork.data.pairs import find_splits
from openwork.data.records import UNSAID, Pair, are_texts, split_text, split_texts
from openwork.data.settings import DataSettings, OriginSettings
from openwork.data.sources import hold_out, source_of
from openwork.inference.translator import BatchTranslator
from openwork.runs.file.resolve import resolve_run
from openwork.runs.folder import RunFolder
from openwork.runs.train import train_bundle

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]
WORDS = ("one", "two", "three", "four", "five", "six", "seven")
LINES = [" ".join(WORDS[(start + step) % 7] for step in range(length)) for start in range(7) for length in range(3, 12)]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "counting.txt"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return path


def layer(path: Path, **sections: dict[str, object]) -> Layer:
    """A run file of a small language model on this text."""
    mapping: dict[str, dict[str, object]] = {
        "data": {"text": str(path), "held_out": 6},
        "text": {"vocabulary_size": 300},
        "batches": {"tokens": 256},
        "model": {
            "kind": "decoder", "width": 24, "heads": 2, "feedforward_width": 32, "layers": 1, "norm": "pre",
            "positions": "rotary", "dropout": 0.0,
        },
        "training": {
            "schedule": "constant", "learning_rate": 0.01, "warmup": 1, "steps": 60, "validate_every": 30,
            "average": 1, "precision": "float32", "label_smoothing": 0.0,
        },
    }  # fmt: skip
    return Layer({name: {**mapping.get(name, {}), **sections.get(name, {})} for name in {**mapping, **sections}})


@pytest.fixture(scope="module")
def run(text: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    out = tmp_path_factory.mktemp("run")
    said: list[str] = []
    train_bundle(resolve_run(layer(text)), out, said.append)
    return out, said


def test_each_line_is_a_target_without_a_source(text: Path) -> None:
    found = source_of(OriginSettings(text=str(text)), "train", UNSAID)
    assert list(found.read()) == [Pair("", line) for line in LINES]
    assert found.alone and list(found.files) == [str(text)] and found.description == str(text)
    few = source_of(OriginSettings(text=str(text), count=2), "train", UNSAID)
    assert list(few.side("target")) == LINES[:2] and few.identity != found.identity


def test_one_side_of_a_corpus_is_a_text() -> None:
    data = DataSettings(corpus="reverse", count=30, side="target")
    splits = find_splits(data, FilterSettings())
    both = find_splits(DataSettings(corpus="reverse", count=30), FilterSettings())
    assert list(splits.train.read()) == [Pair("", pair.target) for pair in both.train.read()]
    assert list(splits.valid.read()) == [Pair("", pair.target) for pair in both.valid.read()]
    assert data.is_text and splits.train.identity != both.train.identity
    assert resolve_run(Layer({"data": {"corpus": "reverse", "side": "source"}})).training.metric == "loss"


def test_filters_leave_out_blank_and_long_lines_and_ask_nothing_of_the_source() -> None:
    pairs = [Pair("", text) for text in ("good", " ", "a" * 300, "a" * 41)]
    kept, report = apply(pairs, FilterSettings(maximum_characters=250), alone=True)
    assert [pair.target for pair in kept] == ["good", "a" * 41]  # beside an empty source it would be too long
    assert report.lines()[1:] == ["dropped 1: blank (line 2)", "dropped 1: longer than 250 characters (line 3)"]
    kept, _ = apply(pairs, FilterSettings(drop_blank=False), alone=True)
    assert len(list(kept)) == 4


def test_lines_are_held_out_by_what_they_say(text: Path) -> None:
    found = source_of(OriginSettings(text=str(text)), "train", UNSAID)
    train, valid = (list(part.read()) for part in hold_out(found, 0.3))
    assert train and valid and sorted([*train, *valid]) == sorted(found.read())
    assert not {pair.target for pair in train} & {pair.target for pair in valid}


def test_a_text_to_validate_with(text: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("eight nine\n\n", encoding="utf-8")
    splits = find_splits(DataSettings(text=str(text), valid_text=str(other)), FilterSettings())
    assert list(splits.valid.read()) == [Pair("", "eight nine"), Pair("", "")]  # there, every line counts
    assert splits.report.kept == len(LINES) and str(other) in splits.valid.files


def test_what_a_text_cannot_be_trained_with(text: Path) -> None:
    with pytest.raises(ConfigError, match="a text has no translations, which the metric bleu needs"):
        resolve_run(layer(text, training={"metric": "bleu"}))
    with pytest.raises(ConfigError, match="needs one for both"):
        resolve_run(layer(text, model={"tying": "embeddings"}, text={"shared": False}))
    with pytest.raises(ConfigError, match="need one origin"):
        resolve_run(layer(text, data={"corpus": "copy"}))
    assert resolve_run(layer(text)).training.metric == "loss"
    parts = [{"text": str(text)}, {"text": str(text), "count": 3}]
    assert resolve_run(Layer({"data": {"mix": parts}})).training.metric == "loss"
    assert resolve_run(Layer({"data": {"mix": [*parts, {"corpus": "copy"}]}})).training.metric == "bleu"


def test_texts_are_parted_between_words() -> None:
    assert split_text("one two three four") == Pair("one two", " three four")
    assert split_text("on") == Pair("o", "n") and split_text("我爱北京") == Pair("我爱", "北京")
    assert split_texts([Pair("", "a"), Pair("", ""), Pair("", "b c")], 2) == [Pair("b", " c")]
    assert are_texts([Pair("", "a")]) and are_texts([]) and not are_texts([Pair("", "a"), Pair("b", "c")])


def test_training_learns_and_shows_how_it_goes_on(run: tuple[Path, list[str]]) -> None:
    out, _ = run
    records = [json.loads(line) for line in RunFolder(out).records.read_text(encoding="utf-8").splitlines()]
    validations = [one for one in records if one["kind"] == "validation"]
    assert len(validations) == 2 and validations[-1]["loss"] < validations[0]["loss"] < 2.0
    assert all(one.get("bleu") is None for one in validations)
    source, reference, _ = validations[-1]["sample"]
    assert f"{source}{reference}" in LINES
    bundle = load_bundle(out)
    assert bundle.golden and all(any(line.startswith(one.source) for line in LINES) for one in bundle.golden)
    assert "counting.txt" in bundle.card
    assert not any("BLEU" in line for line in bundle.card.splitlines())


def test_it_goes_on_and_begins_where_there_is_nothing(run: tuple[Path, list[str]]) -> None:
    translator = BatchTranslator.of(load_bundle(run[0]))
    (going_on,), (beginning,) = translator.translate(["one two three", ""])
    assert going_on.text.startswith(" four") and beginning.text.split()[0] in WORDS


@pytest.mark.slow
def test_the_bundle_is_verified(run: tuple[Path, list[str]], call: Call) -> None:
    found = call("verify", run[0])
    assert found.code == 0, found.out.decode() + found.err


@pytest.mark.slow
def test_the_coach_looks_at_parted_texts(tmp_path: Path, call: Call) -> None:
    """Here no line is the beginning of another: what a language model was given does not say where a prompt ended."""
    steps = [(start, step) for start in range(7) for step in range(1, 7)]
    lines = [" ".join(WORDS[(start + step * place) % 7] for place in range(6)) for start, step in steps]
    text, file = tmp_path / "leaping.txt", tmp_path / "run.toml"
    text.write_text("\n".join(lines), encoding="utf-8")
    run = resolve_run(layer(text, training={"seed": 2}))  # 1 is slow to learn these
    file.write_text(to_toml(run), encoding="utf-8")
    found = call("coach", file)
    assert found.code == 0, found.out.decode() + found.err


def test_a_line_that_learned_positions_do_not_reach_is_told_before(text: Path, tmp_path: Path) -> None:
    settings = resolve_run(layer(text, model={"positions": "learned", "maximum_length": 8}))
    with pytest.raises(OpenworkError, match="where learned positions end"):
        train_bundle(settings, tmp_path / "run", lambda line: None)
