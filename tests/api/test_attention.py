"""Translator.attention: the weights as arrays, as text, as a picture and as JSON."""

from pathlib import Path

import numpy as np
import pytest

import openwork
from openwork.bundles.bundle import Bundle
from openwork.inference.attention_maps.capture import capture

TEXT, TRANSLATION = "a b 我", "c d"


@pytest.fixture
def translator(bundle_folder: Path) -> openwork.Translator:
    loaded = openwork.load(bundle_folder)
    assert isinstance(loaded, openwork.Translator)
    return loaded


def test_a_given_translation(translator: openwork.Translator, tiny_bundle: Bundle) -> None:
    report, found = translator.attention(TEXT, TRANSLATION), capture(tiny_bundle, TEXT, TRANSLATION)
    assert isinstance(report, openwork.AttentionReport) and report.translation == TRANSLATION
    for one, other in zip(report.maps, found.maps, strict=True):
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-6)
    assert report.to_json()["sourcePieces"] == found.to_json()["sourcePieces"]
    assert repr(report) == f"AttentionReport({TEXT!r} → {TRANSLATION!r}, 3 maps)"


def test_the_models_own_translation(translator: openwork.Translator) -> None:
    assert translator.attention(TEXT).translation == translator.translate(TEXT).text


def test_text_and_page(translator: openwork.Translator) -> None:
    report = translator.attention(TEXT, TRANSLATION)
    assert report._repr_html_().startswith("<iframe srcdoc=")
    assert "alignment of words" in str(report) and "⟨E6⟩" in str(report)


def test_what_is_refused(translator: openwork.Translator) -> None:
    for text, translation in ((" ", None), (" ", "a")):
        with pytest.raises(openwork.UsageError):
            translator.attention(text, translation)
    with pytest.raises(openwork.OpenworkError, match="too long"):
        translator.attention("a " * 600)
