"""Downloads: continued where they stopped, bounded, checked, and told."""

import hashlib
import io
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from openwork.base.errors import DataError, OpenworkError
from openwork.data.corpora import download
from openwork.data.corpora.download import RemoteFile, fetch

CONTENT = bytes(range(256)) * 40
URL = "https://example.org/folder/file.tgz"


def remote(content: bytes = CONTENT, algorithm: str = "sha256", size: int | None = len(CONTENT)) -> RemoteFile:
    return RemoteFile(URL, f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}", size)


class Response(io.BytesIO):
    """What a server answers: whole, or from where it was asked to begin."""

    def __init__(self, content: bytes, status: int = 200, breaks_after: int | None = None) -> None:
        super().__init__(content)
        self.status = status
        self._left = breaks_after

    def read(self, size: int | None = -1, /) -> bytes:
        if self._left is not None:
            if self._left <= 0:
                raise ConnectionResetError("the connection was reset")
            size = min(size or self._left, self._left)
            self._left -= size
        return super().read(size)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str | None]]:
    """`server(answer)`: each request is answered by it; the list of the ranges that were asked for."""

    def serve(answer: Callable[[str | None], Response]) -> list[str | None]:
        asked: list[str | None] = []

        def urlopen(request: urllib.request.Request, timeout: float) -> Response:
            assert request.full_url == URL and (request.get_header("User-agent") or "").startswith("openwork/")
            asked.append(request.get_header("Range"))
            return answer(asked[-1])

        monkeypatch.setattr(urllib.request, "urlopen", urlopen)
        monkeypatch.setattr(download, "_CHUNK", 1000)
        return asked

    return serve


def ranged(asked: str | None) -> Response:
    start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
    return Response(CONTENT[start:], 206 if asked else 200)


@pytest.mark.parametrize("algorithm", ["sha256", "md5"])
def test_a_file_is_fetched_once(tmp_path: Path, server: Callable[..., list[str | None]], algorithm: str) -> None:
    asked = server(ranged)
    told: list[tuple[str, int, int]] = []
    path = tmp_path / "new" / "file.tgz"
    for _ in range(2):
        fetch(remote(algorithm=algorithm), path, hint="", progress=lambda *all_: told.append(all_))
    assert path.read_bytes() == CONTENT and asked == [None]
    assert told[0] == ("file.tgz", 1000, len(CONTENT)) and told[-1] == ("file.tgz", len(CONTENT), len(CONTENT))
    assert [other.name for other in path.parent.iterdir()] == ["file.tgz"]


def test_a_broken_download_goes_on_where_it_stopped(tmp_path: Path, server: Callable[..., list[str | None]]) -> None:
    path = tmp_path / "file.tgz"
    server(lambda asked: Response(CONTENT, breaks_after=3000))
    with pytest.raises(DataError, match="cannot be fetched") as caught:
        fetch(remote(), path, hint="by hand")
    assert caught.value.why == "the connection was reset" and caught.value.hint == "by hand"
    assert not path.exists() and (tmp_path / "file.tgz.part").stat().st_size == 3000
    asked = server(ranged)
    fetch(remote(), path, hint="")
    assert asked == ["bytes=3000-"] and path.read_bytes() == CONTENT


def test_a_server_that_ends_early_is_told_from_one_that_sends_another_file(
    tmp_path: Path, server: Callable[..., list[str | None]]
) -> None:
    server(lambda asked: Response(CONTENT[:5000]))
    with pytest.raises(DataError, match="ended after 5,000 of 10,240 bytes") as caught:
        fetch(remote(), tmp_path / "file.tgz", hint="")
    assert "continues from there" in caught.value.hint


def test_a_server_without_ranges_sends_the_whole_again(tmp_path: Path, server: Callable[..., list[str | None]]) -> None:
    (tmp_path / "file.tgz.part").write_bytes(CONTENT[:700])
    asked = server(lambda asked: Response(CONTENT))
    fetch(remote(), tmp_path / "file.tgz", hint="")
    assert asked == ["bytes=700-"] and (tmp_path / "file.tgz").read_bytes() == CONTENT


@pytest.mark.parametrize("part", [CONTENT, CONTENT + b"more"], ids=["whole", "too long"])
def test_a_partial_file_that_is_whole_or_too_long(
    tmp_path: Path, server: Callable[..., list[str | None]], part: bytes
) -> None:
    (tmp_path / "file.tgz.part").write_bytes(part)
    asked = server(ranged)
    fetch(remote(), tmp_path / "file.tgz", hint="")
    assert asked == ([] if part == CONTENT else [None]) and (tmp_path / "file.tgz").read_bytes() == CONTENT


@pytest.mark.parametrize("sent", [CONTENT[:-1] + b"x", CONTENT + b"x"], ids=["other bytes", "too many"])
def test_other_bytes_are_refused_and_not_kept(
    tmp_path: Path, server: Callable[..., list[str | None]], sent: bytes
) -> None:
    (tmp_path / "file.tgz").write_bytes(b"old")
    server(lambda asked: Response(sent))
    with pytest.raises(DataError, match="not the expected one"):
        fetch(remote(), tmp_path / "file.tgz", hint="")
    assert [path.name for path in tmp_path.iterdir()] == ["file.tgz"]
    assert (tmp_path / "file.tgz").read_bytes() == b"old"


def test_a_file_of_unknown_size_is_bounded_and_begun_anew(
    tmp_path: Path, server: Callable[..., list[str | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file.tgz.part").write_bytes(CONTENT[:700])
    asked = server(ranged)
    fetch(remote(size=None), tmp_path / "file.tgz", hint="")
    assert asked == [None]
    (tmp_path / "file.tgz").unlink()
    monkeypatch.setattr(download, "MAX_BYTES", 5000)
    with pytest.raises(DataError, match="not the expected one") as caught:
        fetch(remote(size=None), tmp_path / "file.tgz", hint="")
    assert caught.value.why == "it has more than 5,000 bytes"


def test_a_full_disk_is_told_before_anything_is_fetched(
    tmp_path: Path, server: Callable[..., list[str | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = server(ranged)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(100, 90, 10))  # type: ignore
    with pytest.raises(OpenworkError, match="too little free space") as caught:
        fetch(remote(), tmp_path / "file.tgz", hint="")
    assert asked == [] and "XDG_CACHE_HOME" in caught.value.hint


def test_a_refusing_server_is_named(tmp_path: Path, server: Callable[..., list[str | None]]) -> None:
    def refuse(asked: str | None) -> Response:
        raise urllib.error.HTTPError(URL, 404, "Not Found", None, None)  # type: ignore[arg-type]

    server(refuse)
    with pytest.raises(DataError, match="cannot be fetched") as caught:
        fetch(remote(), tmp_path / "file.tgz", hint="")
    assert "Not Found" in caught.value.why and list(tmp_path.iterdir()) == []
