"""Spoken digits: unpacked once, one speaker held out, and what is said where the archive is not."""

import io
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from openwork.base.errors import DataError
from openwork.data.corpora import catalogue as corpora
from openwork.data.corpora.spoken_digits import ARCHIVE, SPEAKERS


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("OPENWORK_DATA", str(tmp_path / "data"))
    return tmp_path / "openwork" / "spoken-digits"


def pack(folder: Path, left_out: str = "") -> None:
    (folder / "data" / "speech").mkdir(parents=True)
    with tarfile.open(folder / "data" / "speech" / ARCHIVE, "w:gz") as archive:
        for digit in range(10):
            for speaker in SPEAKERS:
                for take in range(50):
                    name = f"{digit}_{speaker}_{take}.wav"
                    if name != left_out:
                        member = tarfile.TarInfo(f"recordings/{name}")
                        member.size = len(name)
                        archive.addfile(member, io.BytesIO(name.encode()))


@pytest.mark.slow
def test_a_speaker_is_heard_in_the_test_alone(cache: Path, tmp_path: Path) -> None:
    pack(tmp_path)
    assert corpora.find("spoken-digits").found(None) == str(tmp_path / "data" / "speech")
    for name, speaker in (("spoken-digits", "george"), ("spoken-digits-theo", "theo")):
        splits = [list(corpora.load(name, split)) for split in ("train", "valid", "test")]
        assert tuple(map(len, splits)) == corpora.find(name).pairs == (2250, 250, 500)
        heard = [{Path(pair.source).stem.split("_")[1] for pair in split} for split in splits]
        assert heard == [set(SPEAKERS) - {speaker}] * 2 + [{speaker}]
        assert len({pair.source for split in splits for pair in split}) == 3000
        assert set(Counter(pair.target for pair in splits[0]).values()) == {225}
    first = next(corpora.load("spoken-digits", "test"))
    assert Path(first.source).read_text() == "0_george_0.wav" and first.target == "zero"
    assert corpora.find("spoken-digits").found(None) == str(cache)


@pytest.mark.slow
def test_an_archive_with_less_is_refused(cache: Path, tmp_path: Path) -> None:
    pack(tmp_path, left_out="3_theo_7.wav")
    with pytest.raises(DataError, match=r"3_theo_7\.wav"):
        next(corpora.load("spoken-digits", "train"))


def test_without_the_archive_it_says_where_it_belongs(cache: Path) -> None:
    with pytest.raises(DataError) as refused:
        next(corpora.load("spoken-digits", "train"))
    assert refused.value.code == "D062" and "OPENWORK_DATA" in refused.value.hint
    assert corpora.find("spoken-digits").found(None) == ""
