"""The README's server: up, asked by the command that it shows, down."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from journeys.pages import Command, shell_blocks
from serving.running import SLOW, of_a_server, running

if TYPE_CHECKING:
    from openwork.bundles.bundle import Bundle

pytest.importorskip("python_multipart", reason="needs the extra serve")
pytestmark = of_a_server


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md"])
def test_the_commands_of_the_readme(page: str, tiny_bundle: "Bundle", tmp_path: Path) -> None:
    """At a free port in place of 5000."""
    import openwork
    from openwork.bundles.bundle import write_bundle

    (block,) = (block for block in shell_blocks(page) if block.reason and "test_readme" in block.reason)
    serve, translate = (Command.of(line) for line in block.lines)
    assert (serve.words, translate.source) == (["serve", "en-de", "--open"], "test.en")  # without it, here
    write_bundle(tmp_path / "en-de", tiny_bundle)
    lines = ["a b c", "", "d e"]
    (tmp_path / "test.en").write_text("".join(f"{line}\n" for line in lines))
    with running(tmp_path / serve.words[1]) as server:
        words = [word.replace("5000", str(server.port)) for word in translate.words]
        with (tmp_path / translate.source).open() as stdin:
            done = subprocess.run(
                [sys.executable, "-m", "openwork", *words], stdin=stdin, capture_output=True, timeout=SLOW, check=False,
                env=os.environ | {"OPENWORK_LANG": "en"},
            )  # fmt: skip
        assert done.returncode == 0, done.stderr
        translator = openwork.load(tmp_path / "en-de")
        assert done.stdout.decode().splitlines() == [translator.translate(line).text for line in lines]
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(SLOW) == 0
