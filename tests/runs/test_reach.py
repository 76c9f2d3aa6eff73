"""Learned positions end: training says so before it begins, translating cuts and flags."""

import re
from pathlib import Path

import pytest
import torch

from calling import Call
from openwork.base.errors import ConfigError
from openwork.data.store import TokenStore, write_store
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.inference.translator import BatchTranslator
from openwork.models.build import build_transformer
from openwork.models.settings import TransformerSettings
from openwork.runs.assembly import check_maximum_length
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.bytepair import BytePair

SIZES = {"width": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "feedforward_width": 16}


@pytest.fixture(scope="module")
def tokenizers() -> TokenizerPair:
    tokenizer = BytePair.learn(["the cat sees the dog", "a dog sees a cat"] * 20, 330)
    return TokenizerPair(tokenizer, tokenizer)


def translator(tokenizers: TokenizerPair, longest: int, **decoding: int) -> BatchTranslator:
    torch.manual_seed(3)
    settings = TransformerSettings.model_validate(SIZES | {"positions": "learned", "maximum_length": longest})
    size = tokenizers.source.vocabulary_size
    return BatchTranslator(build_transformer(settings, size, size), tokenizers, DecodingSettings(**decoding))


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 3])
def test_a_source_beyond_the_table_is_cut_and_flagged(tokenizers: TokenizerPair, beam: int) -> None:
    text = "the cat sees the dog and a dog sees a cat"
    long = tokenizers.source.encode(text)
    reader = translator(tokenizers, len(long), beam=beam)  # one too few, with the end symbol
    (found,), (short,) = reader.translate([text, "a cat"])
    assert found.cut and not short.cut
    enough = translator(tokenizers, len(long) + 1, beam=beam)
    assert not enough.translate([text])[0][0].cut
    begun = tokenizers.source.decode(long[: len(long) - 1])
    assert reader.translate([begun])[0][0].text == found.text


@pytest.mark.parametrize("beam", [1, 3])
def test_no_target_is_longer_than_the_table(tokenizers: TokenizerPair, beam: int) -> None:
    # extra_length and maximum_length alone would let the search go on to position 54
    reader = translator(tokenizers, 6, beam=beam)
    assert reader.decoding.maximum_length == 6
    assert len(reader.translate(["a cat", "the dog sees a dog"])) == 2
    source = torch.tensor([[5, 6, tokenizers.source.end_id]])
    with pytest.raises(ConfigError, match="does not fit into 6 learned positions"):
        decode(reader.engine.model.eval(), source, torch.tensor([3]), DecodingSettings(beam=beam))
    assert translator(tokenizers, 600, beam=beam, maximum_length=20).decoding.maximum_length == 20


def stores(folder: Path, lengths: list[int]) -> TokenStore:
    pairs = [([5] * length, [6]) for length in lengths]
    return write_store(folder, pairs, vocabulary_size=10, fingerprint="x")


def test_training_counts_the_pairs_that_are_too_long(tmp_path: Path) -> None:
    train, valid = stores(tmp_path / "train", [3, 9, 10, 12]), stores(tmp_path / "valid", [3, 9])
    check_maximum_length(None, train, valid)
    check_maximum_length(13, train, valid)
    with pytest.raises(ConfigError, match="2 training pairs have a sentence of more than 10 tokens") as refused:
        check_maximum_length(10, train, valid)
    assert "the longest has 13 tokens" in refused.value.why
    assert "set model.maximum_length to 13 or more" in refused.value.hint
    with pytest.raises(ConfigError, match="1 validation pairs"):
        check_maximum_length(9, stores(tmp_path / "short", [3]), valid)


KINDS = {
    "transformer": 'preset = "nano"\nwidth = 16\npositions = "learned"',
    "convs2s": 'preset = "convs2s-small"\nwidth = 16\nencoder_layers = 1\ndecoder_layers = 1',
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_command_says_it_before_the_first_update(
    call: Call, pair_files: tuple[Path, Path], tmp_path: Path, kind: str
) -> None:
    source, target = pair_files
    run = tmp_path / "run.toml"
    run.write_text(
        f"[data]\nsource = '{source}'\ntarget = '{target}'\n[text]\nvocabulary_size = 300\n"
        f"[training]\nsteps = 2\nwarmup = 1\n[model]\n{KINDS[kind]}\nmaximum_length = 4\n"
    )
    done = call("train", run, "--out", tmp_path / "out")
    assert done.code == 3
    assert "tokens, where learned positions end" in done.err and "set model.maximum_length to" in done.err
    named = set(re.findall(r"model\.(\w+)", done.err))
    assert named == {"maximum_length"}  # a key that both kinds have
