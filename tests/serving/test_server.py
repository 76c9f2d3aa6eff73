"""openwork serve: a real server in a process of its own, asked over HTTP, with processes that end at bad moments."""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calling import Call
from serving.running import SLOW, RunningServer, of_a_server, running, wait_until

if TYPE_CHECKING:
    from openwork.bundles.bundle import Bundle

pytestmark = of_a_server
DOCUMENTS = {
    "page.html": "<!doctype html><title>a b</title><p>a b <b>c d</b> e.</p><p>a b <i>c</i></p><p>a b</p>",
    "page.po": 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "a b c d"\nmsgstr ""\n',
    "page.txt": "a b c\n\nd e f\n",
}
TEXTS = [" ".join(random.Random(number).choices("abcdefgh", k=2 + number % 7)) for number in range(40)]


@pytest.fixture(scope="module")
def folder(tiny_bundle: "Bundle", tmp_path_factory: pytest.TempPathFactory) -> Path:
    from openwork.bundles.bundle import write_bundle

    place = tmp_path_factory.mktemp("served") / "tiny"
    settings = tiny_bundle.settings.model_copy(update={"source_language": "en", "target_language": "de"})
    write_bundle(place, replace(tiny_bundle, settings=settings))
    return place


def folder_with_long_translations(place: Path, bundle: "Bundle", tokens: int) -> Path:
    from openwork.bundles.bundle import write_bundle

    long = {"minimum_length": tokens, "maximum_length": tokens, "extra_length": tokens, "beam": 1}
    decoding = bundle.settings.decoding.model_copy(update=long)
    settings = bundle.settings.model_copy(update={"decoding": decoding})
    write_bundle(place, replace(bundle, settings=settings, golden=()))
    return place


@pytest.fixture(scope="module")
def slow_folder(tiny_bundle: "Bundle", tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle whose translations have 2,000 tokens at least, which takes seconds."""
    return folder_with_long_translations(tmp_path_factory.mktemp("served") / "slow", tiny_bundle, 2000)


@pytest.fixture(scope="module")
def endless_folder(tiny_bundle: "Bundle", tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle whose translations take longer than a test waits."""
    return folder_with_long_translations(tmp_path_factory.mktemp("served") / "endless", tiny_bundle, 10**6)


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RunningServer]:
    with running(folder, workers=2) as started:
        yield started


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[str, str]:
    import openwork

    translator = openwork.load(folder)
    return {text: translator.translate(text).text for text in TEXTS}


def test_answers_are_those_of_the_command_line(server: RunningServer, expected: dict[str, str]) -> None:
    assert server.texts(TEXTS) == list(expected.values())
    assert [server.texts(text)[0] for text in TEXTS[:3]] == [expected[text] for text in TEXTS[:3]]
    joined = f"{TEXTS[0]}\n\n{TEXTS[1]}"
    assert server.texts(joined) == [f"{expected[TEXTS[0]]}\n\n{expected[TEXTS[1]]}"]
    (windows,) = server.texts(joined.replace("\n", "\r\n"))
    assert windows == f"{expected[TEXTS[0]]}\r\n\r\n{expected[TEXTS[1]]}"


def test_many_clients_get_each_their_own_answer(server: RunningServer, expected: dict[str, str]) -> None:
    def ask(number: int) -> bool:
        chosen = random.Random(number).sample(TEXTS, 3)
        return server.texts(chosen) == [expected[text] for text in chosen]

    with ThreadPoolExecutor(32) as clients:
        assert all(clients.map(ask, range(96)))


def test_alternatives_and_flags(server: RunningServer) -> None:
    (found,) = server.translate(TEXTS[0], best=3).json["translations"]
    ranked = [found, *found["alternatives"]]
    assert len({one["text"] for one in ranked}) == 3
    assert [one["score"] for one in ranked] == sorted((one["score"] for one in ranked), reverse=True)
    assert isinstance(found["flags"], list) and found["cut"] is False
    assert server.translate("a", required=["h g"]).json["translations"][0]["text"].count("h g")


def test_a_translation_begins_with_has_and_lacks_what_was_asked_for(server: RunningServer) -> None:
    (found,) = server.texts("a b", prefix="c d", required=["h g"])
    assert found.startswith("c d") and "h g" in found
    (free,) = server.texts(TEXTS[0])
    first = free.split()[0]
    assert first not in server.texts(TEXTS[0], forbidden=[first])[0]


def test_terms_count_in_lines_that_have_them(server: RunningServer, expected: dict[str, str]) -> None:
    text, other = next(text for text in TEXTS if "a" in text), next(text for text in TEXTS if "a" not in text)
    (found,) = server.texts(f"{text}\n{other}", terms={"a": "h g f h"})
    first, second = found.split("\n")
    assert "h g f h" in first and second == expected[other]


