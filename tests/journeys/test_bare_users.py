"""Users with little: without a home and a name, with a home that they may not search, and with little memory."""

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from journeys.command import COMMAND, PATIENCE, Finished, openwork, run_file

pytestmark = pytest.mark.slow

USER = 54_321  # has no entry in /etc/passwd, as in a container
HIDDEN = ("HOME", "USER", "LOGNAME", "XDG_CACHE_HOME", "OPENWORK_DATA")
MEGABYTE = 1 << 20


@pytest.fixture(params=["no home", "closed home"])
def as_nobody(request: pytest.FixtureRequest) -> Iterator[tuple[Callable[..., Finished], Path]]:
    """Runs openwork as that user, whose only folder is the one given."""
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can become another user, by setpriv")
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    environment = {key: value for key, value in os.environ.items() if key not in HIDDEN}
    if request.param == "closed home":
        (folder / "home").mkdir(mode=0o700)
        environment["HOME"] = str(folder / "home")

    def run(*arguments: str | Path, stdin: bytes = b"") -> Finished:
        become = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
        command = [*become, *COMMAND, *map(str, arguments)]
        done = subprocess.run(
            command, input=stdin, capture_output=True, timeout=PATIENCE, check=False, env=environment, cwd=folder
        )
        return Finished(done.returncode, done.stdout, done.stderr.decode())

    try:
        if run("--version").code != 0:
            pytest.skip("that user may not read this interpreter")
        yield run, folder
    finally:
        shutil.rmtree(folder)


def test_all_works_without_a_cache(as_nobody: tuple[Callable[..., Finished], Path]):
    run, folder = as_nobody
    listed = run("data", "list")
    assert listed.code == 0 and b"multi30k-en-de" in listed.out
    trained = run("train", run_file(folder), "--out", folder / "run")
    assert trained.code == 0, trained.err
    precision = "int8" if torch.cpu._is_vnni_supported() else "float32"  # the products of int8 need a compiler's cache
    translated = run("translate", "--bundle", folder / "run", "--precision", precision, stdin=b"a b\n")
    assert translated.code == 0 and len(translated.lines) == 1, translated.err


def test_what_must_be_fetched_has_no_place(as_nobody: tuple[Callable[..., Finished], Path]):
    run, folder = as_nobody
    result = run("train", "--corpus", "multi30k-en-de", "--out", folder / "run")
    assert result.code == 1
    assert "there is no folder to keep downloads in" in result.err
    assert "XDG_CACHE_HOME" in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize("megabytes", [200, 300])
def test_little_memory(megabytes: int):
    """A sentence: the libraries alone need more.

    Between this and enough, about 400 MB here, torch's own library ends the process while it is loaded.
    """

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * MEGABYTE, megabytes * MEGABYTE))

    result = openwork("info", "nano", preexec_fn=limit)
    assert result.code == 1 and "not enough memory" in result.err, result.err
    assert "bug in openwork" not in result.err
