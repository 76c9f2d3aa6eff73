"""Pictures of the page's screens for docs/images/page, in both languages and on a phone: 64 colours each.

    python page/screenshots.py BUNDLE "A sentence." [SECOND_LINE]

BUNDLE is a trained translator. It needs `make browser` and Pillow.
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

from openwork.bundles.bundle import load_bundle
from openwork.cost.model_map.family import map_page, preset_map
from openwork.inference.attention_maps.capture import capture
from openwork.inference.attention_maps.deletion import reasons
from openwork.inference.attention_maps.files import page as attention_page
from openwork.study.documents import find_example
from openwork.study.page import step_page

OUT = Path(__file__).resolve().parents[1] / "docs" / "images" / "page"
LOOKS: dict[str, dict[str, Any]] = {
    "en": {"viewport": {"width": 1280, "height": 760}},
    "zh": {"viewport": {"width": 1280, "height": 760}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 760}},
}
COLOURS = 64


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


def main() -> None:
    bundle, *lines = sys.argv[1:]
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, served(Path(bundle)) as address, sync_playwright() as started:
        step, attention, model_map = (Path(place) / f"{name}.html" for name in ("step", "attention", "map"))
        model_map.write_text(map_page(preset_map("paper-base"), "en"), encoding="utf-8")
        step.write_text(step_page(find_example("002-8")(), "en"), encoding="utf-8")
        loaded = load_bundle(Path(bundle))
        found = capture(loaded, lines[0])
        written = attention_page(found, loaded.settings, "en", **reasons(loaded, found).to_json())
        attention.write_text(written, encoding="utf-8")
        browser = started.chromium.launch(executable_path=which("chromium"), args=["--no-sandbox"])
        for look, options in LOOKS.items():
            language = "en" if look == "en" else "zh"
            page = browser.new_context(**options).new_page()
            translate(page, address, "\n".join(lines), language)
            save(page, f"translate-{look}")
            page.goto(f"{attention.as_uri()}#/attention?l={language}&y=2")
            page.wait_for_selector(".heat")
            save(page, f"attention-{look}")
            page.locator(".why-pieces").scroll_into_view_if_needed()
            save(page, f"why-{look}")
            page.goto(f"{step.as_uri()}#/step?s=encoder.weights&c=2,3&l={language}")
            page.wait_for_selector(".result .grid")
            save(page, f"step-{look}")
            page.goto(f"{model_map.as_uri()}#/map?b=decoder.cross_attention&l={language}")
            page.wait_for_selector(".figure")
            save(page, f"map-{look}")
            page.goto(f"{model_map.as_uri()}#/map?m=gpt-small&l={language}")
            page.wait_for_selector(".figure .ghost")
            save(page, f"map-gpt-{look}")
        browser.close()


if __name__ == "__main__":
    main()
