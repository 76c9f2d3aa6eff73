"""examples/onnx: the library's tokens in JavaScript, and the bundle's translations without torch and in a page."""

import json
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from interop.small_bundles import small_bundle
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.decoding.search import decode
from openwork.interop.onnx.running import padded
from openwork.interop.onnx.writing import write_onnx

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples" / "onnx"
RUNTIME = EXAMPLES / "node_modules" / "onnxruntime-web"
LINES = ["a b c", "", "d e f g h", "j i", "c b a"]
NODE = """
import { Tokenizer } from "TOKENIZER";
import { readFileSync } from "node:fs";
const [file, texts] = process.argv.slice(2).map((path) => JSON.parse(readFileSync(path)));
const tokenizer = new Tokenizer(file);
const done = texts.map((text) => tokenizer.encode(text)).map((ids) => [ids, tokenizer.decode(ids.slice(0, -1))]);
process.stdout.write(JSON.stringify(done));
"""
BLOCKS = ((32, 0x250), (0x300, 0x370), (0x2000, 0x2100), (0x3000, 0x3200), (0x4E00, 0x9FFF), (0x1F300, 0x1F600))


def tiny() -> Bundle:
    """One layer on each side: each takes seconds to export, and the examples see tokens and names of tensors alone."""
    return small_bundle(encoder_layers=1, decoder_layers=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle, and its graph beside it."""
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    folder = tmp_path_factory.mktemp("onnx")
    bundle = tiny()
    write_bundle(folder / "bundle", bundle)
    write_onnx(folder / "graph", bundle)
    return folder


def texts() -> list[str]:
    """With spaces, scripts and characters that no vocabulary has."""
    draw = random.Random(1)
    odd = [
        "",
        " ",
        "  a  b ",
        "汉字 カタカナー中文 混ぜ",
        "🙂👍🏽 <s> </s> <0x41>",
        "½ Ⅷ",
        "\x85\ufeff\u200bx",
        "a\u0301",
        "\t\n",
    ]
    return odd + [
        "".join(chr(draw.randrange(*draw.choice(BLOCKS))) for _ in range(draw.randrange(40))) for _ in range(300)
    ]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_the_tokenizer_in_javascript_is_the_librarys(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "run.mjs").write_text(NODE.replace("TOKENIZER", (EXAMPLES / "tokenizer.mjs").as_uri()))
    (tmp_path / "texts.json").write_text(json.dumps(texts()))
    file = folder / "graph" / "tokenizer.json"
    command = ["node", tmp_path / "run.mjs", file, tmp_path / "texts.json"]
    found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    library = Tokenizer.from_file(str(file))
    for text, (ids, again) in zip(texts(), found, strict=True):
        expected = library.encode(text).ids
        assert (ids, again) == (expected, library.decode(expected[:-1])), repr(text)


@pytest.fixture(scope="module")
def translations(folder: Path) -> list[str]:
    """What the bundle's search finds, as the library has it: bytes that are no UTF-8 are otherwise in openwork."""
    bundle, library = tiny(), Tokenizer.from_file(str(folder / "graph" / "tokenizer.json"))
    sources = [library.encode(line).ids for line in LINES if line]
    found = iter(decode(bundle.model, *padded(sources), bundle.settings.decoding))
    return [library.decode(list(next(found)[0].tokens)) if line else "" for line in LINES]


def test_without_torch(folder: Path, translations: list[str]) -> None:
    blocked = "sys.modules.update(torch=None, openwork=None); runpy.run_path(sys.argv.pop(1), run_name='__main__')"
    command = [sys.executable, "-c", f"import runpy, sys; {blocked}", EXAMPLES / "translate.py", folder / "graph"]
    done = subprocess.run(command, input="\n".join(LINES), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.removesuffix("\n").split("\n") == translations


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The page on a server of its own, with the runtime and the folder's graph beside it."""
    for name in ("index.html", "tokenizer.mjs"):
        shutil.copy(EXAMPLES / name, folder)
    if not (folder / "node_modules").exists():
        (folder / "node_modules").symlink_to(RUNTIME.parent)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/index.html"
    server.shutdown()
    server.server_close()


@pytest.mark.skipif(
    not RUNTIME.is_dir(), reason="needs the page's runtime: npm install onnxruntime-web in examples/onnx"
)
def test_in_a_page(folder: Path, translations: list[str]) -> None:
    browsing = pytest.importorskip("browsing", reason="needs the package playwright")
    if browsing.CHROMIUM is None:
        pytest.skip("needs Debian's package chromium")
    with served(folder) as address, browsing.opened_browser() as browser:
        watched = browsing.Watched(browser, address, "#source:enabled", offline=False)
        watched.page.fill("#source", "\n".join(LINES))
        watched.page.click("#translate")
        watched.page.wait_for_function("document.getElementById('state').textContent.endsWith('ms')")
        assert watched.page.locator("#target").text_content().split("\n") == translations
        assert watched.errors == [] and watched.axe_findings() == ""
