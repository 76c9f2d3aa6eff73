"""Documents over HTTP: what the command line writes for the same file, and what is refused."""

import http.client
import io
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from calling import Call
from serving.running import SLOW, Answer, RunningServer, of_a_server, running, wait_until

if TYPE_CHECKING:
    from openwork.bundles.bundle import Bundle

pytest.importorskip("python_multipart", reason="needs the extra serve")
for name in ("sentencex", "lxml"):
    pytest.importorskip(name, reason="needs the extra documents")
pytestmark = of_a_server
PAGE = '<p class="x">a <b>b c</b> d.</p><!-- c --><ul><li>e<br>f<li><i>a</i> b. <code>g</code> h</ul>\n'
BOUNDARY = "boundary0123456789"


@pytest.fixture(scope="module")
def folder(tiny_bundle: "Bundle", tmp_path_factory: pytest.TempPathFactory) -> Path:
    from openwork.bundles.bundle import write_bundle

    place = tmp_path_factory.mktemp("served") / "tiny"
    settings = tiny_bundle.settings.model_copy(update={"source_language": "en", "target_language": "de"})
    write_bundle(place, replace(tiny_bundle, settings=settings))
    return place


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RunningServer]:
    with running(folder, workers=2) as started:
        yield started


def form(fields: dict[str, str], file: tuple[str, bytes] | None) -> bytes:
    """A body of multipart/form-data."""
    parts = [f'name="{key}"\r\n\r\n'.encode() + value.encode() for key, value in fields.items()]
    if file is not None:
        parts.append(f'name="file"; filename="{file[0]}"\r\n\r\n'.encode() + file[1])
    start = f"--{BOUNDARY}\r\nContent-Disposition: form-data; ".encode()
    return b"".join(start + part + b"\r\n" for part in parts) + f"--{BOUNDARY}--\r\n".encode()