def test_terms_are_bounded_with_the_texts(server: RunningServer) -> None:
    many = {"a" * length: "b" for length in range(1, 400)}
    refused = server.translate("a" * 5000, terms=many)
    assert refused.status == 400 and "so many terms" in refused.json["error"]
    assert server.translate("a b", terms=many).status == 200


def test_an_explanation_is_the_score_and_the_alignment_of_the_translation(server: RunningServer, folder: Path) -> None:
    import openwork

    bundle = openwork.load(folder)
    (found,) = server.translate(TEXTS[0], explain=True).json["translations"]
    scored, explained = bundle.score(TEXTS[0], found["text"]), found["explanation"]
    assert explained["pieces"] == list(scored.pieces)
    assert explained["log_probabilities"] == pytest.approx(scored.log_probabilities, abs=1e-4)
    places = explained["alignment"]
    covered = {place for begin, end in places["target"] for place in range(begin, end)}
    assert covered == set(range(len(found["text"])))
    assert "".join(TEXTS[0][begin:end] for begin, end in places["source"]) == TEXTS[0]
    assert [len(row) for row in places["weights"]] == [len(places["source"])] * len(places["target"])
    assert all(0 <= weight <= 1 for row in places["weights"] for weight in row)
    assert server.translate(TEXTS[0]).json["translations"][0]["explanation"] is None


def test_next_pieces_are_the_alternatives_of_the_command_line(server: RunningServer, folder: Path, call: Call) -> None:
    (found,) = server.translate(TEXTS[0], position=1).json["translations"]
    line = call("translate", folder, "--alternatives", "1", "--json", stdin=f"{TEXTS[0]}\n".encode()).out
    assert len(found["next_pieces"]) == 5
    assert [one["piece"] for one in found["next_pieces"]] == [one["piece"] for one in json.loads(line)["alternatives"]]
    (three,) = server.translate(TEXTS[0], position=0, best=3).json["translations"]
    assert len(three["next_pieces"]) == 3 and len(three["alternatives"]) == 2


@pytest.mark.parametrize("name", ["page.html", "page.po", "page.txt"])
def test_the_command_line_translates_documents_by_a_server(
    server: RunningServer, folder: Path, tmp_path: Path, call: Call, name: str
) -> None:
    source, terms = tmp_path / name, tmp_path / "terms.tsv"
    source.write_text(DOCUMENTS[name], encoding="utf-8")
    terms.write_text("d\th g f h\n", encoding="utf-8")
    alone = call("translate", folder, "--source", source, "--out", tmp_path / f"alone-{name}", "--terms", terms)
    asked = call(
        "translate", "--server", f"127.0.0.1:{server.port}", "--source", source, "--out", tmp_path / f"asked-{name}",
        "--terms", terms,
    )  # fmt: skip
    assert (alone.code, asked.code) == (0, 0), asked.err
    assert (tmp_path / f"asked-{name}").read_bytes() == (tmp_path / f"alone-{name}").read_bytes()
    written = re.sub("<[^>]*>", "", (tmp_path / f"asked-{name}").read_text(encoding="utf-8"))
    assert asked.out == alone.out and "h g f h" in written


def test_python_translates_documents_by_a_server(server: RunningServer, folder: Path, tmp_path: Path) -> None:
    import openwork

    (tmp_path / "page.html").write_text(DOCUMENTS["page.html"], encoding="utf-8")
    there = openwork.connect(f"http://127.0.0.1:{server.port}")
    found = there.translate_document(tmp_path / "page.html", tmp_path / "there.html")
    assert found == openwork.load(folder).translate_document(tmp_path / "page.html", tmp_path / "here.html")
    assert (tmp_path / "there.html").read_bytes() == (tmp_path / "here.html").read_bytes()


