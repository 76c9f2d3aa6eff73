"""WMT14 from archives made here: what is fetched, unpacked, read, and what is refused."""

import gzip
import hashlib
import io
import random
import tarfile
import urllib.request
from pathlib import Path

import pytest

from openwork.base.errors import DataError
from openwork.data.corpora import catalogue as corpora
from openwork.data.corpora import wmt14
from openwork.data.corpora.download import RemoteFile, extract

SGM = '<refset setid="x">\n<doc docid="d">\n<p>\n{}</p>\n</doc>\n</refset>\n'


def archive(files: dict[str, bytes], mode: str = "w:gz") -> bytes:
    """A tar archive of these files, with a stranger among them."""
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode=mode) as members:  # type: ignore[call-overload]
        for name, content in {"README": b"no corpus", **files}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            members.addfile(entry, io.BytesIO(content))
    return memory.getvalue()


def segments(*sentences: str) -> bytes:
    return SGM.format("".join(f'<seg id="{n}"> {text} </seg>\n' for n, text in enumerate(sentences, 1))).encode()


@pytest.fixture
def origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The six public archives in small, with checksums to match; the list of what was asked for."""
    europarl = {
        f"training/europarl-v7.{pair}.{side}": f"ep {pair} {side}\n".encode()
        for pair in ("de-en", "fr-en")
        for side in pair.split("-")
    }
    crawl = {
        f"commoncrawl.{pair}.{side}": f"cc {side}\n".encode() for pair in ("de-en", "fr-en") for side in pair.split("-")
    }
    news = {
        f"training/news-commentary-v9.{pair}.{side}": f"nc {side}\nsecond\n".encode()
        for pair in ("de-en", "fr-en")
        for side in pair.split("-")
    }
    tests = {
        f"test-full/newstest2014-{other}en-{role}.{side}.sgm": segments(f"a &amp; {side}", "b")
        for other in ("de", "fr")
        for role in ("src", "ref")
        for side in (other, "en")
    }
    contents = {
        "EUROPARL": archive(europarl),
        "COMMON_CRAWL": archive(crawl),
        "NEWS_COMMENTARY": archive(news),
        "UNITED_NATIONS": archive({f"un/undoc.2000.fr-en.{side}": f"un {side}\n".encode() for side in ("fr", "en")}),
        "GIGA": archive(
            {f"giga-fren.release2.fixed.{side}.gz": gzip.compress(f"giga {side}\n".encode()) for side in ("fr", "en")},
            "w",
        ),
        "DEVELOPMENT": archive({f"dev/newstest2013.{side}": f"dev {side}\n".encode() for side in ("de", "en", "fr")}),
        "TEST": archive(tests),
    }
    small = {}
    by_url = {}
    for name, content in contents.items():
        real = getattr(wmt14, name)
        small[real] = RemoteFile(real.url, f"sha256:{hashlib.sha256(content).hexdigest()}", len(content))
        by_url[real.url] = content
        monkeypatch.setattr(wmt14, name, small[real])
    training = {
        other: tuple((small[remote], member) for remote, member in parts) for other, parts in wmt14._TRAINING.items()
    }
    monkeypatch.setattr(wmt14, "_TRAINING", training)
    asked: list[str] = []

    def urlopen(request: urllib.request.Request, timeout: float) -> io.BytesIO:
        asked.append(request.full_url.rpartition("/")[2])
        return io.BytesIO(by_url[request.full_url])

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENWORK_DATA", raising=False)
    for source, target in (("en", "de"), ("de", "en"), ("en", "fr"), ("fr", "en")):
        # made anew: a corpus knows its archives from the moment it is made
        monkeypatch.setitem(corpora.CORPORA, f"wmt14-{source}-{target}", wmt14._direction(source, target))
    return asked


def test_nothing_is_fetched_unasked(origin: list[str]) -> None:
    with pytest.raises(DataError, match=r"europarl-v7\.de-en\.en is not on this machine") as caught:
        corpora.load("wmt14-en-de", "train")
    assert "openwork data prepare wmt14-en-de --out FOLDER" in caught.value.hint
    assert "training-parallel-europarl-v7.tgz (0 MB)" in caught.value.why  # so little has its stand-in
    assert origin == [] and corpora.find("wmt14-en-de").found(None) == ""


def test_english_and_german(origin: list[str], tmp_path: Path) -> None:
    corpora.fetch("wmt14-en-de")
    assert list(corpora.load("wmt14-en-de", "train")) == [
        ("ep de-en en", "ep de-en de"), ("cc en", "cc de"), ("nc en", "nc de"), ("second", "second"),
    ]  # fmt: skip
    assert list(corpora.load("wmt14-en-de", "valid")) == [("dev en", "dev de")]
    assert list(corpora.load("wmt14-en-de", "test")) == [("a &amp; en", "a &amp; de"), ("b", "b")]
    assert corpora.find("wmt14-en-de").found(None) == str(tmp_path / "cache" / "openwork" / "wmt14")
    before = list(origin)
    corpora.fetch("wmt14-en-de")
    assert origin == before == [
        "training-parallel-europarl-v7.tgz", "training-parallel-commoncrawl.tgz", "training-parallel-nc-v9.tgz",
        "dev.tgz", "test-full.tgz",
    ]  # fmt: skip
    corpora.fetch("wmt14-de-en")  # the other files of the test archive; the archives themselves are there
    assert origin == before
    assert next(corpora.load("wmt14-de-en", "test")) == ("a &amp; de", "a &amp; en")


def test_french_has_the_united_nations_and_the_giga_corpus_too(origin: list[str]) -> None:
    corpora.fetch("wmt14-fr-en")
    train = list(corpora.load("wmt14-fr-en", "train"))
    assert [pair.source for pair in train] == ["ep fr-en fr", "cc fr", "un fr", "nc fr", "second", "giga fr"]
    assert list(corpora.load("wmt14-fr-en", "train", count=2)) == train[:2]


def test_archives_put_there_by_hand_are_used_and_checked(origin: list[str], tmp_path: Path) -> None:
    corpora.fetch("wmt14-en-de")
    own = tmp_path / "own" / "wmt14"
    own.mkdir(parents=True)
    cache = tmp_path / "cache" / "openwork" / "wmt14"
    for path in list(cache.iterdir()):
        path.rename(own / path.name) if path.suffix == ".tgz" else path.unlink()
    asked = len(origin)
    corpora.fetch("wmt14-en-de", tmp_path / "own")
    assert len(origin) == asked and len(list(corpora.load("wmt14-en-de", "train"))) == 4
    for path in list(cache.iterdir()):
        path.unlink()
    (own / "dev.tgz").write_bytes(b"half")
    with pytest.raises(DataError, match=r"dev\.tgz: this is not the expected file"):
        corpora.fetch("wmt14-en-de", tmp_path / "own")


def test_unequal_segments_are_refused(tmp_path: Path) -> None:
    home = tmp_path / "wmt14"
    home.mkdir()
    (home / "newstest2014-deen-src.en.sgm").write_bytes(segments("a", "b"))
    (home / "newstest2014-deen-ref.de.sgm").write_bytes(segments("a"))
    with pytest.raises(DataError, match=r"has 2 segments, .* has 1"):
        list(corpora.load("wmt14-en-de", "test", tmp_path))


def test_the_published_checksums_are_well_formed() -> None:
    remotes = {
        part.archive for other in ("de", "fr") for split in corpora.ROLES for part in wmt14.parts("en", other, split)
    }
    assert len(remotes) == 7
    for remote in remotes:
        algorithm, _, digest = remote.checksum.partition(":")
        assert len(digest) == 2 * hashlib.new(algorithm).digest_size and set(digest) <= set("0123456789abcdef")
        assert remote.url.startswith("https://") and ".statmt.org/" in remote.url


def test_extract_copies_only_what_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "a.tgz"
    path.write_bytes(archive({"./in/x": b"1", "../evil": b"2", "in/y": b"3"}))
    extract(path, {"in/x": tmp_path / "out" / "x"})
    assert (tmp_path / "out" / "x").read_bytes() == b"1"
    assert sorted(other.name for other in tmp_path.rglob("*") if other.is_file()) == ["a.tgz", "x"]
    with pytest.raises(DataError, match="the archive has no in/z"):
        extract(path, {"in/z": tmp_path / "z"})


def test_an_archive_that_would_fill_the_disk_is_refused_before_it_does(tmp_path: Path) -> None:
    path = tmp_path / "bomb.tgz"
    path.write_bytes(archive({"x": bytes(20_000_000)}))
    assert path.stat().st_size < 200_000
    with pytest.raises(DataError, match="x would unpack to 20,000,000 bytes"):
        extract(path, {"x": tmp_path / "x"})
    assert [file.name for file in tmp_path.iterdir()] == ["bomb.tgz"]


@pytest.mark.parametrize("damage", ["cut", "noise", "empty"])
def test_damaged_archives(tmp_path: Path, damage: str) -> None:
    whole = archive({"x": random.Random(1).randbytes(20_000)})
    path = tmp_path / "a.tgz"
    path.write_bytes({"cut": whole[: len(whole) // 2], "noise": b"no archive" * 100, "empty": b""}[damage])
    with pytest.raises(DataError, match=r"damaged or cut short|has no x"):
        extract(path, {"x": tmp_path / "x"})
    assert not (tmp_path / "x").exists()
