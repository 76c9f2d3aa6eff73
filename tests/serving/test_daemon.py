"""openwork daemon: bundles in memory for the shell, at a socket that only its user reaches."""

import os
import socket
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from calling import Call
from serving.running import RunningServer, started, wait_until

if TYPE_CHECKING:
    from openwork.bundles.bundle import Bundle

pytestmark = [
    pytest.mark.slow,  # a server loads torch before its first answer
    pytest.mark.skipif(sys.platform == "win32", reason="there are no Unix sockets"),
]
LINES = b"a b c\n\nd e f g\n  \nh\n"


@pytest.fixture(scope="module")
def folder(tiny_bundle: "Bundle", tmp_path_factory: pytest.TempPathFactory) -> Path:
    from openwork.bundles.bundle import write_bundle

    place = tmp_path_factory.mktemp("kept") / "tiny"
    write_bundle(place, tiny_bundle)
    return place


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def daemon(folder: Path, runtime: Path) -> Iterator[RunningServer]:
    with started("daemon", folder, "--workers", 1, XDG_RUNTIME_DIR=str(runtime)) as server:
        yield server


@pytest.fixture(autouse=True)
def at_its_place(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))


def test_its_answers_are_those_of_the_bundle(daemon: RunningServer, folder: Path, call: Call) -> None:
    alone = call("translate", folder, stdin=LINES)
    asked = call("translate", "--server", "daemon", "tiny", stdin=LINES)
    assert (asked.code, asked.out) == (0, alone.out) and asked.out.count(b"\n") == 5


def test_python_asks_it_too(daemon: RunningServer, folder: Path) -> None:
    import openwork

    assert openwork.connect("daemon").translate("a b c").text == openwork.load(folder).translate("a b c").text


def test_only_its_user_reaches_it(daemon: RunningServer, runtime: Path) -> None:
    place = Path(daemon.place)
    assert place.parent == runtime / "openwork" and stat.S_ISSOCK(place.stat().st_mode)
    assert (place.stat().st_mode | place.parent.stat().st_mode) & 0o077 == 0


def test_there_is_one(daemon: RunningServer, folder: Path, call: Call) -> None:
    refused = call("daemon", folder)
    assert refused.code == 2 and "U152" in refused.err
    assert call("translate", "--server", "daemon", stdin=b"a\n").code == 0


def test_its_place_is_left_free(folder: Path, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its end, and after a kill, when the socket is there and nobody listens."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    for _ in range(2):
        with started("daemon", folder, "--workers", 1) as one:
            place = Path(one.place)
            one.process.kill()
            one.process.wait()
        assert place.exists()
        refused = call("translate", "--server", "daemon", stdin=b"a\n")
        assert refused.code == 1 and "E054" in refused.err and "openwork daemon BUNDLE" in refused.err
    with started("daemon", folder, "--workers", 1) as one:
        wait_until(lambda: call("translate", "--server", "daemon", stdin=b"a\n").code == 0)
        assert one.end() == 0
    assert not place.exists()


def test_a_place_that_others_may_write(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "openwork").mkdir()
    (tmp_path / "openwork").chmod(0o777)
    refused = call("translate", "--server", "daemon", stdin=b"a\n")
    assert refused.code == 1 and "E055" in refused.err
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "missing"))
    assert "E055" in call("translate", "--server", "daemon", stdin=b"a\n").err


def test_a_path_that_is_too_long(call: Call, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    refused = call("daemon", folder)
    assert refused.code == 2 and "U153" in refused.err


def test_without_a_runtime_folder_it_is_in_the_folder_of_temporary_files(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = tmp_path / f"openwork-{os.getuid()}"
    assert "E054" in call("translate", "--server", "daemon", stdin=b"a\n").err
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(folder / "daemon.socket"))
        assert "E054" in call("translate", "--server", "daemon", stdin=b"a\n").err
