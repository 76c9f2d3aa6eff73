"""The page of the attention to a sound and to a picture, in a browser."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browsing import PHONE, Watched, in_a_browser
from inference.attention_maps.bundles import RATE, captioner, whisper
from openwork.inference.attention_maps.asking import AttentionFindings, AttentionQuestion, ask_attention
from openwork.inference.attention_maps.files import page as page_of

soundfile = pytest.importorskip("soundfile", reason="needs the extra audio")
pytest.importorskip("soxr", reason="needs the extra audio")
Image = pytest.importorskip("PIL.Image", reason="needs the extra vision")

pytestmark = in_a_browser
HOSTILE = "<img src=x onerror=alert(1)>.wav"


def heard(folder: Path) -> AttentionFindings:
    path = folder / HOSTILE
    soundfile.write(path, np.random.default_rng(1).uniform(-0.5, 0.5, 3290).astype(np.float32), RATE)
    return ask_attention(whisper(), str(path), AttentionQuestion())


def seen(folder: Path) -> AttentionFindings:
    path = folder / "one.png"
    Image.fromarray(np.random.default_rng(2).integers(0, 256, (8, 12), np.uint8)).save(path)
    return ask_attention(captioner(), str(path), AttentionQuestion())


def address(folder: Path, found: AttentionFindings, language: str = "en") -> str:
    (folder / "attention.html").write_text(page_of(found, ("", ""), language), encoding="utf-8")
    return f"{(folder / 'attention.html').as_uri()}#/attention?l={language}"


def test_a_strip_for_each_piece_along_the_time_of_the_sound(browser: Any, tmp_path: Path) -> None:
    found = heard(tmp_path)
    watched = Watched(browser, f"{address(tmp_path, found)}&y=1&h=0", ".along")
    page, weights = watched.page, found.sentence.of_kind("cross")[1].weights[0]
    assert page.locator(".strip").count() == len(weights) and page.locator(".strip[tabindex='0']").count() == 1
    page.focus(".strip[data-row='2']")
    page.keyboard.press("Enter")  # the time that the row attends to most
    best = int(weights[2, :21].argmax())
    page.wait_for_function(f"() => location.hash.includes('c=3,{best + 1}')")
    assert f"{weights[2, best]:.4f}" in page.inner_text(".panel .cell")
    page.keyboard.press("ArrowDown")
    page.wait_for_selector(".strip[data-row='3'][aria-pressed='true']")
    box = page.locator(".strip[data-row='3']").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 10.5 / 21, box["y"] + box["height"] / 2)
    page.wait_for_function("() => location.hash.includes('c=4,11')")
    assert f"{weights[3, 10]:.4f}" in page.inner_text(".panel .cell")
    assert page.evaluate(
        "[document.querySelector('.spectrogram canvas').width, document.querySelector('.strip canvas').width]"
    ) == [42, 21]
    assert HOSTILE in page.inner_text(".pair") and page.locator("img").count() == 0
    watched.end()


def test_over_the_picture_for_each_piece(browser: Any, tmp_path: Path) -> None:
    found = seen(tmp_path)
    watched = Watched(browser, f"{address(tmp_path, found)}&y=1&h=1", ".patches")
    page, weights = watched.page, found.sentence.of_kind("cross")[1].weights[1]
    assert page.locator(".over").count() == len(weights)
    shown = [
        float(one)
        for one in page.eval_on_selector_all(
            ".over >> nth=1 >> rect", "rects => rects.map((rect) => rect.getAttribute('fill-opacity'))"
        )
    ]
    np.testing.assert_allclose(shown, 0.75 * weights[1] / weights[1].max(), atol=1e-3)
    page.locator(".over button").nth(1).click(position={"x": 150, "y": 80})  # of 160 x 107 pixels: row 1, column 2
    page.wait_for_function("() => location.hash.includes('c=2,6')")
    page.select_option(".tools select >> nth=0", "encoder")
    page.wait_for_selector(".heat")
    watched.end()


def test_axe_finds_nothing_and_a_phone_shows_it_all(browser: Any, tmp_path: Path) -> None:
    for made, language, scheme in ((heard, "en", "light"), (seen, "zh", "dark"), (heard, "zh", "dark")):
        watched = Watched(
            browser, address(tmp_path, made(tmp_path), language), ".attention", viewport=PHONE, color_scheme=scheme
        )
        assert not watched.is_wider_than_a_phone
        assert watched.axe_findings() == ""
        watched.end()
