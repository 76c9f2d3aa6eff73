"""Folders of language models that cannot be read are refused in a sentence; no transformers are needed for that."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import models

from openwork.base.config import Layer
from openwork.base.errors import BundleError, ConfigError
from openwork.interop.forms import bundle_from_hugging_face
from openwork.interop.hugging_face.decoder import read_decoder
from openwork.models.build import build_model
from openwork.models.settings import DecoderSettings
from openwork.models.weights import tensors_to_bytes
from openwork.runs.file.resolve import resolve_run
from openwork.text.pair import train_pair
from openwork.text.settings import TextSettings

PIECES = 12
LLAMA = {
    "model_type": "llama", "vocab_size": PIECES, "hidden_size": 8, "intermediate_size": 12, "num_hidden_layers": 1,
    "num_attention_heads": 2, "bos_token_id": 1, "eos_token_id": 2, "tie_word_embeddings": True,
}  # fmt: skip
SHAPES = {
    "model.embed_tokens.weight": (PIECES, 8), "model.norm.weight": (8,),
    "model.layers.0.input_layernorm.weight": (8,), "model.layers.0.post_attention_layernorm.weight": (8,),
    **{f"model.layers.0.self_attn.{name}_proj.weight": (8, 8) for name in "qkvo"},
    "model.layers.0.mlp.gate_proj.weight": (12, 8), "model.layers.0.mlp.up_proj.weight": (12, 8),
    "model.layers.0.mlp.down_proj.weight": (8, 12),
}  # fmt: skip


def folder(place: Path, shapes: dict[str, Any] = SHAPES, **changes: Any) -> Path:
    place.mkdir(exist_ok=True)
    (place / "config.json").write_text(json.dumps(LLAMA | changes), encoding="utf-8")
    weights = {name: torch.ones(shape) for name, shape in shapes.items()}
    (place / "model.safetensors").write_bytes(tensors_to_bytes(weights))
    return place


def test_a_whole_folder_is_read(tmp_path: Path) -> None:
    read = read_decoder(folder(tmp_path, rope_theta=500.0))
    assert read.settings.rotary_base == 500.0 and read.settings.tying == "three-way"
    assert read.target.size == PIECES + 2  # they have neither padding nor an unknown symbol
    assert read.model.output_weight.sum() == PIECES * 8


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, "rotary positions of the kind 'llama3'"),
        ({"hidden_act": "tanh"}, "the activation 'tanh' cannot be read"),
        ({"mlp_bias": True}, "mlp_bias is not understood"),
        ({"num_attention_heads": 3}, "is not understood"),
        ({"num_hidden_layers": 2}, "a weight is missing"),
        ({"vocab_size": PIECES + 1}, "weights belong to a model of other sizes"),
        ({"intermediate_size": 13}, "weights belong to a model of other sizes"),
    ],
)
def test_what_cannot_be_read_is_said(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError) as refused:
        read_decoder(folder(tmp_path, **changes))
    assert said in refused.value.what


def test_a_tokenizer_of_another_model_is_refused(tmp_path: Path) -> None:
    folder(tmp_path)
    pieces = {f"piece{number}": number for number in range(PIECES + 1)}
    LibraryTokenizer(models.WordLevel(pieces, unk_token="piece0")).save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(BundleError, match="do not belong together"):
        bundle_from_hugging_face(tmp_path)
    train_pair(["a b"], ["a b"], TextSettings(vocabulary_size=300)).save(tmp_path)
    with pytest.raises(BundleError, match="do not belong together"):  # one of our own, for another model
        bundle_from_hugging_face(tmp_path)


def test_the_embeddings_may_have_more_rows_than_the_tokenizer_has_pieces(tmp_path: Path) -> None:
    """Tables are often filled up to a multiple of 64; the rows without a piece are left out."""
    folder(tmp_path)
    pieces = {f"piece{number}": number for number in range(PIECES - 3)}
    LibraryTokenizer(models.WordLevel(pieces, unk_token="piece0")).save(str(tmp_path / "tokenizer.json"))
    bundle = bundle_from_hugging_face(tmp_path)
    symbols = 4  # none of them is among the pieces
    assert bundle.model.output_weight.shape[0] == bundle.tokenizers.source.vocabulary_size == PIECES - 3 + symbols


@pytest.mark.slow
def test_the_base_of_rotary_positions() -> None:
    with pytest.raises(ConfigError, match="rotary_base is for rotary positions"):
        resolve_run(Layer({"data": {"corpus": "copy"}, "model": {"kind": "decoder", "rotary_base": 5.0}}))
    usual = DecoderSettings(width=8, heads=2, feedforward_width=8, layers=1, positions="rotary")
    found = []
    for base in (None, 10_000.0, 20.0):
        torch.manual_seed(0)
        model = build_model(usual.model_copy(update={"rotary_base": base}), 9, 9).eval()
        found.append(model(torch.tensor([[3]]), torch.tensor([1]), torch.tensor([[2, 5, 6, 7, 8]])))
    assert torch.equal(found[0], found[1]) and not torch.allclose(found[0], found[2], atol=1e-3)
