"""Each figure of the page as SVG, PNG and CSV: they are what their endings say, have a title, and hold its numbers."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest

from browsing import Watched, in_a_browser

if TYPE_CHECKING:
    from openwork.bundles.bundle import Bundle

pytestmark = in_a_browser
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<img src=x>"


def step(bundle: "Bundle", folder: Path) -> str:
    from openwork.study.documents import find_example
    from openwork.study.page import step_page

    return step_page(find_example("002-8")(), "en")


def trace(bundle: "Bundle", folder: Path) -> str:
    from openwork.inference.explain import explain
    from openwork.inspection.trace import Selection
    from openwork.inspection.trace_page import trace_page

    return trace_page(explain(bundle, "a b c", Selection(layer=0)), "en")


def search(bundle: "Bundle", folder: Path) -> str:
    from openwork.inference.searches.html import search_page
    from openwork.inference.searches.recorded import record_search

    return search_page(record_search(bundle, "a b c").tree, "en")


def model_map(bundle: "Bundle", folder: Path) -> str:
    from openwork.cost.model_map.family import map_page, preset_map

    return map_page(preset_map("paper-base"), "en")


def sound(bundle: "Bundle", folder: Path) -> str:
    soundfile = pytest.importorskip("soundfile", reason="needs the extra audio")
    pytest.importorskip("soxr", reason="needs the extra audio")
    from inference.attention_maps.bundles import RATE, whisper

    path = folder / f"{HOSTILE}.wav"
    soundfile.write(path, np.random.default_rng(1).uniform(-0.5, 0.5, 3290).astype(np.float32), RATE)
    return attention_to(whisper(), path)


def picture(bundle: "Bundle", folder: Path) -> str:
    image = pytest.importorskip("PIL.Image", reason="needs the extra vision")
    from inference.attention_maps.bundles import captioner

    path = folder / "one.png"
    image.fromarray(np.random.default_rng(2).integers(0, 256, (8, 12), np.uint8)).save(path)
    return attention_to(captioner(), path)


def attention_to(bundle: "Bundle", path: Path) -> str:
    from openwork.inference.attention_maps.asking import AttentionQuestion, ask_attention
    from openwork.inference.attention_maps.files import page

    return page(ask_attention(bundle, str(path), AttentionQuestion()), ("", ""), "en")


# The page, where in it, texts that its drawing has, and pictures within that.
FIGURES: dict[str, tuple[Callable[["Bundle", Path], str], str, tuple[str, ...], bool]] = {
    "step": (step, "step?s=encoder.weights", ("爱", "0."), False),
    "trace": (
        trace,
        "step?s=encoder.layers.0.self_attention.weights",
        ("encoder.layers.0.self_attention.weights",),
        False,
    ),
    "search": (search, "beam?", ("<s>",), False),
    "map": (model_map, "map?", ("Softmax", "6×"), False),
    "sound": (sound, "attention?", ("0.42 s", "<s>"), True),
    "picture": (picture, "attention?", (), True),
}


@pytest.mark.parametrize("name", FIGURES)
def test_each_figure_is_saved(name: str, browser: Any, tiny_bundle: "Bundle", tmp_path: Path) -> None:
    make, place, texts, has_pictures = FIGURES[name]
    file = tmp_path / "page.html"
    file.write_text(make(tiny_bundle, tmp_path), encoding="utf-8")
    watched = Watched(browser, f"{file.as_uri()}#/{place}&l=en", "[data-save=svg]")
    saved = {}
    for kind in ("svg", "png", "csv"):
        with watched.page.expect_download() as waiting:
            watched.page.click(f"[data-save={kind}]")
        waiting.value.save_as(tmp_path / f"saved.{kind}")
        saved[kind] = (tmp_path / f"saved.{kind}").read_bytes()
    watched.end()
    assert saved["png"].startswith(b"\x89PNG") and len(saved["png"]) > 2000
    root = ElementTree.fromstring(saved["svg"])
    assert root.find(f"{SVG}title") is not None and float(root.get("width", "")) > 100
    drawn = [text.text or "" for text in root.iter(f"{SVG}text")]
    assert all(any(text in one for one in drawn) for text in texts), drawn
    assert any(True for _ in root.iter(f"{SVG}image")) == has_pictures
    rows = list(csv.reader(io.StringIO(saved["csv"].decode("utf-8-sig"))))
    assert len(rows) > 2 and len({len(row) for row in rows}) == 1
    assert any(_is_number(cell) for cell in rows[-1])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