def test_a_stream_is_the_greedy_translation(server: RunningServer, folder: Path) -> None:
    import openwork

    answer = server.translate(TEXTS[0], stream=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [json.loads(line[6:]) for line in answer.body.decode().splitlines() if line.startswith("data: ")]
    assert events.pop() == {"done": True}
    greedy = openwork.load(folder).translate(TEXTS[0], beam=1).text
    assert "".join(event["text"] for event in events) == greedy


def test_a_connected_translator_is_one_that_was_loaded(server: RunningServer, folder: Path) -> None:
    import openwork

    here, there = openwork.load(folder), openwork.connect(f"http://127.0.0.1:{server.port}", target="de")
    for texts in (TEXTS[0], TEXTS[:3]):
        assert [text_and_score(one) for one in many(there.translate(texts))] == [
            text_and_score(one) for one in many(here.translate(texts))
        ]
    assert len(there.translate("a b", best=2)) == 2 and "h g" in there.translate("a", required=["h g"]).text
    with pytest.raises(openwork.UsageError, match="refuses"):
        openwork.connect(f"http://127.0.0.1:{server.port}", bundle="none").translate("a")


def many(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


def text_and_score(one: Any) -> tuple[Any, ...]:
    return one.text, pytest.approx(one.score, abs=1e-5), one.finished, one.cut


def test_the_command_line_asks_a_server(server: RunningServer, folder: Path, call: Call) -> None:
    lines = "\n".join([*TEXTS[:5], "", "  ", TEXTS[5]]).encode() + b"\n"
    address = f"127.0.0.1:{server.port}"
    alone = call("translate", folder, stdin=lines)
    asked = call("translate", "tiny", "--server", address, stdin=lines)
    assert (asked.code, asked.out) == (0, alone.out) and asked.out.count(b"\n") == 8
    found = [
        json.loads(line)
        for line in call("translate", "--server", address, "--best", "2", "--json", stdin=lines).out.splitlines()
    ]
    expected = [
        json.loads(line) for line in call("translate", folder, "--best", "2", "--json", stdin=lines).out.splitlines()
    ]
    assert [[one["text"] for one in line["translations"]] for line in found] == [
        [one["text"] for one in line["translations"]] for line in expected
    ]


def test_libretranslate_s_requests(server: RunningServer, expected: dict[str, str]) -> None:
    one, two = TEXTS[:2]
    found = server.ask("POST", "/translate", {"q": one, "source": "en", "target": "de"})
    assert found.json == {"translatedText": expected[one]}
    found = server.ask("POST", "/translate", {"q": [one, two], "source": "auto", "target": "de", "alternatives": 1})
    assert found.json["translatedText"] == [expected[one], expected[two]]
    assert [len(each) for each in found.json["alternatives"]] == [1, 1]
    form = f"q={one.replace(' ', '+')}&source=en&target=de".encode()
    found = server.ask("POST", "/translate", form, Content_Type="application/x-www-form-urlencoded")
    assert found.json == {"translatedText": expected[one]}
    assert server.ask("GET", "/languages").json == [{"code": "en", "name": "en", "targets": ["de"]}]
    assert server.ask("GET", "/health").json == {"status": "ok"}


def test_a_public_client_of_libretranslate(server: RunningServer, expected: dict[str, str]) -> None:
    client = pytest.importorskip("libretranslatepy", reason="needs the package libretranslatepy")
    api = client.LibreTranslateAPI(f"http://127.0.0.1:{server.port}/")
    assert api.translate(TEXTS[0], "en", "de") == expected[TEXTS[0]]
    assert api.languages() == [{"code": "en", "name": "en", "targets": ["de"]}]
    assert api.detect("Das ist ein deutscher Satz, und zwar ein langer.")[0]["language"] == "de"


@pytest.mark.parametrize(
    ("path", "body", "status", "problem"),
    [
        ("/v1/translate", b"", 422, "required"),
        ("/v1/translate", b"{", 422, "JSON"),
        ("/v1/translate", {"text": 5}, 422, "text"),
        ("/v1/translate", {"text": "a", "txet": "a"}, 422, "txet"),
        ("/v1/translate", {"text": "a", "best": 99}, 422, "best"),
        ("/v1/translate", {"text": "a", "target": "fr"}, 400, "en to de"),
        ("/v1/translate", {"text": "a", "bundle": "none"}, 400, "tiny"),
        ("/v1/translate", {"text": "a\nb", "stream": True}, 400, "one line"),
        ("/v1/translate", {"text": "\n" * 1000}, 400, "1,001 lines"),
        ("/v1/translate", b'{"text": "\\ud800"}', 422, "text"),
        ("/v1/translate", b'{"text": ["\\ud800"]}', 422, "text"),
        ("/v1/translate", b'{"text": "a", "required": ["\\ud800"]}', 422, "required"),
        ("/v1/translate", b'{"text": "a", "bundle": "\\ud800"}', 422, "bundle"),
        ("/translate", b'{"q": "a", "target": "\\ud800"}', 400, "neither JSON nor a form"),
        ("/v1/translate", b"x" * (1 << 20 | 1), 413, "1,048,576 bytes"),
        ("/translate", b"[]", 400, "object"),
        ("/translate", b"\xff", 400, "neither JSON nor a form"),
        ("/translate", {"target": "de"}, 400, "q must be"),
        ("/translate", {"q": ["a", 5], "target": "de"}, 400, "q must be"),
        ("/translate", {"q": "a", "target": "de", "alternatives": "many"}, 400, "alternatives"),
        ("/translate", {"q": "<b>a</b>", "target": "de", "format": "xml"}, 400, "format"),
        ("/detect", {"q": 5}, 400, "q must be"),
        ("/nowhere", {}, 404, "Not Found"),
    ],
)
def test_bad_requests_get_a_sentence(server: RunningServer, path: str, body: object, status: int, problem: str) -> None:
    found = server.ask("POST", path, body)
    assert (found.status, problem in found.json["error"]) == (status, True), found.body
    assert found.headers["x-content-type-options"] == "nosniff" and "traceback" not in found.body.decode().lower()


ANY_TEXT = st.text(max_size=20) | st.sampled_from(["de", "en", "auto", "a b", "\ud800", "\x00", "𝄞" * 9, "a" * 30_000])
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=5,
)
KEYS = ("text", "source", "target", "bundle", "best", "required", "stream", "q", "alternatives", "format", "api_key")
ROUTES = st.sampled_from(["/v1/translate", "/translate", "/detect", "/languages", "/v1/bundles", "/%ff"])


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(ROUTES, st.dictionaries(st.sampled_from(KEYS), ANY_JSON, max_size=5) | ANY_JSON | st.binary(max_size=40))
def test_no_request_is_a_fault_of_the_server(server: RunningServer, path: str, body: object) -> None:
    for method in ("POST", "GET"):
        assert server.ask(method, path, body).status < 500


def test_a_body_in_parts_has_the_same_bound(server: RunningServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=SLOW) as client:
        client.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        with contextlib.suppress(OSError):  # it may hang up before all is sent
            for _ in range(5):
                client.sendall(b"40000\r\n" + b"x" * 0x40000 + b"\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 413")


def test_a_length_that_is_no_number(server: RunningServer) -> None:
    assert server.ask("POST", "/v1/translate", b"{}", Content_Length="9" * 5000).status in (400, 413)


def test_another_host_s_name_is_not_answered(server: RunningServer) -> None:
    assert server.ask("GET", "/languages", Host="evil.example").status == 421
    assert server.ask("GET", "/languages", Host=f"localhost:{server.port}").status == 200


def test_half_a_request_holds_nobody_up(server: RunningServer, expected: dict[str, str]) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as half:
        half.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        assert server.texts(TEXTS[0]) == [expected[TEXTS[0]]]


def test_a_killed_worker_loses_nothing(server: RunningServer, expected: dict[str, str]) -> None:
    before = server.measure("openwork_restarts")
    with ThreadPoolExecutor(8) as clients:
        found = [clients.submit(server.texts, TEXTS) for _ in range(8)]
        for worker in server.processes()[1]:
            os.kill(worker, signal.SIGKILL)
        assert all(one.result() == list(expected.values()) for one in found)
    wait_until(lambda: server.measure("openwork_restarts") >= before + 2 and len(server.processes()[1]) == 2)


def test_killed_models_are_loaded_again(server: RunningServer, expected: dict[str, str]) -> None:
    ((models,), _) = server.processes()
    os.kill(models, signal.SIGKILL)
    wait_until(lambda: server.processes()[0] not in ([], [models]) and len(server.processes()[1]) == 2)
    assert server.texts(TEXTS[:3]) == [expected[text] for text in TEXTS[:3]]


def test_bundles_are_loaded_again_without_a_lost_request(folder: Path, slow_folder: Path, tmp_path: Path) -> None:
    """The folder gets another bundle; then a damaged one, with which the server goes on as it was."""
    place = tmp_path / "served"
    shutil.copytree(folder, place)
    with running(place, workers=1) as server, ThreadPoolExecutor(4) as clients:
        (models, _) = server.processes()
        asked = [clients.submit(server.translate, TEXTS) for _ in range(12)]
        shutil.rmtree(place)
        shutil.copytree(slow_folder, place)
        server.process.send_signal(signal.SIGHUP)
        assert all(one.result().status == 200 for one in asked)
        wait_until(lambda: any("loaded again" in line for line in server.lines))
        wait_until(lambda: len(server.processes()[0]) == 1 and server.processes()[0] != models)
        assert server.ask("GET", "/languages").json == []  # the other one says no languages
        weights = place / "weights.safetensors"
        weights.write_bytes(weights.read_bytes()[:-100])
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: any("used as they were" in line for line in server.lines))
        assert server.ask("GET", "/ready").status == 200


