"""Folders of other toolkits that lack something, or whose parts are of two models; and bundles they cannot hold."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from interop.small_bundles import small_bundle
from openwork.base.errors import BundleError, ConfigError
from openwork.interop.ctranslate2.binary import read_binary, write_binary
from openwork.interop.ctranslate2.reading import read_ctranslate2
from openwork.interop.ctranslate2.writing import write_ctranslate2
from openwork.interop.forms import bundle_from_hugging_face, write_hugging_face_folder
from openwork.interop.hugging_face import folder as hugging_face_folder
from openwork.interop.hugging_face.tokenizers import write_tokenizers
from openwork.interop.vocabulary import token_names
from openwork.text.external.adapted import AdaptedTokenizer
from openwork.text.external.marian import read_marian
from openwork.text.external.reading import read_tokenizer
from openwork.text.pair import TokenizerPair, train_pair
from openwork.text.settings import TextSettings
from text.external.test_sentence_piece import made


def says(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changes), encoding="utf-8")


def rewrite(folder: Path, specification: str = "TransformerSpec", without: str = "") -> None:
    path = folder / "model.bin"
    contents = read_binary(path)
    variables = {name: value for name, value in contents.variables.items() if not without or without not in name}
    write_binary(path, replace(contents, specification=specification, variables=variables))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: rewrite(folder, specification="WhisperSpec"), "no Transformer that openwork knows"),
        (lambda folder: rewrite(folder, without="encoder/layer_0/ffn/linear_0/weight"), "do not fit together"),
        (lambda folder: says(folder / "config.json", decoder_start_token=None), "has no start symbol of its own"),
        (lambda folder: says(folder / "config.json", layer_norm_epsilon=2.0), "no Transformer of the sizes"),
        (lambda folder: (folder / "shared_vocabulary.json").unlink(), "has no source_vocabulary"),
    ],
    ids=["kind", "incomplete", "start", "sizes", "vocabulary"],
)
def test_models_of_ctranslate2(spoil: Callable[[Path], None], words: str, tmp_path: Path):
    folder = tmp_path / "there"
    write_ctranslate2(folder, small_bundle())
    spoil(folder)
    with pytest.raises(BundleError, match=words) as refused:
        read_ctranslate2(folder)
    assert refused.value.why and refused.value.hint


def other_tokenizers(folder: Path) -> None:
    write_tokenizers(folder, train_pair(["other words"], ["other words"], TextSettings(vocabulary_size=300)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: (folder / "tokenizer.json").unlink(), "no tokenizer that openwork can put before this model"),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), "not a tokenizer of openwork"),
        (other_tokenizers, "model and tokenizer do not belong together"),
        (lambda folder: (folder / "model.safetensors").unlink(), "no weights"),
        (
            lambda folder: (folder / "model.safetensors").rename(folder / "model.safetensors.index.json"),
            "damaged, or no index of weights",
        ),
    ],
    ids=["no tokenizer", "tokenizer", "other tokenizer", "no weights", "index"],
)
def test_folders_of_hugging_face(spoil: Callable[[Path], None], words: str, tmp_path: Path):
    folder = tmp_path / "there"
    write_hugging_face_folder(folder, small_bundle(norm="post", norm_epsilon=1e-5))
    spoil(folder)
    with pytest.raises(BundleError, match=words) as refused:
        bundle_from_hugging_face(folder)
    assert refused.value.why and refused.value.hint


def test_a_configuration_that_is_no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "there"
    write_hugging_face_folder(folder, small_bundle(norm="post", norm_epsilon=1e-5))
    monkeypatch.setattr(hugging_face_folder, "MOST_BYTES", 100)
    with pytest.raises(BundleError, match="no configuration") as refused:
        bundle_from_hugging_face(folder)
    assert refused.value.why == "it has more than 100 bytes"


def test_a_tokenizer_from_a_file_stays_with_us(tmp_path: Path):
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n", encoding="utf-8")
    tokenizer = AdaptedTokenizer(read_tokenizer(tmp_path / "vocab.txt"))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="a tokenizer from a file cannot be written"):
        write_tokenizers(tmp_path, TokenizerPair(tokenizer, tokenizer))


def test_two_pieces_of_one_name(tmp_path: Path):
    """Marian has no start symbol, so a vocabulary of its own may have a piece with the name of ours."""
    vocabulary = tmp_path / "vocab.json"
    vocabulary.write_text(json.dumps({"</s>": 0, "<unk>": 1, "<s>": 2, "a": 3, "<pad>": 4}))
    model = made(tmp_path / "source.spm", model_type="unigram", vocab_size=90)
    with pytest.raises(BundleError, match="cannot be written by the names of its pieces") as refused:
        token_names(AdaptedTokenizer(read_marian(model, vocabulary)))
    assert "'<s>'" in refused.value.why
