"""Hugging Face's T5, T5 1.1 and mT5, read as our encoder-decoders: the same logits and the same greedy targets."""

from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("transformers", reason="the extra parity is not installed: make parity")

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import models, pre_tokenizers, processors
from transformers import MT5Config, MT5ForConditionalGeneration, PreTrainedTokenizerFast, T5Config
from transformers import T5ForConditionalGeneration as T5Model

from interop.conversions import to_external, to_own
from openwork.base.errors import BundleError
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.inference.translator import BatchTranslator
from openwork.interop.forms import bundle_from_hugging_face
from openwork.interop.hugging_face.t5 import read_t5

pytestmark = pytest.mark.slow  # what is held against needs seconds to load

TOLERANCE = 1e-4
SIZES: dict[str, Any] = {
    "vocab_size": 60, "d_model": 24, "d_kv": 5, "d_ff": 40, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 3,
    "decoder_start_token_id": 0,
}  # fmt: skip
KINDS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "t5": (T5Config, T5Model, {}),
    "t5 1.1": (T5Config, T5Model, {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}),
    "t5, gated by silu, other norms": (
        T5Config, T5Model, {"feed_forward_proj": "gated-silu", "layer_norm_epsilon": 1e-3, "num_decoder_layers": 2},
    ),
    "mt5": (MT5Config, MT5ForConditionalGeneration, {"feed_forward_proj": "gated-gelu"}),
}  # fmt: skip
SOURCES = [[5, 17, 40, 8, 33, 21, 9, 9, 52], [11], [4, 50, 51, 6]]


def make(name: str, *, untied: bool = False, **changes: Any) -> Any:
    """In evaluation mode, every number unlike what it begins as."""
    config_class, model_class, values = KINDS[name]
    torch.manual_seed(1)
    model = model_class(config_class(**SIZES | values | changes)).eval()
    generator = torch.Generator().manual_seed(2)
    for tensor in model.parameters():
        tensor.data = tensor.data + torch.randn(tensor.shape, generator=generator) * 0.25
    model.tie_weights()
    if untied:
        model.lm_head.weight = torch.nn.Parameter(torch.randn(model.lm_head.weight.shape, generator=generator))
    return model


@pytest.mark.parametrize("untied", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_the_logits_are_theirs(name: str, untied: bool, tmp_path: Path) -> None:
    theirs = make(name, untied=untied)
    theirs.save_pretrained(tmp_path)
    read = read_t5(tmp_path)
    known = [(ours, number) for ours, number in enumerate(read.target.external) if number is not None and ours != 2]
    ours, numbers = (list(column) for column in zip(*known, strict=True))
    target = [7, 30, 45, 12, 12, 59]
    for source in SOURCES:
        expected = theirs(torch.tensor([[*source, 1]]), decoder_input_ids=torch.tensor([[0, *target]])).logits.detach()
        row = torch.tensor([[*to_own(read.source, source), 3]])
        state = read.model.start(row, torch.tensor([row.shape[1]]))
        found = read.model.step(torch.tensor([[2, *to_own(read.target, target)]]), state)[0].detach()
        assert expected.std() > 0.3
        torch.testing.assert_close(found[..., ours], expected[..., numbers], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("name", ["t5", "t5 1.1"])
def test_the_targets_are_theirs(name: str, tmp_path: Path) -> None:
    theirs = make(name)
    theirs.save_pretrained(tmp_path)
    read = read_t5(tmp_path)
    for source in SOURCES:
        expected = theirs.generate(
            torch.tensor([[*source, 1]]), max_new_tokens=12, do_sample=False, bad_words_ids=[[0]], use_cache=False
        )[0, 1:].tolist()  # fmt: skip
        row = torch.tensor([[*to_own(read.source, source), 3]])
        settings = DecodingSettings(beam=1, maximum_length=12, extra_length=12)
        ((found,),) = decode(read.model, row, torch.tensor([row.shape[1]]), settings)
        assert to_external(read.target, found.tokens) == (expected[: expected.index(1)] if 1 in expected else expected)


def folder_with_tokenizer(place: Path) -> tuple[Any, PreTrainedTokenizerFast]:
    """A T5 with a unigram tokenizer of its symbols, and more rows of embeddings than it has pieces."""
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *((f"▁{one}", -2.0) for one in ("a", "dog", "runs", "in"))]
    pieces += [(one, -4.0) for one in "adogrunsi▁"]
    library = LibraryTokenizer(models.Unigram(list(dict.fromkeys(pieces)), unk_id=2))
    library.pre_tokenizer = pre_tokenizers.Metaspace()
    library.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=library, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    theirs = make("t5")
    theirs.save_pretrained(place)
    tokenizer.save_pretrained(place)
    return theirs, tokenizer


def test_a_folder_is_a_bundle_that_translates(tmp_path: Path) -> None:
    theirs, tokenizer = folder_with_tokenizer(tmp_path)
    bundle = bundle_from_hugging_face(tmp_path)
    text = "a dog runs in a dog"
    number = dict(enumerate(bundle.tokenizers.source.theirs))  # type: ignore[attr-defined]
    ids = [number[own] for own in bundle.tokenizers.source.encode(text)]
    assert [*ids, 1] == tokenizer(text)["input_ids"]
    source = bundle.tokenizers.source.encode(text)
    row = torch.tensor([[*source, 3]])
    state = bundle.model.start(row, torch.tensor([row.shape[1]]))
    found = bundle.model.step(torch.tensor([[2]]), state)[0][0, 0, 4:].detach()
    expected = theirs(torch.tensor([[*ids, 1]]), decoder_input_ids=torch.tensor([[0]])).logits.detach()[0, 0]
    torch.testing.assert_close(found, expected[[number[own] for own in range(4, len(number))]], rtol=0, atol=TOLERANCE)
    translator = BatchTranslator(bundle.model, bundle.tokenizers, DecodingSettings(beam=2, maximum_length=8))
    assert len(translator.translate([text])) == 1


def test_other_buckets_and_networks_are_refused(tmp_path: Path) -> None:
    make("t5", relative_attention_num_buckets=16).save_pretrained(tmp_path / "buckets")
    with pytest.raises(BundleError, match="relative_attention_num_buckets is not understood"):
        read_t5(tmp_path / "buckets")
    make("t5", feed_forward_proj="tanh").save_pretrained(tmp_path / "network")
    with pytest.raises(BundleError, match="the activation 'tanh' cannot be read"):
        read_t5(tmp_path / "network")