def test_overload_is_refused_at_once(slow_folder: Path) -> None:
    with running(slow_folder, workers=1, queue_tokens=40) as server, ThreadPoolExecutor(24) as clients:
        found = [clients.submit(server.translate, TEXTS[number]) for number in range(24)]
        statuses = [one.result().status for one in found]
        assert set(statuses) == {200, 429}
        refused = next(one.result() for one in found if one.result().status == 429)
        assert int(refused.headers["retry-after"]) >= 1 and "waits" in refused.json["error"]
        assert server.translate("a").status == 200


def test_a_stream_is_refused_before_it_begins(slow_folder: Path) -> None:
    with running(slow_folder, workers=1, queue_tokens=1) as server, ThreadPoolExecutor(8) as clients:
        found = [clients.submit(server.translate, TEXTS[0], stream=True) for _ in range(8)]
        assert {one.result().status for one in found} == {200, 429}


def test_a_client_that_has_gone_leaves_the_worker_free(endless_folder: Path) -> None:
    body = json.dumps({"text": TEXTS[0]}).encode()
    lines = ["POST /v1/translate HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    request = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body
    with running(endless_folder, workers=1) as server:
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                client.sendall(request)
                wait_until(lambda: server.measure("openwork_texts_under_way") + server.measure("openwork_queue_texts"))
            wait_until(lambda: not server.measure("openwork_texts_under_way") + server.measure("openwork_queue_texts"))


def test_a_request_has_a_time_limit(slow_folder: Path) -> None:
    with running(slow_folder, workers=1, seconds=0.2) as server:
        found = server.translate(TEXTS)
        assert found.status == 503 and "0.2 seconds" in found.json["error"]
        wait_until(lambda: not server.measure("openwork_texts_under_way"))


def test_the_end_waits_for_what_was_started(slow_folder: Path) -> None:
    with running(slow_folder, workers=1) as server, ThreadPoolExecutor(1) as clients:
        asked = clients.submit(server.translate, TEXTS[0])
        wait_until(lambda: server.measure("openwork_texts_under_way"))
        models, workers = server.processes()
        assert server.end() == 0
        assert asked.result().status == 200
        wait_until(lambda: not any(Path(f"/proc/{one}").exists() for one in (*models, *workers)))


def test_a_killed_server_leaves_no_processes(folder: Path) -> None:
    with running(folder, workers=2) as server:
        models, workers = server.processes()
        assert len(workers) == 2
        server.process.kill()
        wait_until(lambda: not any(Path(f"/proc/{one}").exists() for one in (*models, *workers)))


def test_a_token_is_asked_for(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cret\n")
    with running(folder, workers=1, host="0.0.0.0", token_file=tmp_path / "token") as server:
        assert server.translate("a").status == 401
        assert server.ask("POST", "/translate", {"q": "a", "target": "de"}).status == 401
        assert server.ask("POST", "/translate", {"q": "a", "target": "de", "api_key": "wrong"}).status == 401
        assert server.ask("POST", "/translate", {"q": "a", "target": "de", "api_key": "s3cret"}).status == 200
        assert server.ask("GET", "/metrics").status == 401 and server.ask("GET", "/health").status == 200
        assert server.ask("POST", "/v1/translate", {"text": "a"}, Authorization="Bearer wrong").status == 401
        assert server.ask("POST", "/v1/translate", {"text": "a"}, Authorization="Bearer s3cret").status == 200
        assert not any("s3cret" in line for line in server.lines)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl, which makes a certificate")
def test_tls(folder: Path, tmp_path: Path, expected: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    import openwork

    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names]
    subprocess.run([*made, "-keyout", "key.pem", "-out", "cert.pem"], cwd=tmp_path, check=True, capture_output=True)
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    with running(folder, workers=1, certificate=certificate, key=key) as server:
        address = f"https://localhost:{server.port}"
        with pytest.raises(openwork.OpenworkError, match="no server answers"):  # nobody vouches for it
            openwork.connect(address).translate(TEXTS[0])
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert openwork.connect(address).translate(TEXTS[0]).text == expected[TEXTS[0]]


def test_logs_have_each_request_once_and_no_text(folder: Path) -> None:
    with running(folder, workers=1) as server:
        server.texts("a b c d e f g h")
        server.end()
    logged = [json.loads(line) for line in server.lines if line.startswith("{")]
    assert [one["path"] for one in logged if one["path"] != "/ready"] == ["/v1/translate"]
    assert all(set(one) == {"method", "path", "status", "seconds"} for one in logged)
    assert not any("a b c d" in line for line in server.lines)
