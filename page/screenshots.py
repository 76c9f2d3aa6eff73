"""Pictures of the page's screens for docs/images/page, in both languages and on a phone: 64 colours each.

    python page/screenshots.py BUNDLE RUNS "A sentence." [SECOND_LINE]
    python page/screenshots.py WHISPER SOUND

BUNDLE is a trained translator, RUNS a folder of trainings, WHISPER a bundle that writes the text of sounds. It needs
`make browser` and Pillow.
"""

import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from openwork.bundles.bundle import Bundle, load_bundle
from openwork.cost.model_map.family import map_page, preset_map
from openwork.inference.attention_maps.asking import AttentionQuestion, ask_attention
from openwork.inference.attention_maps.files import page as attention_page
from openwork.inference.explain import explain
from openwork.inference.searches.html import search_page
from openwork.inference.searches.recorded import record_search
from openwork.inspection.trace import Selection
from openwork.inspection.trace_page import trace_page
from openwork.runs.compared.comparison import runs_page
from openwork.runs.compared.found import read_runs
from openwork.study.documents import find_example
from openwork.study.page import step_page

OUT = Path(__file__).resolve().parents[1] / "docs" / "images" / "page"
LOOKS: dict[str, dict[str, Any]] = {
    "en": {"viewport": {"width": 1280, "height": 760}},
    "zh": {"viewport": {"width": 1280, "height": 760}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 760}},
}
COLOURS = 64
# What is in view of each screen, and what shows that it is there.
WITHIN = {
    "attention": ("attention?y=2", ".heat"),
    "step": ("step?s=encoder.weights&c=2,3", ".result .grid"),
    "trace": ("step?s=encoder.layers.0.self_attention.weights&c=2,2", ".grid"),
    "beam": ("beam?", ".beam-tree"),
    "map": ("map?b=decoder.cross_attention", ".figure"),
    "runs": ("runs?s=0.6&seeds=1", ".chart svg"),
}


@contextmanager
def served(bundle: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "openwork", "serve", str(bundle), "--port", "0", "--workers", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        found = re.search(r"http://[\d.:]+", server.stderr.readline())
        assert found, "the server did not start"
        try:
            yield found[0]
        finally:
            server.terminate()


def save(page: Any, name: str) -> None:
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(COLOURS)
    picture.save(OUT / f"{name}.png", optimize=True)


def translate(page: Any, address: str, text: str, language: str) -> None:
    page.goto(f"{address}/#/translate?l={language}")
    page.fill("#source", text)
    page.wait_for_selector(".output[aria-busy=false] button.word")
    page.locator("button.word").nth(3).click()
    page.wait_for_selector(".choice")


def written(bundle: Bundle, runs: Path, line: str, place: Path) -> Iterator[tuple[str, str]]:
    """The address of a file for each screen that needs no server."""
    asked = AttentionQuestion(why=True, flow=True)
    languages = (bundle.settings.source_language or "", bundle.settings.target_language or "")
    pages = {
        "map": map_page(preset_map("paper-base"), "en"),
        "step": step_page(find_example("002-8")(), "en"),
        "attention": attention_page(ask_attention(bundle, line, asked), languages, "en"),
        "beam": search_page(record_search(bundle, line).tree, "en"),
        "trace": trace_page(explain(bundle, line, Selection(layer=0)), "en"),
        "runs": runs_page(read_runs([runs]), "en"),
    }
    for name, page in pages.items():
        (place / f"{name}.html").write_text(page, encoding="utf-8")
        yield name, (place / f"{name}.html").as_uri()


def show_sound(bundle: str, sound: str) -> None:
    """The attention of a sound's text, which another bundle writes."""
    found = ask_attention(load_bundle(Path(bundle)), sound, AttentionQuestion())
    with tempfile.TemporaryDirectory() as place, sync_playwright() as started:
        file = Path(place) / "sound.html"
        file.write_text(attention_page(found, ("en", "en"), "en").replace(sound, Path(sound).name), encoding="utf-8")
        browser = started.chromium.launch(executable_path=which("chromium"), args=["--no-sandbox"])
        for look, options in LOOKS.items():
            page = browser.new_context(**options).new_page()
            page.goto(f"{file.as_uri()}#/attention?y=2&c=7,165&l={'en' if look == 'en' else 'zh'}")
            page.wait_for_selector(".along")
            if look == "phone":
                page.locator(".along").scroll_into_view_if_needed()
            save(page, f"sound-{look}")
        browser.close()


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    if len(sys.argv) == 3:
        show_sound(*sys.argv[1:])
        return
    bundle, runs, *lines = sys.argv[1:]
    with tempfile.TemporaryDirectory() as place, served(Path(bundle)) as address, sync_playwright() as started:
        loaded = load_bundle(Path(bundle))
        files = dict(written(loaded, Path(runs), lines[0], Path(place)))
        browser = started.chromium.launch(executable_path=which("chromium"), args=["--no-sandbox"])
        for look, options in LOOKS.items():
            language = "en" if look == "en" else "zh"
            page = browser.new_context(**options).new_page()
            translate(page, address, "\n".join(lines), language)
            save(page, f"translate-{look}")
            for name, (address_within, awaited) in WITHIN.items():
                page.goto(f"{files[name]}#/{address_within}&l={language}")
                page.wait_for_selector(awaited)
                save(page, f"{name}-{look}")
                if name == "attention":
                    page.locator(".why-pieces").scroll_into_view_if_needed()
                    save(page, f"why-{look}")
        browser.close()


if __name__ == "__main__":
    main()
