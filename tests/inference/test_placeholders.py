"""Placeholders through a translator: whatever the model says, those of the source come back exactly, each once."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.bundles.settings import BundleSettings
from openwork.decoding.scoring import Hypothesis
from openwork.evaluation.evaluate import Evaluation, kept_placeholders
from openwork.inference import translator as module
from openwork.inference.translation import Translation
from openwork.inference.translator import BatchTranslator
from openwork.models.build import build_model
from openwork.models.settings import TransformerSettings
from openwork.text.pair import train_pair
from openwork.text.placeholders import find_placeholders
from openwork.text.settings import TextSettings

SENTENCES = ["put %s into the <b>box</b> {0}", "the box is open", "%s %s"]
MODEL = TransformerSettings(width=16, heads=2, encoder_layers=1, decoder_layers=1, feedforward_width=16, norm="pre")
Says = Callable[[list[Sequence[int]]], None]


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    tokenizers = train_pair(SENTENCES * 20, SENTENCES * 20, TextSettings(vocabulary_size=400, placeholders=5))
    size = tokenizers.source.vocabulary_size
    return Bundle(BundleSettings(model=MODEL), tokenizers, build_model(MODEL, size, size).eval())


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> Says:
    """`says([...])`: the search will find these targets, one for each source of the batch."""

    def prepare(targets: list[Sequence[int]]) -> None:
        def search(*_: Any, **__: Any) -> list[list[Hypothesis]]:
            return [[Hypothesis(tuple(target), -1.0, -1.0, True)] for target in targets]

        monkeypatch.setattr(module, "decode", search)

    return prepare


def translated(translator: BatchTranslator, text: str) -> Translation:
    return translator.translate([text])[0][0]


def test_the_source_s_own_placeholders_come_back_wherever_the_model_puts_them(bundle: Bundle, says: Says) -> None:
    says([bundle.tokenizers.encode_target("into {9} the &lt; put %s", ("%s", "&lt;", "{8}", "{9}"))])
    result = translated(BatchTranslator.of(bundle), "put %(path)s into the <i>box</i> {0}")
    assert result.text == "into {0} the <i> put %(path)s"
    assert result.missing == ("</i>",)


def test_a_number_said_twice_or_never_given_leaves_no_trace(bundle: Bundle, says: Says) -> None:
    number = bundle.tokenizers.target.placeholder_id
    word = bundle.tokenizers.target.encode("box")
    says([[number(1), *word, number(1), number(4), *word, number(2)]])
    result = translated(BatchTranslator.of(bundle), "%s and %d")
    assert (result.text, result.missing) == ("%sboxbox%d", ())


def test_more_placeholders_than_pieces_are_text(bundle: Bundle, says: Says) -> None:
    text = "{0} {1} {2} {3} {4} {5}"
    says([bundle.tokenizers.encode_sources([text])[0][0]])
    result = translated(BatchTranslator.of(bundle), text)
    assert (result.text, result.missing) == (text, ())


@given(text=st.lists(st.sampled_from([*SENTENCES, " ", "<x id='1'/>", "&amp;"])).map("".join))
def test_what_a_model_copies_is_the_source(bundle: Bundle, text: str) -> None:
    ((ids, spans),) = bundle.tokenizers.encode_sources([text])
    assert bundle.tokenizers.decode_target(ids, spans).text == text
    assert kept_placeholders([text], [text]).value == 1 or not find_placeholders(text)


def test_a_bundle_keeps_its_placeholders(bundle: Bundle, says: Says, tmp_path: Any) -> None:
    write_bundle(tmp_path / "bundle", bundle)
    loaded = load_bundle(tmp_path / "bundle")
    assert loaded.tokenizers.placeholders == 5
    says([loaded.tokenizers.encode_target("the box %s", ("%s",))])
    assert translated(BatchTranslator.of(loaded), "%i box").text == "the box %i"


def test_the_evaluation_says_how_many_keep_all() -> None:
    kept = kept_placeholders(["%s a", "<b>c</b>", "d"], ["A %s", "<b>C", "%s"])
    evaluation = Evaluation(3, (), 0.0)
    assert "placeholders" not in evaluation.to_json()
    assert len(evaluation.lines()) == 1
    evaluation = replace(evaluation, placeholders=kept)
    assert evaluation.to_json()["placeholders"] == {"kept": 0.5, "sentences": 2}
    assert evaluation.lines()[-1] == "kept      50.00 % of 2 sentences with placeholders or tags"
