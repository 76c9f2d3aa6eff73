"""A translator that looks at what it says, and looks again where that is flagged."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from openwork.bundles.bundle import Bundle, BundleSettings
from openwork.inference.guard import EMPTY, LOOP, LOST, GuardedTranslator, flagged, flags, usual_texts
from openwork.inference.requests import Request
from openwork.inference.translation import Translation
from openwork.inference.translator import BatchTranslator
from openwork.models.build import build_model
from openwork.models.settings import TransformerSettings
from openwork.text.pair import train_pair
from openwork.text.settings import TextSettings

TEXTS = ["a b c", "", "d e f g", "h"]


@pytest.mark.slow
def test_what_is_not_flagged_stays_as_it_is(tiny_bundle: Bundle, monkeypatch: Any) -> None:
    translator = BatchTranslator.of(tiny_bundle)
    plain = translator.translate(TEXTS)
    monkeypatch.setattr("openwork.inference.guard.flags", lambda source, translation, usual: ())
    assert GuardedTranslator(translator).translate(TEXTS) == plain


@pytest.mark.slow
def test_flags_are_of_what_was_said(tiny_bundle: Bundle) -> None:
    translator = BatchTranslator.of(tiny_bundle)
    guarded = GuardedTranslator(translator)
    guarded.careful = translator  # says the same again, so nothing is better
    for text, (found, *_), (plain, *_) in zip(
        TEXTS, guarded.translate(TEXTS), translator.translate(TEXTS), strict=True
    ):
        assert found.text == plain.text
        assert found.flags == (flags(text, plain) if text else ())
    assert guarded.translate([]) == []


class Says:
    """A translator that says what it was told to."""

    def __init__(self, text: str) -> None:
        self.text, self.asked = text, []

    def translate(self, texts: Sequence[str], requests: Sequence[Any] | None = None) -> list[list[Translation]]:
        self.asked += texts
        return [[Translation(self.text, -0.5, -1.0, pieces=(5, 6, 7, 8, 9), source_pieces=5)] for _ in texts]


def test_the_careful_way_is_taken_where_it_is_better(tiny_bundle: Bundle) -> None:
    guarded = GuardedTranslator(BatchTranslator.of(tiny_bundle))
    assert guarded.careful.decoding.no_repeat == 3 and guarded.careful.decoding.beam == 5
    guarded.translator = first = Says("w w w w w")  # type: ignore[assignment]
    guarded.careful = second = Says("a good one")  # type: ignore[assignment]
    ((found,),) = guarded.translate(["a b c d"])
    assert found.text == "a good one" and found.flags == () and first.asked == second.asked == ["a b c d"]
    guarded.careful = Says("v v v v v")  # type: ignore[assignment]
    ((found,),) = guarded.translate(["a b c d"])
    assert found.text == "w w w w w" and found.flags == (LOOP,)


def test_lost_placeholders_are_required_of_the_careful_way(tiny_bundle: Bundle) -> None:
    guarded = GuardedTranslator(BatchTranslator.of(tiny_bundle))
    guarded.translator = Says("a b c d e")  # type: ignore[assignment]
    asked: list[Request] = []

    class Careful(Says):
        def translate(self, texts: Sequence[str], requests: Sequence[Any] | None = None) -> list[list[Translation]]:
            asked.extend(requests or ())
            return super().translate(texts, requests)

    guarded.careful = Careful("a {price} b <b> c")  # type: ignore[assignment]
    ((found,),) = guarded.translate(["a {price} b <b> d"], [Request(required=("d",), forbidden=("x",))])
    assert asked == [Request(required=("d", "{price}", "<b>"), forbidden=("x",))]
    assert found.text == "a {price} b <b> c" and found.flags == ()
    guarded.careful = Says("{price} c c c c <b>")  # type: ignore[assignment]
    ((found,),) = guarded.translate(["a {price} b <b> d"])
    assert found.flags == (LOOP,)  # as many flags, but nothing is lost
    guarded.careful = Says("")  # type: ignore[assignment]
    guarded.careful.translate = lambda texts, requests: [[Translation("", problem="cannot be")]]  # type: ignore[method-assign]
    ((found,),) = guarded.translate(["a {price} b <b> d"])
    assert found.text == "a b c d e" and found.flags == (LOST,)


def test_a_doubtful_translation_is_better_than_an_empty_one(tiny_bundle: Bundle) -> None:
    guarded = GuardedTranslator(BatchTranslator.of(tiny_bundle))
    guarded.translator = Says(" ")  # type: ignore[assignment]
    guarded.careful = Says("{price} c c c c")  # type: ignore[assignment]
    ((found,),) = guarded.translate(["a {price} b"])
    assert found.text == "{price} c c c c" and found.flags == (LOOP,)
    guarded.careful = Says("c c c c")  # type: ignore[assignment]
    ((found,),) = guarded.translate(["a {price} b"])
    assert found.flags == (LOOP, LOST)
    guarded.careful = Says("  ")  # type: ignore[assignment]
    ((found,),) = guarded.translate(["a {price} b"])
    assert found.flags == (EMPTY,)
    guarded.translator = Says("c c c c")  # type: ignore[assignment]
    ((found,),) = guarded.translate(["a {price} b"])
    assert found.flags == (LOOP, LOST)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *[pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2)]])
@pytest.mark.parametrize("placeholders", [0, 10])
def test_an_address_comes_through_whether_or_not_the_model_knows_placeholders(placeholders: int, seed: int) -> None:
    """Of a model that has learnt nothing, and with pieces for placeholders that no training text had."""
    text = TextSettings(vocabulary_size=400, placeholders=placeholders)
    tokenizers = train_pair(["see the page"] * 20, ["siehe die seite"] * 20, text)
    settings = TransformerSettings(
        width=16, heads=2, feedforward_width=16, encoder_layers=1, decoder_layers=1, norm="pre"
    )
    size = tokenizers.source.vocabulary_size
    torch.manual_seed(seed)
    bundle = Bundle(BundleSettings(model=settings), tokenizers, build_model(settings, size, size).eval())
    source = "see https://example.org/a now {price}"
    ((plain, *_),) = BatchTranslator.of(bundle).translate([source])
    ((found, *_),) = GuardedTranslator(BatchTranslator.of(bundle)).translate([source])
    assert {LOST, EMPTY} & set(flagged(source, [plain])[0].flags)
    assert "https://example.org/a" in found.text and "{price}" in found.text and LOST not in found.flags


def test_what_a_bundle_is_used_to_is_counted_in_its_golden_examples(tiny_bundle: Bundle) -> None:
    usual = usual_texts(tiny_bundle)
    pieces = sum(len(tiny_bundle.tokenizers.source.encode(golden.source)) for golden in tiny_bundle.golden)
    visible = sum(len(golden.source.replace(" ", "")) for golden in tiny_bundle.golden)
    assert tiny_bundle.golden and usual.characters_a_piece == visible / pieces
    assert usual_texts(replace(tiny_bundle, golden=())).characters_a_piece == 0.0


@pytest.mark.slow
def test_from_the_command_line(call: Any, bundle_folder: Any) -> None:
    told = call("translate", "--bundle", bundle_folder, "--guard", "--json", stdin=b"a b c\n\nd\n")
    assert told.code == 0
    lines = [json.loads(line) for line in told.lines]
    assert len(lines) == 3
    flagged = [number for number, line in enumerate(lines, start=1) if line["translations"][0].get("flags")]
    assert [f"line {number}: not to be trusted" in told.err for number in range(1, 4)] == [
        number in flagged for number in range(1, 4)
    ]
    assert call("translate", "--bundle", bundle_folder, "--guard", "--alternatives", "0", stdin=b"a\n").code == 2
    assert call("translate", "--bundle", bundle_folder, "--guard", "--stream", stdin=b"a\n").code == 2
