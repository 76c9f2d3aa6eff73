"""Two sides: one vocabulary for both, or one each."""

import os
from pathlib import Path

import pytest

from openwork.base.config import build
from openwork.base.errors import BundleError, ConfigError
from openwork.text.pair import TokenizerPair, train_pair
from openwork.text.settings import TextSettings

ENGLISH = ["the cat sees the dog"] * 30
GERMAN = ["die Katze sieht den Hund"] * 30


def train(*, shared: bool) -> TokenizerPair:
    return train_pair(ENGLISH, GERMAN, TextSettings(vocabulary_size=400, shared=shared))


def test_a_shared_vocabulary_knows_both_sides() -> None:
    pair = train(shared=True)
    assert pair.shared and pair.source is pair.target
    assert pair.source.encode_pieces("the Katze").pieces == ["the", " Katze"]


def test_separate_vocabularies_know_one_side_each() -> None:
    pair = train(shared=False)
    assert not pair.shared
    assert pair.source.encode_pieces("the cat").pieces == ["the", " cat"]
    assert len(pair.source.encode("die Katze")) > len(pair.target.encode("die Katze")) == 2


@pytest.mark.parametrize("shared", [True, False])
def test_saved_and_loaded_is_the_same(tmp_path: Path, shared: bool) -> None:
    train(shared=not shared).save(tmp_path)  # the files of an earlier choice must not stay beside the new ones
    pair = train(shared=shared)
    pair.save(tmp_path)
    names = ["tokenizer.json"] if shared else ["source.tokenizer.json", "target.tokenizer.json"]
    assert sorted(os.listdir(tmp_path)) == names
    loaded = TokenizerPair.load(tmp_path)
    assert loaded.shared == shared
    assert loaded.fingerprint == pair.fingerprint != train(shared=not shared).fingerprint
    assert loaded.target.encode("die Katze") == pair.target.encode("die Katze")


def test_folders_without_a_clear_pair_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="holds no tokenizer"):
        TokenizerPair.load(tmp_path)
    train(shared=False).save(tmp_path)
    (tmp_path / "target.tokenizer.json").rename(tmp_path / "tokenizer.json")
    with pytest.raises(BundleError, match="a shared tokenizer and separate ones"):
        TokenizerPair.load(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(BundleError, match=r"target\.tokenizer\.json"):
        TokenizerPair.load(tmp_path)


def test_the_settings_refuse_what_cannot_be() -> None:
    assert build(TextSettings, {}) == TextSettings() == TextSettings(vocabulary_size=8000, shared=True)
    for wrong in ({"vocabulary_size": 299}, {"vocabulary_size": "8000"}, {"shared": 1}, {"minimum_frequency": 0}):
        with pytest.raises(ConfigError):
            build(TextSettings, wrong)
