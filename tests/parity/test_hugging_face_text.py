"""Text in, text out: Marian's folders as bundles, and bundles as folders that their library loads."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("transformers", reason="the extra parity is not installed: make parity")
pytest.importorskip("sentencepiece", reason="the extra spm is not installed")

import sentencepiece
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, MarianTokenizer

from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.bundles.settings import BundleSettings
from openwork.decoding.settings import DecodingSettings
from openwork.inference.translator import BatchTranslator
from openwork.interop.forms import bundle_from_hugging_face, write_hugging_face_folder
from openwork.models.build import build_model
from openwork.models.settings import TransformerSettings
from openwork.text.pair import train_pair
from openwork.text.settings import TextSettings
from parity.hugging_face import make

pytestmark = pytest.mark.slow  # what is held against needs seconds to load

SOURCES = ["the cat sees the dog", "a dog, a cat and the bird", "where is the small bird?", "it is here. the end"] * 4
TARGETS = [
    "die Katze sieht den Hund",
    "ein Hund, eine Katze und ein Vogel",
    "wo ist der kleine Vogel?",
    "hier ist es",
] * 4
TEXTS = ["the cat", "a  bird sees the dog ", "", ">>deu<< where is it?", "日 cat", "the end. the end. the end"]


def spm(lines: Sequence[str], path: Path) -> list[str]:
    """Learns a SentencePiece model; its pieces."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix=str(path.with_suffix("")), vocab_size=48, hard_vocab_limit=False,
        minloglevel=2,
    )  # fmt: skip
    path.with_suffix(".model").rename(path)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [processor.id_to_piece(number) for number in range(processor.vocab_size())]


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the published models have it, with few and random weights."""
    folder = tmp_path_factory.mktemp("marian")
    pieces = {*spm(SOURCES, folder / "source.spm"), *spm(TARGETS, folder / "target.spm")}
    names = ["</s>", "<unk>", *sorted(pieces - {"</s>", "<unk>", "<s>"}), ">>deu<<", "<pad>"]
    vocabulary = {name: number for number, name in enumerate(names)}
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    pad = vocabulary["<pad>"]
    model = make(
        "marian", vocab_size=len(names), pad_token_id=pad, decoder_start_token_id=pad, eos_token_id=0,
        unk_token_id=None, scale_embedding=True, activation_function="swish",
    )  # fmt: skip
    model.final_logits_bias[0, 0] = 1.0
    model.generation_config.update(
        num_beams=3, max_length=16, suppress_tokens=[vocabulary["<unk>"], pad], renormalize_logits=True
    )
    model.save_pretrained(folder)
    MarianTokenizer(str(folder / "source.spm"), str(folder / "target.spm"), str(folder / "vocab.json")).save_pretrained(
        folder
    )
    return folder


def their_translations(folder: Path, texts: Sequence[str]) -> list[str]:
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    batch: Any = tokenizer(list(texts), return_tensors="pt", padding=True)
    out = model.generate(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
    return tokenizer.batch_decode(out, skip_special_tokens=True)


def our_translations(bundle: Bundle, texts: Sequence[str]) -> list[str]:
    return [best.text for (best,) in BatchTranslator.of(bundle).translate(texts)]


def test_marians_pieces_have_marians_ids(marian: Path) -> None:
    theirs, ours = AutoTokenizer.from_pretrained(marian), bundle_from_hugging_face(marian).tokenizers
    for side, lines in ((ours.source, TEXTS + SOURCES), (ours.target, TARGETS)):
        foreign: Any = side.external  # type: ignore[attr-defined]
        for line in lines:
            said = {"text_target": line} if side is ours.target else {"text": line}
            assert foreign.encode_framed(line) == theirs(**said)["input_ids"]
    for line in TARGETS:
        assert ours.target.decode(ours.target.encode(line)) == line


def test_a_marian_folder_is_a_bundle(marian: Path, tmp_path: Path) -> None:
    bundle = bundle_from_hugging_face(marian)
    texts = [text for text in TEXTS if text]  # of nothing, ours makes nothing
    expected = their_translations(marian, texts)
    assert len(set(expected)) > 2
    assert our_translations(bundle, texts) == expected
    write_bundle(tmp_path / "bundle", bundle)
    assert our_translations(load_bundle(tmp_path / "bundle"), texts) == expected


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_bundle_is_a_folder_that_translates_alike(norm: str, shared: bool, tmp_path: Path) -> None:
    if norm == "pre" and not shared:
        pytest.skip("their pre-norm model has one vocabulary")
    tokenizers = train_pair(SOURCES, TARGETS, TextSettings(vocabulary_size=320, shared=shared))
    settings = TransformerSettings.model_validate(
        {
            "width": 16, "heads": 2, "feedforward_width": 24, "encoder_layers": 1, "decoder_layers": 2, "norm": norm,
            "tying": "three-way" if shared else "target", "output_bias": True,
        }
    )  # fmt: skip
    torch.manual_seed(3)
    model = build_model(settings, tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size).eval()
    for tensor in model.parameters():
        tensor.data += torch.randn(tensor.shape) * 0.2
    model.output_bias.data[4:260] = -30.0  # bytes at random are no text, and each library mends them in its own way
    search = DecodingSettings(
        beam=3, length_penalty=1.0, length_rule="power", unfinished="ranked", maximum_length=9, extra_length=9
    )
    bundle = Bundle(BundleSettings(model=settings, decoding=search), tokenizers, model)
    write_hugging_face_folder(tmp_path / "there", bundle)
    texts = [text for text in TEXTS if text]
    ids = AutoTokenizer.from_pretrained(tmp_path / "there" / ("" if shared else "source"))
    for text in texts:
        assert ids(text)["input_ids"] == [*tokenizers.source.encode(text), 3]
    if shared:
        expected = their_translations(tmp_path / "there", texts)
        assert our_translations(bundle, texts) == [" ".join(text.splitlines()) for text in expected]
    back = bundle_from_hugging_face(tmp_path / "there")
    assert back.tokenizers.fingerprint == tokenizers.fingerprint
    assert our_translations(replace(back, settings=bundle.settings), texts) == our_translations(bundle, texts)
