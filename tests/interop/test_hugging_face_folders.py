"""Folders in Hugging Face's form, without their library: what is written is read again, what is wrong refused."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from interop.conversions import write_hugging_face
from openwork.base.errors import BundleError, ConfigError
from openwork.decoding.settings import DecodingSettings
from openwork.interop.hugging_face.bart import read_hugging_face
from openwork.models.build import build_model
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.settings import TransformerSettings

pytestmark = pytest.mark.slow

SMALL: dict[str, Any] = {"width": 8, "heads": 2, "feedforward_width": 6, "encoder_layers": 1, "decoder_layers": 1}
SOURCE, LENGTHS, TARGET = torch.tensor([[5, 7, 3]]), torch.tensor([3]), torch.tensor([[2, 4, 6]])
SEARCH = DecodingSettings(
    beam=6, length_penalty=0.7, length_rule="power", stopping="no-better", maximum_length=77, no_repeat=3
)


@pytest.fixture
def settings() -> TransformerSettings:
    return TransformerSettings.model_validate(SMALL | {"norm_epsilon": 1e-5})


@pytest.fixture
def folder(settings: TransformerSettings, tmp_path: Path) -> Path:
    torch.manual_seed(1)
    write_hugging_face(tmp_path / "there", settings, build_model(settings, 9, 9), SEARCH)
    return tmp_path / "there"


def changed(folder: Path, name: str = "config.json", **changes: Any) -> None:
    path = folder / name
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")


def test_what_is_written_is_read_again(settings: TransformerSettings, folder: Path) -> None:
    torch.manual_seed(1)
    model = build_model(settings, 9, 9).eval()
    read = read_hugging_face(folder)
    assert read.settings == settings.model_copy(update={"attention_bias": True})  # zeros, which they always have
    assert read.source.external == read.target.external == tuple(range(9))
    with torch.no_grad():
        found, expected = (one.step(TARGET, one.start(SOURCE, LENGTHS))[0] for one in (read.model, model))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
    same = ("beam", "length_penalty", "length_rule", "stopping", "maximum_length")
    assert all(getattr(read.decoding, key) == getattr(SEARCH, key) for key in same)


def test_their_sines_come_first_and_their_cosines_after(folder: Path, settings: TransformerSettings) -> None:
    torch.manual_seed(1)
    model = build_model(settings, 9, 9)
    tensors = load_file(folder / "model.safetensors")
    ours = dict(model.named_parameters())
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    assert torch.equal(tensors["model.shared.weight"], ours["output"][:, order])
    query, out = "encoder.layers.0.self_attention.query.weight", "encoder.layers.0.self_attention.output.weight"
    assert torch.equal(tensors["model.encoder.layers.0.self_attn.q_proj.weight"], ours[query][:, order])
    assert torch.equal(tensors["model.encoder.layers.0.self_attn.out_proj.weight"], ours[out][order])
    assert len(tensors) == len(set(tensors)) and not any(name.startswith("lm_head") for name in tensors)


def test_half_precision_and_several_files(folder: Path) -> None:
    expected = read_hugging_face(folder).model
    tensors = {name: tensor.half() for name, tensor in load_file(folder / "model.safetensors").items()}
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    parts = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, members in parts.items():
        save_file({name: tensors[name] for name in members}, folder / file)
    index = {"weight_map": {name: file for file, members in parts.items() for name in members}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    found = read_hugging_face(folder).model
    for one, other in zip(found.parameters(), expected.parameters(), strict=True):
        assert one.dtype == torch.float32
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)
    index["weight_map"][names[0]] = "../elsewhere.safetensors"
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    with pytest.raises(BundleError, match="no index of weights"):
        read_hugging_face(folder)


def test_a_pickle_is_not_read(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(BundleError, match="bin, which is not read") as caught:
        read_hugging_face(folder)
    assert "nothing that could run" in str(caught.value.why) and "save_pretrained" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model_type": "t5"}, "a model of type 't5' cannot be read"),
        ({"d_model": "wide"}, "d_model is not understood"),
        ({"d_model": 10**12}, "d_model is not understood"),
        ({"encoder_layers": 2}, "a weight is missing"),
        ({"encoder_ffn_dim": 7}, "encoder and decoder have layers of different kinds"),
        ({"encoder_ffn_dim": 7, "decoder_ffn_dim": 7}, "belong to a model of other sizes"),
        ({"vocab_size": 10}, "belong to a model of other sizes"),
        ({"d_model": 12}, "belong to a model of other sizes"),
        ({"d_model": 9}, "width 9 is not divisible by 2 heads"),
        ({"activation_function": "tanh"}, "the activation 'tanh' cannot be read"),
        ({"pad_token_id": 9}, "belong to a model of other sizes"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(folder: Path, changes: dict[str, Any], said: str) -> None:
    changed(folder, **changes)
    with pytest.raises(BundleError) as caught:
        read_hugging_face(folder)
    assert said in f"{caught.value.what} {caught.value.why}"


def test_what_is_missing_or_damaged_is_refused(folder: Path) -> None:
    changed(folder, "generation_config.json", length_penalty=-1.0)
    with pytest.raises(BundleError, match="length_penalty is not understood"):
        read_hugging_face(folder)
    (folder / "generation_config.json").write_text("[]", encoding="utf-8")
    with pytest.raises(BundleError, match="no configuration"):
        read_hugging_face(folder)
    (folder / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(BundleError, match="damaged"):
        read_hugging_face(folder)
    (folder / "config.json").unlink()
    with pytest.raises(BundleError, match="cannot be read"):
        read_hugging_face(folder)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"normalisation": "rms"}, "normalisation"),
        ({"feedforward": "swiglu"}, "feedforward"),
        ({"embedding_width": 6}, "embedding_width"),
        ({"head_width": 3, "value_width": 4}, "head_width"),
        ({"key_value_heads": 1}, "key_value_heads"),
        ({"positions": "rotary"}, "rotary"),
        ({"embedding_norm": True}, "embedding_norm"),
        ({"norm": "pre", "tying": "target"}, "pegasus has one table"),
    ],
    ids=str,
)
def test_a_model_without_counterpart_is_refused(changes: dict[str, Any], why: str, tmp_path: Path) -> None:
    settings = TransformerSettings.model_validate(SMALL | changes)
    with pytest.raises(ConfigError, match="no counterpart") as caught:
        write_hugging_face(tmp_path / "there", settings, build_model(settings, 9, 9))
    assert why in str(caught.value.why) and not (tmp_path / "there").exists()


def test_a_recurrent_model_is_refused(tmp_path: Path) -> None:
    settings = RecurrentSettings(width=8)
    with pytest.raises(ConfigError, match="no counterpart") as caught:
        write_hugging_face(tmp_path / "there", settings, build_model(settings, 9, 9))
    assert 'a model of the kind "recurrent"' in caught.value.why
