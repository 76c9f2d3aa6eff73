"""Hugging Face's BERT beside ours: hidden states, the pooled vector and the masked pieces' logits; real weights too."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

pytest.importorskip("transformers", reason="the extra parity is not installed: make parity")
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM, BertModel

from interop.bert_folder import NAMES
from openwork.bundles.bundle import Bundle
from openwork.inference.embedder import TextEmbedder
from openwork.interop.forms import bundle_from_hugging_face
from openwork.models.encoder_lm import EncoderModel
from openwork.text.external.adapted import AdaptedTokenizer

pytestmark = pytest.mark.slow  # what is held against needs seconds to load

SIZES: dict[str, Any] = {
    "vocab_size": len(NAMES), "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4,
    "intermediate_size": 24, "max_position_embeddings": 20, "type_vocab_size": 2,
    "pad_token_id": NAMES.index("[PAD]"),
}  # fmt: skip
TEXTS = ["the cat sat", "how are you ?", "a", "the cats sat, how are you? the cat sat"]
REAL = [
    "Hello, how are you doing?",
    "Unbelievably, the Schrödinger-like cat 'sat' on 3,141 mats -- twice.",
    "ok",
    "东京 is a city.",
]
TOLERANCE = 1e-4


def make(kind: Any, folder: Path, **changes: Any) -> tuple[Any, Bundle]:
    torch.manual_seed(3)
    model = kind(BertConfig(**SIZES | changes)).eval()
    for name, tensor in model.named_parameters():
        tensor.data = torch.randn(tensor.shape) * 0.3 + (1.0 if "LayerNorm.weight" in name else 0.0)
    model.tie_weights()
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("".join(f"{name}\n" for name in NAMES), encoding="utf-8")
    return model, bundle_from_hugging_face(folder)


def both(bundle: Bundle, texts: list[str]) -> tuple[dict[str, Tensor], tuple[Tensor, Tensor]]:
    """A batch as theirs wants it, and as ours does."""
    tokenizer = bundle.tokenizers.source
    assert isinstance(tokenizer, AdaptedTokenizer)
    theirs = [tokenizer.external.encode_framed(text) for text in texts]
    lengths = torch.tensor([len(row) for row in theirs])
    longest = int(lengths.max())
    pad = tokenizer.external.marks.pad
    ids = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in theirs])
    ours = [[*tokenizer.encode(text), 3] for text in texts]
    source = torch.tensor([[*row, *[0] * (longest - 1 - len(row))] for row in ours])
    return {"input_ids": ids, "attention_mask": (torch.arange(longest) < lengths[:, None]).long()}, (
        source,
        lengths - 1,
    )


def close(one: Tensor, other: Tensor) -> None:
    assert float(one.std()) > 0.01  # there is something to compare
    torch.testing.assert_close(one, other, rtol=0, atol=TOLERANCE)


def compare(model: Any, bundle: Bundle, texts: list[str]) -> None:
    theirs, ours = both(bundle, texts)
    assert isinstance(bundle.model, EncoderModel)
    with torch.no_grad():
        expected = model(**theirs)
        found = bundle.model.encode(*ours)
        pooled = bundle.model(*ours, torch.full((len(texts), 2), 2))[:, 1]
    mask = theirs["attention_mask"].bool()
    close(found[mask], expected.last_hidden_state[mask])
    close(pooled[mask[:, 0]], expected.pooler_output[mask[:, 0]])
    weight = theirs["attention_mask"][:, :, None]  # as sentence-transformers has it
    mean = (expected.last_hidden_state * weight).sum(dim=1) / weight.sum(dim=1)
    close(TextEmbedder(bundle).embed(texts), mean)


@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_the_encoder(activation: str, tmp_path: Path) -> None:
    compare(*make(BertModel, tmp_path, hidden_act=activation), TEXTS)


def test_two_segments(tmp_path: Path) -> None:
    model, bundle = make(BertModel, tmp_path)
    first, second = TEXTS[0], TEXTS[1]
    tokenizer = bundle.tokenizers.source
    assert isinstance(tokenizer, AdaptedTokenizer) and isinstance(bundle.model, EncoderModel)
    begin = tokenizer.external.encode_framed(first)
    ids = [*begin, *tokenizer.external.encode_framed(second)[1:]]
    segments = [0] * len(begin) + [1] * (len(ids) - len(begin))
    source = [*tokenizer.encode(first), 3, *tokenizer.encode(second), 3]
    with torch.no_grad():
        expected = model(input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([segments])).last_hidden_state
        found = bundle.model.encode(torch.tensor([source]), torch.tensor([len(source)]))
    close(found, expected)


def test_masked_pieces(tmp_path: Path) -> None:
    model, bundle = make(BertForMaskedLM, tmp_path)
    theirs, (source, lengths) = both(bundle, ["the [MASK] sat", "how [MASK] you ?"])
    with torch.no_grad():
        expected = model(**theirs).logits
        start = bundle.model.start(source, lengths)
        found = bundle.model.step(torch.zeros_like(source), start)[0]
    tokenizer = bundle.tokenizers.source
    assert isinstance(tokenizer, AdaptedTokenizer)
    symbols = [NAMES.index(name) for name in ("[PAD]", "[UNK]", "[CLS]", "[SEP]")]
    order = symbols + [number for number in range(len(NAMES)) if number not in symbols]
    mask = theirs["attention_mask"].bool()[:, 1:]
    close(found[mask], expected[:, 1:, order][mask])


def test_real_weights(minilm_folder: Callable[[], Path]) -> None:
    folder = minilm_folder()
    bundle = bundle_from_hugging_face(folder)
    tokenizer, theirs = bundle.tokenizers.source, AutoTokenizer.from_pretrained(folder)
    assert isinstance(tokenizer, AdaptedTokenizer)
    for text in REAL:
        assert tokenizer.external.encode_framed(text) == theirs(text)["input_ids"]
    compare(BertModel.from_pretrained(folder).eval(), bundle, REAL)
