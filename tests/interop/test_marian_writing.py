"""Folders written for Marian, without Marian: their numbers give its formulas our logits, and they are read again.

That Marian itself translates with them as we do is for tests/parity/test_marian.py.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from interop.marian_folder import SETTINGS, logits, random_weights, write_folder
from interop.small_bundles import FOR_MARIAN, TEXTS, random_bundle, small_bundle
from interop.test_marian import CHOICES
from openwork.base.errors import BundleError, ConfigError
from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.decoding.settings import DecodingSettings
from openwork.inference.translator import BatchTranslator
from openwork.interop.marian.archive import read_archive
from openwork.interop.marian.reading import bundle_from_marian
from openwork.interop.marian.writing import NEVER, write_marian
from openwork.models.settings import TransformerSettings
from openwork.models.weights import model_weights
from openwork.text.external.adapted import AdaptedTokenizer
from openwork.text.external.sentence_piece import read_sentence_piece
from openwork.text.pair import TokenizerPair
from text.external.test_sentence_piece import LINES, made

SIZES = TransformerSettings.model_validate(
    {"width": 16, "heads": 2, "feedforward_width": 24, "encoder_layers": 1, "decoder_layers": 1, **FOR_MARIAN}
)


def written(folder: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The weights and the settings of a folder, as `marian_folder.logits` takes them."""
    weights, content = read_archive(folder / "model.npz")
    numbers = {key: int(value) if str(value).isdecimal() else value for key, value in content.items()}
    return {name: weight.numpy() for name, weight in weights.items()}, numbers


def same(one: Bundle, other: Bundle) -> bool:
    """Whether all weights are, but those of padding and start, which Marian does not have."""
    ours, theirs = model_weights(one.model), model_weights(other.model)
    of_pieces = [name for name in ours if name in ("output", "bias") or "embedding.table" in name]
    for weights in (ours, theirs):
        weights.update({name: weights[name][[SYMBOL_IDS.unknown, *range(3, len(weights[name]))]] for name in of_pieces})
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize(
    "changes",
    [{}, {"feedforward": "swish", "attention_bias": True, "output_bias": True}, {"embedding_norm": True}],
    ids=str,
)
@pytest.mark.parametrize("tying", ["three-way", "target", "none"])
@torch.no_grad()
def test_marians_formulas_give_our_logits(tying: str, changes: dict[str, object], tmp_path: Path) -> None:
    bundle = small_bundle(**FOR_MARIAN, tying=tying, **changes)
    write_marian(tmp_path / "m", bundle)
    source, target = [7, 30, 4, 260], [5, 99, 8]
    state = bundle.model.start(torch.tensor([[*source, 3]]), torch.tensor([len(source) + 1]))
    ours, _ = bundle.model.step(torch.tensor([[2, *target]]), state)
    weights, settings = written(tmp_path / "m")
    theirs = logits(weights, settings, [*(number - 2 for number in source), 0], [number - 2 for number in target])
    assert np.allclose(theirs[:, 2:], ours[0][:, 4:].numpy(), atol=2e-5)
    assert np.allclose(theirs[:, :2], ours[0][:, [3, 1]].numpy(), atol=2e-5)


@pytest.mark.parametrize("shared", [True, False])
def test_openworks_own_tokenizers_come_back(shared: bool, tmp_path: Path) -> None:
    bundle = small_bundle(shared=shared, **FOR_MARIAN, tying="three-way" if shared else "target", attention_bias=True)
    write_marian(tmp_path / "m", bundle)
    again = bundle_from_marian(tmp_path / "m")
    assert same(bundle, again)
    assert again.tokenizers.fingerprint == bundle.tokenizers.fingerprint
    assert again.settings.model == bundle.settings.model
    assert BatchTranslator.of(again, bundle.settings.decoding).best(TEXTS) == BatchTranslator.of(bundle).best(TEXTS)


@pytest.mark.parametrize("name", [name for name in CHOICES if "pre-norm" not in name])
def test_what_was_marians_is_written_as_it_was(name: str, tmp_path: Path) -> None:
    chosen = {**SETTINGS, **CHOICES[name]}
    bundle = bundle_from_marian(write_folder(tmp_path / "one", random_weights(chosen), chosen))
    write_marian(tmp_path / "two", bundle)
    again = bundle_from_marian(tmp_path / "two")
    assert same(bundle, again) and again.settings.model == bundle.settings.model
    assert again.tokenizers.fingerprint == bundle.tokenizers.fingerprint
    assert again.tokenizers.source.encode("a no 12 ~ zzz") == bundle.tokenizers.source.encode("a no 12 ~ zzz")


