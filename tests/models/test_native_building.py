"""What is kept of the compiled step: a library whose bytes are doubtful is compiled anew, never loaded."""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openwork.inference.prepared.native.sources import FUNCTIONS as STEP
from openwork.machine.native import building
from openwork.nn.kernels.native import FUNCTIONS as KERNELS

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@pytest.fixture(scope="module")
def small_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of one function, compiled in a moment."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "small.c").write_text("int answer(void) { return 42; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", folder / "small.c", "-o", folder / "small.so"], check=True)
    return folder / "small.so"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, small_library: Path) -> Iterator[Path]:
    """The file that counts what a compiler links; it gives the small library, and the cache is a folder of its own."""
    compiler, calls = tmp_path / "c++", tmp_path / "calls"
    count = f'case "$*" in *-shared*) echo >>"{calls}";; esac'
    compiler.write_text(f'#!/bin/sh\n{count}\nfor out; do :; done\ncp "{small_library}" "$out"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(building.SWITCH, raising=False)
    building.library.cache_clear()
    yield calls
    building.library.cache_clear()


def test_a_compiler_finds_no_error_in_the_sources() -> None:
    """Other tests are skipped where nothing can be compiled: they would hide one."""
    for functions in (STEP, KERNELS):
        assert str(functions.folder) not in building.problem(functions)


def answer() -> int:
    building.library.cache_clear()
    library = building.library(STEP)
    assert isinstance(library, ctypes.CDLL)
    return library.answer()


def _only_file(folder: Path) -> Path:
    (path,) = (folder / "openwork" / building.CACHE).iterdir()
    return path


def _zeros(path: Path) -> None:
    data = path.read_bytes()
    path.unlink()  # the library is loaded in this process: its own bytes stay
    path.write_bytes(data[:4096] + bytes(len(data) - 4096))


def _flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.unlink()
    path.write_bytes(data)


def _cut(path: Path) -> None:
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data[: len(data) // 2])


def _empty(path: Path) -> None:
    path.unlink()
    path.touch()


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _without_checksum(path: Path) -> None:
    path.rename(path.with_name(path.name[: -len(".so") - 64] + ".so"))


@needs_compiler
@pytest.mark.parametrize("damage", [_zeros, _flipped, _cut, _empty, _folder, _pipe, _without_checksum, os.unlink])
def test_a_damaged_library_is_compiled_anew(
    compiled: Path, tmp_path: Path, small_library: Path, damage: Callable[[Path], None]
):
    assert answer() == 42
    assert answer() == 42
    assert compiled.read_text() == "\n"  # once
    path = _only_file(tmp_path)
    damage(path)
    assert answer() == 42
    assert compiled.read_text() == "\n\n"
    assert _only_file(tmp_path) == path
    assert path.read_bytes() == small_library.read_bytes()


@needs_compiler
def test_without_a_cache_nothing_is_compiled(compiled: Path, tmp_path: Path):
    (tmp_path / "openwork").touch()
    with pytest.raises(building.NotBuilt, match="no cache to keep the decoder's step in"):
        answer()
    assert not compiled.exists()


@needs_compiler
def test_a_cache_that_cannot_be_written(compiled: Path, tmp_path: Path):
    (tmp_path / "openwork").mkdir()
    (tmp_path / "openwork" / building.CACHE).touch()
    with pytest.raises(building.NotBuilt):
        answer()
