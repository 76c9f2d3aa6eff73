"""What the commands refuse of what they are given, beyond damage: too little, too much, or for something else."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from journeys.command import TINY, Finished, run_file, told
from openwork.base.config import read_run
from openwork.base.errors import ConfigError, DataError, OpenworkError, UsageError
from openwork.bundles.bundle import Bundle
from openwork.data.filters import FilterSettings
from openwork.data.pairs import find_splits
from openwork.data.settings import DataSettings, MixSettings
from openwork.evaluation.evaluate import evaluate
from openwork.inference import shortlists
from openwork.inference.explain import explain
from openwork.inspection.trace import Selection
from openwork.interop.forms import FORMS
from openwork.models.build import build_model
from openwork.runs import check_resume
from openwork.runs.file.resolve import resolve_run
from openwork.runs.file.settings import RunSettings

Call = Callable[..., Finished]


def run_settings(folder: Path, text: str = TINY, **changes: object) -> RunSettings:
    return resolve_run(read_run(run_file(folder, text, **changes), [], {}))


# ------------------------------------------------------------------------------------------------ bundles


def test_eight_bits_where_the_processor_has_none(call: Call, bundle_folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("openwork.inference.engine.types_of", lambda model: ["float32"])
    result = call("translate", "--bundle", bundle_folder, "--precision", "int8", stdin=b"a\n")
    told(result, 2, "there are no products of eight bits here", "--precision auto")


@pytest.mark.slow
def test_a_shortlist_for_two_models(call: Call, bundle_folder: Path, tmp_path: Path):
    twice = ("--bundle", bundle_folder, "--bundle", bundle_folder)
    result = call("translate", *twice, "--shortlist", tmp_path / "list", stdin=b"a\n")
    told(result, 2, "a shortlist does not go with these models", "leave --shortlist out")


def test_a_beam_that_is_too_narrow(call: Call, bundle_folder: Path):
    result = call("translate", "--bundle", bundle_folder, "--best", "3", "--beam", "2", stdin=b"a\n")
    told(result, 2, "--best 3 needs a beam of at least 3", "--beam 3")


def test_tokenizers_for_a_folder_that_has_its_own(tmp_path: Path, tiny_bundle: Bundle):
    with pytest.raises(UsageError, match="--source-tokenizer is for ct2") as refused:
        FORMS["hf"].read(tmp_path, tiny_bundle.tokenizers)
    assert refused.value.hint == "leave it out"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "words"),
    [(" ", "there is no sentence to explain"), ("a " * 2000, "the sentence is too long for the model")],
    ids=["blank", "long"],
)
def test_sentences_that_cannot_be_explained(call: Call, bundle_folder: Path, text: str, words: str):
    told(call("explain", text, "--bundle", bundle_folder), 2, words, "hint")


def test_a_sentence_without_a_translation(tiny_bundle: Bundle):
    impossible = tiny_bundle.settings.decoding.model_copy(update={"maximum_length": 1, "required": ("a b c d e f g",)})
    settings = tiny_bundle.settings.model_copy(update={"decoding": impossible})
    with pytest.raises(UsageError, match="there is no translation to explain"):
        explain(Bundle(settings, tiny_bundle.tokenizers, tiny_bundle.model), "a b", Selection())


def test_an_example_has_a_model_of_its_own(call: Call, bundle_folder: Path):
    told(call("explain", "--example", "001-sizes", "--bundle", bundle_folder), 2, "give one of these")


# ------------------------------------------------------------------------------------------------ data


def pair_file(path: Path, *sources: str) -> str:
    path.write_text("".join(f"{source}\tziel\n" for source in sources), encoding="utf-8")
    return str(path)


def test_nothing_to_validate_with(tmp_path: Path):
    empty = pair_file(tmp_path / "empty.tsv")
    with pytest.raises(DataError, match="nothing to validate with") as refused:
        find_splits(DataSettings(corpus="copy", count=20, valid_tsv=empty), FilterSettings())
    assert "held out" in refused.value.hint


def test_too_few_pairs_to_hold_some_out(tmp_path: Path):
    one = pair_file(tmp_path / "one.tsv", "eins")
    with pytest.raises(DataError, match="too few pairs to hold some out"):
        find_splits(DataSettings(tsv=one), FilterSettings())


def test_a_part_of_a_mix_that_is_held_out_whole(tmp_path: Path):
    """Sentences are held out by their hash: this one always is."""
    digests = {
        text: hashlib.blake2b(text.encode(), digest_size=8).digest() for text in map("satz {}".format, range(99))
    }
    held = min(digests, key=lambda text: int.from_bytes(digests[text]))
    one, many = pair_file(tmp_path / "a.tsv", held), pair_file(tmp_path / "b.tsv", *digests)
    mix = (MixSettings(file=one, weight=1.0), MixSettings(file=many, weight=1.0))
    with pytest.raises(DataError, match="no pair is left for training"):
        find_splits(DataSettings(mix=mix), FilterSettings())


def test_what_a_shortlist_is_learnt_from(call: Call, bundle_folder: Path, tmp_path: Path):
    blank = tmp_path / "blank.txt"
    blank.write_text("\n\n")
    where = ("shortlist", "--bundle", bundle_folder, "--out", tmp_path / "list")
    told(call(*where), 3, "name a corpus, or a source and a target file", "--corpus NAME")
    told(call(*where, "--source", blank, "--target", blank), 3, "there are no pairs to learn from", "both sides")


@pytest.mark.slow
def test_what_is_no_shortlist(call: Call, bundle_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "list"
    path.write_bytes(b"no such thing")
    where = ("translate", "--bundle", bundle_folder, "--shortlist")
    told(call(*where, path, stdin=b"a\n"), 4, "damaged or not a shortlist", "openwork shortlist makes one")
    told(call(*where, tmp_path / "none", stdin=b"a\n"), 4, "cannot be read", "check")
    monkeypatch.setattr(shortlists, "LARGEST_FILE", 3)
    told(call(*where, path, stdin=b"a\n"), 4, "too large for a shortlist", "openwork shortlist makes one")


# ------------------------------------------------------------------------------------------------ training


def test_a_training_that_ends_before_it_can_be_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(check_resume.sys, "executable", "/bin/false")
    with pytest.raises(OpenworkError, match="the training ended before update 6") as refused:
        check_resume.check_resume(run_settings(tmp_path), lambda line: None)
    assert "--check-resume" in refused.value.hint


def test_one_table_for_two_vocabularies(tiny_bundle: Bundle):
    settings = tiny_bundle.settings.model.model_copy(update={"tying": "three-way"})
    with pytest.raises(ConfigError, match='"three-way" needs one vocabulary'):
        build_model(settings, 9, 10)


def test_translations_without_references():
    with pytest.raises(DataError, match="1 outputs cannot be compared with 2 references") as refused:
        evaluate(["a"], ["a", "b"], None)
    assert "same order" in refused.value.hint
