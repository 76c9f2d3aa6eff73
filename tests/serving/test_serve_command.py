"""openwork serve: what it refuses before it serves."""

import shutil
import socket
import sys
import threading
from pathlib import Path

import pytest

from calling import Call, language_model
from openwork.base.errors import OpenworkError
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.bundles.settings import BundleSettings
from openwork.cli import serve
from openwork.models.build import build_model
from openwork.models.settings import EncoderSettings
from openwork.serving.client import server as client
from openwork.serving.settings import ServerSettings
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.kinds import KINDS
from openwork.text.pieces.words import Labels
from serving.running import started, wait_until

pytestmark = pytest.mark.slow  # the server's libraries take a second to load


@pytest.fixture
def label_folder(tmp_path: Path) -> Path:
    """A classifier that has learnt nothing."""
    words, labels = KINDS["words"].learn(["a b c"] * 3, 400), Labels.of(["yes", "no"])
    settings = EncoderSettings(task="classify", width=8, heads=2, feedforward_width=8, layers=1)
    model = build_model(settings, words.vocabulary_size, labels.vocabulary_size)
    write_bundle(
        tmp_path / "labels", Bundle(BundleSettings(model=settings), TokenizerPair(words, labels), model.eval())
    )
    return tmp_path / "labels"


def test_without_the_extra_it_says_what_to_install(
    call: Call, bundle_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda name: None)
    refused = call("serve", bundle_folder)
    assert refused.code == 2 and "U140" in refused.err and "the extra serve" in refused.err


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--host", "0.0.0.0"], "U134"),
        (["--certificate", "here.pem"], "U135"),
        (["--certificate", "empty", "--key", "empty"], "U145"),
        (["--certificate", "nowhere", "--key", "nowhere"], "U145"),
        (["--token-file", "nowhere"], "U136"),
        (["--token-file", "empty"], "U137"),
    ],
)
def test_what_would_be_unsafe_or_incomplete(
    call: Call, bundle_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], code: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").write_text("\n")
    refused = call("serve", bundle_folder, *options)
    assert refused.code == 2 and code in refused.err


def test_two_bundles_of_one_name(call: Call, bundle_folder: Path) -> None:
    refused = call("serve", bundle_folder, bundle_folder)
    assert refused.code == 2 and "U133" in refused.err


def test_a_model_that_labels(call: Call, label_folder: Path) -> None:
    refused = call("serve", label_folder)
    assert refused.code == 2 and "U132" in refused.err and "openwork classify" in refused.err


def test_a_language_model_whose_settings_ask_for_texts(call: Call, tmp_path: Path) -> None:
    write_bundle(tmp_path / "gpt", language_model({"forbidden": ("x",)}))
    refused = call("serve", tmp_path / "gpt")
    assert refused.code == 2 and "U146" in refused.err


def test_a_port_that_is_taken(call: Call, bundle_folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = call("serve", bundle_folder, "--port", taken.getsockname()[1])
    assert refused.code == 2 and "U139" in refused.err


def test_windows_is_refused(call: Call, bundle_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.toml").touch()
    (tmp_path / "run" / "records.jsonl").touch()
    monkeypatch.setattr("openwork.serving.server.sys.platform", "win32")
    for command in (("serve", bundle_folder), ("runs", tmp_path / "run", "--open")):
        refused = call(*command)
        assert refused.code == 2 and "U138" in refused.err


def test_the_page_is_opened_when_it_can_be_read(bundle_folder: Path, tmp_path: Path) -> None:
    """By the browser that the environment names: here a program that asks for the page at once."""
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(
        f"#!{sys.executable}\nimport sys, urllib.request\n"
        f"open({str(seen)!r}, 'wb').write(urllib.request.urlopen(sys.argv[1]).read())\n"
    )
    browser.chmod(0o755)
    with started("serve", bundle_folder, "--port", "0", "--workers", "1", "--open", BROWSER=str(browser)):
        wait_until(lambda: seen.exists() and b"</html>" in seen.read_bytes())


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--server", "ftp://here"], "U141"),
        (["--token-file", "token"], "U142"),
        (["--server", "127.0.0.1:1", "--beam", "3"], "U143"),
        (["--server", "127.0.0.1:1", "--guard"], "U143"),
        (["--server", "127.0.0.1:1", "--source", "a.txt", "--best", "2"], "U143"),
        (["--server", "127.0.0.1:1", "--source", "a.txt"], "U104"),
        (["--server", "127.0.0.1:1", "--source", "shards", "--out", "translated"], "U151"),
        (["one", "two", "--server", "127.0.0.1:1"], "U143"),
    ],
)
def test_what_does_not_go_with_a_server(call: Call, options: list[str], code: str) -> None:
    refused = call("translate", *options, stdin=b"a\n")
    assert refused.code == 2 and code in refused.err and refused.out == b""


def test_a_server_that_is_not_there(call: Call) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    refused = call("translate", "--server", f"127.0.0.1:{port}", stdin=b"a\n")
    assert refused.code == 1 and "E054" in refused.err


def answering(content: bytes, times: int = 1) -> tuple[int, threading.Thread]:
    """The port of a server that gives this answer to so many requests, each on a connection of its own."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve_once() -> None:
        with listening:
            for _ in range(times):
                with listening.accept()[0] as client:
                    client.recv(1 << 16)
                    client.sendall(content)

    thread = threading.Thread(target=serve_once, daemon=True)
    thread.start()
    return listening.getsockname()[1], thread


def test_a_server_of_something_else(call: Call) -> None:
    port, thread = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
    refused = call("translate", "--server", f"127.0.0.1:{port}", stdin=b"a\n")
    thread.join(10)
    assert refused.code == 1 and "E053" in refused.err and "status 200" in refused.err


def test_a_request_that_is_refused(call: Call) -> None:
    body = b'{"error": "no bundle has this name"}'
    port, thread = answering(
        b"HTTP/1.1 400 Bad\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body)
    )
    refused = call("translate", "--server", f"127.0.0.1:{port}", stdin=b"a\n")
    thread.join(10)
    assert refused.code == 2 and "U144" in refused.err and "no bundle has this name" in refused.err


def test_a_full_server_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(client.time, "sleep", waited.append)
    full = b"HTTP/1.1 429 Full\r\nRetry-After: 7\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
    port, thread = answering(full, 3)
    with pytest.raises(OpenworkError) as refused:
        client.ServerClient(f"127.0.0.1:{port}").translate(["a"])
    thread.join(10)
    assert waited == [7, 7, 7] and refused.value.code == "E054"  # then nobody answers


def test_names_of_the_host() -> None:
    assert ServerSettings(host="127.0.0.1", hosts=("Office.example",)).allowed_hosts == {
        "127.0.0.1", "localhost", "::1", "office.example",
    }  # fmt: skip


def test_models_that_cannot_be_loaded(call: Call, bundle_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends before it says anything, as for want of memory."""
    monkeypatch.setattr("openwork.serving.pool.sys.executable", shutil.which("false"))
    refused = call("serve", bundle_folder, "--port", "0")
    assert refused.code == 1 and "E052" in refused.err
