"""Encoders and language models in Hugging Face's form: the same when read again, with their ids, or refused."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from interop.alone import LABELS, adopted, decoder, encoder, own
from interop.bert_folder import NAMES
from interop.small_bundles import TEXTS
from openwork.base.errors import BundleError, ConfigError
from openwork.bundles.bundle import Bundle
from openwork.checks.context import VerifyContext
from openwork.checks.keeping import exported
from openwork.inference.golden import make_golden
from openwork.inference.labeller import Labeller
from openwork.interop.exports import unsupported_exports
from openwork.interop.forms import FORMS, bundle_from_hugging_face, write_hugging_face_folder
from openwork.interop.hugging_face.bart import write_model_files
from openwork.interop.hugging_face.tokenizers import FRAMES
from openwork.models.weights import model_weights
from openwork.text.external.adapted import AdaptedTokenizer
from openwork.text.external.library import HuggingFaceTokenizer
from openwork.text.pieces.learnt import LearntTokenizer

DECODERS: list[tuple[str, dict[str, Any]]] = [
    ("gpt-small", {}),
    ("gpt-small", {"embedding_scale": True}),
    ("gpt-small", {"attention_bias": False, "tying": "embeddings", "maximum_length": 30, "feedforward": "relu"}),
    ("llama-small", {}),
    ("llama-small", {"embedding_scale": False, "key_value_heads": 1, "head_width": 6, "value_width": 6}),
    ("llama-small", {"attention_bias": True, "rotary_base": 500.0, "feedforward": "geglu", "tying": "embeddings"}),
]
ENCODERS: list[tuple[str, dict[str, Any]]] = [
    ("embed", {}), ("fill", {}), ("classify", {}),
    ("classify", {"embedding_scale": True, "segments": 0, "attention_bias": False, "feedforward": "relu"}),
    ("embed", {"segments": 1}),
]  # fmt: skip


def same(bundle: Bundle) -> bool:
    finding = exported(FORMS["hf"])(VerifyContext(make_golden(bundle, TEXTS[:3])))
    return finding.passed


@pytest.mark.slow
@pytest.mark.parametrize(("preset", "changes"), DECODERS, ids=str)
def test_a_language_model_says_the_same_when_read_again(preset: str, changes: dict[str, Any]) -> None:
    assert same(decoder(own(), preset, **changes))


@pytest.mark.slow
@pytest.mark.parametrize(("task", "changes"), ENCODERS, ids=str)
def test_an_encoder_says_the_same_when_read_again(task: str, changes: dict[str, Any]) -> None:
    assert same(encoder(own(), task, **changes))


@pytest.mark.slow
def test_a_weight_that_changed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for bundle, name in (
        (decoder(own(), "llama-small"), "stack.layers.1.self_attention.key.weight"),
        (encoder(own(), "classify"), "pooler.dense.weight"),
    ):
        golden = make_golden(bundle, TEXTS[:3])
        before = model_weights(bundle.model)[name].clone()

        def write(folder: Path, written: Bundle, name: str = name, before: torch.Tensor = before) -> None:
            with torch.no_grad():
                model_weights(written.model)[name].neg_()
                write_hugging_face_folder(folder, written)
                model_weights(written.model)[name].copy_(before)

        assert not exported(FORMS["hf"]._replace(write=write))(VerifyContext(golden)).passed


def test_our_own_tokenizer_comes_back_and_theirs_keeps_its_ids(tmp_path: Path) -> None:
    write_hugging_face_folder(tmp_path / "own", decoder(own(), "gpt-small"))
    read = bundle_from_hugging_face(tmp_path / "own").tokenizers.source
    assert isinstance(read, LearntTokenizer) and read.encode(TEXTS[0]) == own().encode(TEXTS[0])

    bundle = encoder(adopted(tmp_path), "embed")
    write_hugging_face_folder(tmp_path / "theirs", bundle)
    library = HuggingFaceTokenizer.from_content((tmp_path / "theirs" / "tokenizer.json").read_text(encoding="utf-8"))
    ids = [NAMES.index(name) for name in ("[CLS]", "the", "cat", "##s", "sat", "[SEP]")]
    assert library.encode_framed("the cats sat") == ids
    again = bundle_from_hugging_face(tmp_path / "theirs")
    for name, weight in bundle.model.named_parameters():
        assert torch.equal(again.model.get_parameter(name), weight), name


def test_a_symbol_that_the_tokenizer_lacks_is_added(tmp_path: Path) -> None:
    """One symbol of theirs begins and ends texts: the beginning, since learnt by itself, gets another id."""
    content = {
        "model": {"type": "WordLevel", "unk_token": "<|endoftext|>", "vocab": {"a": 0, "<|endoftext|>": 1, "<s>x": 2}},
        "added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "Whitespace"}, "decoder": None,
        "post_processor": None, "truncation": None, "padding": None, "version": "1.0",
    }  # fmt: skip
    tokenizer = AdaptedTokenizer(HuggingFaceTokenizer.from_content(json.dumps(content)))
    assert tokenizer.theirs[:4] == (None, None, None, 1)
    bundle = decoder(tokenizer, "gpt-small")
    write_hugging_face_folder(tmp_path / "out", bundle)
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert (config["pad_token_id"], config["bos_token_id"], config["eos_token_id"], config["vocab_size"]) == (
        3,
        4,
        1,
        5,
    )
    generation = json.loads((tmp_path / "out" / "generation_config.json").read_text())
    assert generation["suppress_tokens"] == [3, 4] and generation["max_new_tokens"] == 8
    library = HuggingFaceTokenizer.from_content((tmp_path / "out" / "tokenizer.json").read_text(encoding="utf-8"))
    assert library.encode_framed("a a") == [4, 0, 0]
    again = bundle_from_hugging_face(tmp_path / "out")
    source, lengths = torch.tensor([[4, 4, 3]]), torch.tensor([3])  # "a" is the fifth of ours, in both
    for one in (bundle, again):
        assert one.tokenizers.source.encode("a a") == [4, 4]
    found = [one.model(source, lengths, torch.tensor([[2, 4]]))[0, :, 3:5] for one in (bundle, again)]
    torch.testing.assert_close(found[0], found[1])


@pytest.mark.slow
def test_what_stands_around_texts(tmp_path: Path) -> None:
    assert FRAMES["classified"] == ("start $A end", "start $A end $B:1 end:1")
    write_hugging_face_folder(tmp_path / "out", encoder(own(), "fill"))
    content = json.loads((tmp_path / "out" / "tokenizer.json").read_text(encoding="utf-8"))
    types = [next(iter(part.values()))["type_id"] for part in content["post_processor"]["pair"]]
    assert types == [0, 0, 0, 1, 1]
    config = json.loads((tmp_path / "out" / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert (config["cls_token"], config["sep_token"], config["mask_token"]) == ("<s>", "</s>", "<unk>")
    # without a name for it, the unknown symbol serves; a number is no name
    (tmp_path / "out" / "tokenizer_config.json").write_text('{"mask_token": 4}', encoding="utf-8")
    assert bundle_from_hugging_face(tmp_path / "out").settings.model.mask_piece == 1  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_classifier_of_theirs_is_one_of_ours(tmp_path: Path) -> None:
    bundle = encoder(adopted(tmp_path), "classify")
    write_hugging_face_folder(tmp_path / "out", bundle)
    path = tmp_path / "out" / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    assert config["id2label"] == {str(number): name for number, name in enumerate(LABELS)}
    again, texts = bundle_from_hugging_face(tmp_path / "out"), ["the cats sat", "how are you ?"]
    told = [Labeller(one.model, one.tokenizers, "classify").label(texts, 3) for one in (bundle, again)]
    assert told[0] == told[1] and {choice.label for choice in told[0][0].places[0]} == set(LABELS)
    # labels with spaces become one word each; several labels at once, or two of one name, are left behind
    path.write_text(json.dumps(config | {"id2label": {"0": "very good", "1": "bad", "2": "so so"}}))
    assert bundle_from_hugging_face(tmp_path / "out").tokenizers.target.names == ["very_good", "bad", "so_so"]  # type: ignore[attr-defined]
    for changes in ({"problem_type": "multi_label_classification"}, {"id2label": {"0": "a", "1": "a", "2": "b"}}):
        path.write_text(json.dumps(config | changes))
        left = bundle_from_hugging_face(tmp_path / "out")
        assert left.settings.model.task == "embed" and "classifier.weight" in left.card  # type: ignore[union-attr]
    path.write_text(json.dumps(config | {"id2label": {"0": "a", "1": "b"}}))
    with pytest.raises(BundleError, match="other sizes"):
        bundle_from_hugging_face(tmp_path / "out")


@pytest.mark.parametrize(
    ("bundle", "why"),
    [
        (encoder(own(), "tag"), "the first piece of each"),
        (encoder(own(), "answer"), "the first piece of each"),
        (encoder(own(), "classify", norm="pre"), "BERT has another model.norm"),
        (encoder(own(), "fill", embedding_scale=True), "BERT has another model.embedding_scale"),
        (encoder(own(), "classify", positions="rotary", maximum_length=None), "BERT has another model.positions"),
        (decoder(own(), "gpt-small", norm="post"), "GPT-2 has another model.norm"),
        (decoder(own(), "gpt-small", separate_prompt=True), "GPT-2 has another model.separate_prompt"),
        (decoder(own(), "gpt-small", key_value_heads=1), "GPT-2 has another model.head_width, value_width"),
        (decoder(own(), "llama-small", normalisation="layer"), "LLaMA has another model.normalisation"),
        (decoder(own(), "llama-small", output_bias=True), "LLaMA has another model.output_bias"),
        (decoder(own(), "llama-small", positions="alibi"), "LLaMA has another model.positions"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_they_have_not_is_refused(bundle: Bundle, why: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        write_hugging_face_folder(tmp_path / "out", bundle)
    assert why in refused.value.why and not (tmp_path / "out").exists()
    assert why in unsupported_exports(bundle.settings.model, ())["Hugging Face"]


def test_a_tokenizer_that_the_library_cannot_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openwork.interop.hugging_face.tokenizers.hugging_face_runs", lambda tokenizer: False)
    with pytest.raises(ConfigError, match="this bundle's tokenizer cannot be written"):
        write_hugging_face_folder(tmp_path / "out", encoder(adopted(tmp_path), "embed"))
    with pytest.raises(ConfigError, match="no counterpart"):
        one = encoder(own(), "embed")
        write_model_files(tmp_path / "out", one.settings.model, one.model, one.settings.decoding)
