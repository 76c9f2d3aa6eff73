"""Lists of sounds: a table of paths and texts, a folder with classes, and what is passed over."""

from pathlib import Path
from typing import Any

import pytest

from openwork.base.errors import DataError
from openwork.data.readers.file_lists import SOUNDS, read_list
from openwork.data.readers.formats import without_skips
from openwork.data.records import UNSAID, Pair
from openwork.data.settings import OriginSettings
from openwork.data.sources import source_of


def folder(path: Path) -> Path:
    for name in ("one/a.wav", "two/b.FLAC", "two/notes.txt"):
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_bytes(name.encode())
    return path


def test_a_folder_has_classes_as_texts(tmp_path: Path) -> None:
    skips: dict[str, Any] = {}
    found = list(without_skips(read_list(folder(tmp_path), SOUNDS), skips))
    assert found == [Pair(f"{tmp_path}/one/a.wav", "one"), Pair(f"{tmp_path}/two/b.FLAC", "two")]
    assert list(skips) == ["the name of no known format of sound files"]


def test_a_table_has_texts_of_several_words(tmp_path: Path) -> None:
    folder(tmp_path)
    (tmp_path / "train.csv").write_text('speaker,file,text\njo,one/a.wav,"one, two"\n')
    assert list(read_list(tmp_path / "train.csv", SOUNDS)) == [Pair(f"{tmp_path}/one/a.wav", "one, two")]
    (tmp_path / "wrong.csv").write_text("file,label\none/a.wav,one\n")
    with pytest.raises(DataError, match=r"wrong\.csv:1: not a table of sound files") as refused:
        list(read_list(tmp_path / "wrong.csv", SOUNDS))
    assert refused.value.code == "D150" and "file,text" in refused.value.hint


def test_another_content_is_another_corpus(tmp_path: Path) -> None:
    origin = OriginSettings(sounds=str(folder(tmp_path)))
    before = source_of(origin, "train", UNSAID)
    (tmp_path / "one/a.wav").write_bytes(b"another")
    assert before.identity != source_of(origin, "train", UNSAID).identity
    assert [pair.target for pair in before.read()] == ["one", "two"]