@pytest.mark.slow
@pytest.mark.parametrize("listed", [False, True], ids=["SentencePiece", "a list beside SentencePiece"])
def test_sentence_piece_is_written_as_it_is(listed: bool, tmp_path: Path) -> None:
    """Its own symbols for padding and start are no pieces: no target has them."""
    model = made(tmp_path / "pieces.spm", vocab_size=60, model_type="unigram", pad_id=3, bos_id=1, eos_id=2, unk_id=0)
    tokenizer = AdaptedTokenizer(read_sentence_piece(model))
    if listed:
        names = [tokenizer.external.piece(number) for number in range(tokenizer.external.vocabulary_size)]
        folder = write_folder(tmp_path / "listed", random_weights(SETTINGS, len(names)), SETTINGS, names)
        for side in ("source.spm", "target.spm"):
            (folder / side).write_bytes(model.read_bytes())
        bundle = bundle_from_marian(folder)
    else:
        bundle = random_bundle(SIZES, TokenizerPair(tokenizer, tokenizer), DecodingSettings())
    write_marian(tmp_path / "m", bundle)
    again = bundle_from_marian(tmp_path / "m")
    files = {path.name for path in (tmp_path / "m").iterdir()}
    assert not listed or {"source.spm", "target.spm", "source.vocab.yml", "target.vocab.yml"} <= files
    assert listed or (tmp_path / "m" / "vocab.spm").read_bytes() == model.read_bytes()
    assert again.tokenizers.sizes == (again.model.source_embedding.pieces, len(again.model.output_weight))
    for line in LINES[:3]:
        assert again.tokenizers.source.encode(line) == bundle.tokenizers.source.encode(line)
    never = written(tmp_path / "m")[0]["decoder_ff_logit_out_b"] == NEVER
    assert never.tolist() == [number == 3 or (number == 1 and not listed) for number in range(len(never))]
    assert np.array_equal(*(one.model.output_weight.detach()[3:].numpy() for one in (bundle, again)))


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({}, "model.positions = sinusoidal"),
        ({"norm": "pre"}, "its search leaves the norm out"),
        ({"positions": "split-sinusoidal", "norm": "post"}, "model.start_vector = learned"),
        ({**FOR_MARIAN, "feedforward": "gelu"}, "model.feedforward = gelu"),
        ({**FOR_MARIAN, "norm_epsilon": 1e-5}, "model.norm_epsilon = 1e-05"),
        ({**FOR_MARIAN, "embedding_scale": False}, "model.embedding_scale = False"),
        ({**FOR_MARIAN, "layer_sharing": True}, "model.layer_sharing = True"),
        ({**FOR_MARIAN, "key_value_heads": 1}, "key_value_heads"),
    ],
    ids=str,
)
def test_models_that_marian_has_not_are_refused(changes: dict[str, Any], part: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError) as error:
        write_marian(tmp_path / "m", small_bundle(**{"norm": "post", **changes}))
    assert "Marian cannot run this model" in str(error.value) and part in str(error.value.why)
    assert not (tmp_path / "m").exists()


def test_a_tokenizer_without_an_end_is_refused(tmp_path: Path) -> None:
    model = made(tmp_path / "pieces.spm", vocab_size=60, model_type="unigram", eos_id=-1)
    tokenizer = AdaptedTokenizer(read_sentence_piece(model))
    with pytest.raises(ConfigError, match="Marian cannot use this bundle's tokenizer"):
        write_marian(tmp_path / "m", random_bundle(SIZES, TokenizerPair(tokenizer, tokenizer), DecodingSettings()))
    assert not (tmp_path / "m").exists()


def test_from_the_command_line_and_again(tmp_path: Path, call: Any) -> None:
    bundle = small_bundle(**FOR_MARIAN, attention_bias=True)
    write_bundle(tmp_path / "b", bundle)
    told = call("export", tmp_path / "b", "--to", "marian", "--beam", "3", "--out", tmp_path / "m")
    assert told.code == 0, told.err
    assert "openwork tokenize --ids" in told.err
    assert "beam-size: 3\n" in (tmp_path / "m" / "decoder.yml").read_text()
    told = call("export", tmp_path / "b", "--to", "marian", "--out", tmp_path / "m")
    assert told.code == 2  # the folder is there
    told = call("export", tmp_path / "b", "--to", "marian", "--out", tmp_path / "m", "--overwrite")
    assert told.code == 0, told.err
    told = call("import", "marian", tmp_path / "m", "--out", tmp_path / "again")
    assert told.code == 0, told.err
    assert same(load_bundle(tmp_path / "again"), bundle)