def post_form(server: RunningServer, fields: dict[str, str], file: tuple[str, bytes] | None, **headers: str) -> Answer:
    kind = f"multipart/form-data; boundary={BOUNDARY}"
    return server.ask("POST", "/translate_file", form(fields, file), Content_Type=kind, **headers)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", b"a b c\n\n  d e.\n"),
        ("a.html", PAGE.encode()),
        ("a.md", b"# a b\n\n- c **d** e\n- `f` g h\n"),
        ("a.jsonl", b'{"text": "a b", "n": 1}\n{"text": "c"}\n'),
        (
            "a.xlf",
            b'<xliff version="1.2"><file original="x" source-language="en" target-language="de" datatype="x"><body>'
            b'<trans-unit id="1"><source>a <g id="1">b</g> c</source></trans-unit></body></file></xliff>',
        ),
    ],
)
def test_a_document_is_what_the_command_line_writes(
    server: RunningServer, folder: Path, tmp_path: Path, call: Call, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    done = call("translate", folder, "--source", tmp_path / name, "--out", tmp_path / "out", "--json")
    assert done.code == 0, done.err
    wanted = (tmp_path / "out").read_bytes()
    found = server.ask("POST", f"/v1/documents?name={name}", content)
    assert (found.status, found.body) == (200, wanted), found.body
    counts = json.loads(done.out)
    assert json.loads(found.headers["openwork-report"]) == counts | {"doubts": len(counts["doubts"])}
    answer = post_form(server, {"source": "en", "target": "de"}, (name, content))
    assert answer.status == 200, answer.body
    place = re.fullmatch(r"http://127.0.0.1:\d+(/download_file/[\w-]+\.\w+)", answer.json["translatedFileUrl"])
    assert place is not None
    fetched = server.ask("GET", place[1])
    assert fetched.body == wanted
    assert fetched.headers["content-disposition"] == f"attachment; filename*=UTF-8''{name}"


def test_html_in_a_text(server: RunningServer) -> None:
    asked = {"q": [PAGE, "a b", "<b>"], "source": "auto", "target": "de", "format": "html"}
    page, plain, tag = server.ask("POST", "/translate", asked).json["translatedText"]
    assert sorted(re.findall(r"<[^>]*>", page)) == sorted(re.findall(r"<[^>]*>", PAGE))
    assert "<code>g</code>" in page and "<!-- c -->" in page
    assert plain and "<" not in plain.replace("&lt;", "") and tag == "<b>"
    assert server.ask("POST", "/translate", asked | {"alternatives": 1}).status == 400


@pytest.mark.parametrize(
    ("path", "content", "status", "said"),
    [
        ("/v1/documents?name=a.exe", b"a", 400, "what kind of document"),
        ("/v1/documents?name=../../a.txt", b"a b", 200, ""),
        ("/v1/documents?name=a.txt&target=fr", b"a", 400, "no bundle translates"),
        ("/v1/documents", b"a", 422, "name"),
        ("/v1/documents?name=a.txt", b"a\xff", 400, "not UTF-8"),
        ("/v1/documents?name=a.docx", b"PK", 400, "cannot be opened"),
        ("/v1/documents?name=a.xlf", b"<!DOCTYPE x [<!ENTITY e 'x'>]><xliff>&e;</xliff>", 400, "entity"),
        ("/v1/documents?name=a.txt", b"a" * (1 << 21), 413, "bytes"),
        ("/translate_file", b"a", 400, "must be a form"),
        ("/download_file/nothing.txt", None, 405, "Method"),
    ],
)
def test_refused(server: RunningServer, path: str, content: Any, status: int, said: str) -> None:
    found = server.ask("POST", path, content)
    assert found.status == status, found.body
    assert said in (found.json["error"] if status != 200 else "")
    if status == 200:
        assert found.headers["content-disposition"].endswith("''a.txt")


def test_forms_that_are_not_right(server: RunningServer) -> None:
    assert "no file" in post_form(server, {"target": "de"}, None).json["error"]
    assert "what kind" in post_form(server, {"target": "de"}, ("a", b"a")).json["error"]
    broken = server.ask("POST", "/translate_file", b"--x", Content_Type="multipart/form-data")
    assert broken.status == 400
    many = form({f"f{n}": "x" for n in range(50)}, ("a.txt", b"a"))
    found = server.ask("POST", "/translate_file", many, Content_Type=f"multipart/form-data; boundary={BOUNDARY}")
    assert found.status == 400 and "form" in found.json["error"]
    assert server.ask("GET", "/download_file/nothing.txt").status == 404


def test_an_archive_that_unpacks_to_much_is_refused(server: RunningServer) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", b"\0" * (300 << 20))
    found = server.ask("POST", "/v1/documents?name=a.docx", packed.getvalue())
    assert found.status == 400 and "unpacks to too much" in found.json["error"]


def test_a_token_is_asked_for_and_a_name_that_cannot_be_guessed_is_enough(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret")
    with running(folder, workers=1, token_file=tmp_path / "token") as server_:
        file = ("a.txt", b"a b")
        assert post_form(server_, {}, file).status == 401
        assert server_.ask("POST", "/v1/documents?name=a.txt", b"a").status == 401
        answer = post_form(server_, {"api_key": "secret"}, file)
        place = answer.json["translatedFileUrl"].partition("/download_file/")[2]
        assert server_.ask("GET", f"/download_file/{place}").status == 200


def test_a_client_that_has_gone_frees_the_workers(server: RunningServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SLOW)
    many = "".join(f"{a} {b} {c} {d} {e} {f}\n" for a in "abc" for b in "abcd" for c in "abc" for d in "abcd"
                   for e in "abcd" for f in "abcdefgh").encode()  # fmt: skip
    connection.request("POST", "/v1/documents?name=a.txt", many)
    wait_until(lambda: server.measure("openwork_texts_under_way") > 0)
    connection.close()
    wait_until(lambda: server.measure("openwork_texts_under_way") == 0 == server.measure("openwork_queue_texts"))
    assert server.texts("a b")
