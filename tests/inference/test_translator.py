"""Texts in, texts out: every text keeps its place, alone or in company."""

import pytest
import torch

from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.bundles.settings import BundleSettings
from openwork.decoding.settings import DecodingSettings
from openwork.inference.batches import LONGEST
from openwork.inference.golden import make_golden, replay_golden
from openwork.inference.translator import BatchTranslator
from openwork.models.build import build_transformer
from openwork.models.settings import TransformerSettings
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.bytepair import BytePair

CORPUS = ["the cat sees the dog", "a dog sees a cat", "the dog runs", "a cat sleeps"]
SETTINGS = TransformerSettings(width=16, heads=2, encoder_layers=1, decoder_layers=1, feedforward_width=16, norm="pre")
DECODING = DecodingSettings(beam=2, extra_length=5, maximum_length=12)


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    torch.manual_seed(3)
    tokenizer = BytePair.learn(CORPUS * 20, 330)
    model = build_transformer(SETTINGS, tokenizer.vocabulary_size, tokenizer.vocabulary_size).eval()
    settings = BundleSettings(model=SETTINGS, decoding=DECODING, source_language="en", target_language="en")
    return make_golden(Bundle(settings, TokenizerPair(tokenizer, tokenizer), model, card="a card"), CORPUS[:2])


@pytest.mark.slow
def test_a_text_has_the_same_translation_alone_and_in_company(bundle):
    translator = BatchTranslator.of(bundle)
    together = translator.best(CORPUS)
    assert together == [translator.best([text])[0] for text in CORPUS]
    assert translator.best(CORPUS[::-1]) == together[::-1]


def test_pieces_of_the_source_are_counted_with_its_end(bundle):
    found = BatchTranslator.of(bundle).translate(CORPUS[:2])
    ids = bundle.tokenizers.source.encode_batch(CORPUS[:2])
    assert [best.source_pieces for best, *_ in found] == [len(row) + 1 for row in ids]


def test_blank_texts_stay_as_they_are(bundle):
    blanks = ["", "   ", "\t", "\u3000"]
    assert BatchTranslator.of(bundle).best([CORPUS[0], *blanks])[1:] == blanks


@pytest.mark.slow
def test_a_source_that_is_too_long_is_cut_and_flagged_and_costs_the_others_nothing(bundle):
    long = "the cat " * (2 * LONGEST)
    alone = BatchTranslator.of(bundle).best([CORPUS[0]])
    (before,), (cut,), (after,) = (
        found[:1] for found in BatchTranslator.of(bundle).translate([CORPUS[0], long, CORPUS[1]])
    )
    assert cut.cut and not before.cut and not after.cut
    assert [before.text] == alone


def test_n_best_are_sorted_and_distinct(bundle):
    decoding = DECODING.model_copy(update={"best": 2})
    for found in BatchTranslator.of(bundle, decoding).translate(CORPUS):
        assert [t.score for t in found] == sorted((t.score for t in found), reverse=True)


@pytest.mark.slow
def test_a_bundle_that_was_written_and_loaded_says_the_same(bundle, tmp_path):
    write_bundle(tmp_path / "bundle", bundle)
    loaded = load_bundle(tmp_path)  # a run's folder will do
    assert loaded.settings == bundle.settings
    assert loaded.card == "a card"
    assert loaded.golden == bundle.golden
    assert replay_golden(loaded) == []
    assert BatchTranslator.of(loaded).best(CORPUS) == BatchTranslator.of(bundle).best(CORPUS)


@pytest.mark.slow
def test_golden_examples_notice_a_changed_weight(bundle, tmp_path):
    write_bundle(tmp_path / "bundle", bundle)
    loaded = load_bundle(tmp_path)
    with torch.no_grad():
        next(loaded.model.parameters()).mul_(1.5)
    assert len(replay_golden(loaded)) == len(bundle.golden)


def test_loading_draws_no_random_number(bundle, tmp_path):
    write_bundle(tmp_path / "bundle", bundle)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    load_bundle(tmp_path)
    assert torch.equal(torch.rand(3), expected)


def test_a_source_that_is_too_long_loses_its_end(bundle, monkeypatch):
    monkeypatch.setattr("openwork.inference.batches.IdBatches.longest", 4)
    translator = BatchTranslator.of(bundle)
    pieces = translator.tokenizers.source.encode(CORPUS[0])
    source = translator._sources(CORPUS[:1], None)[0]
    assert not isinstance(source, str)
    assert source.cut and len(pieces) > 3 and source.ids == pieces[:3]  # and the end symbol
    translator.continues = True  # a prompt is continued from its end
    prompt = translator._sources(CORPUS[:1], None)[0]
    assert not isinstance(prompt, str) and prompt.ids == pieces[-3:]
