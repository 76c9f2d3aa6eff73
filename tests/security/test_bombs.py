"""What is small and would become large is refused within little memory."""

import gzip
import lzma
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzz.folders import sign_bundle
from openwork.base.errors import BundleError, DataError
from openwork.base.files import read_lines
from openwork.bundles.bundle import load_bundle


@pytest.mark.slow
@pytest.mark.parametrize("pack", [lambda data: gzip.compress(data, 1), lambda data: lzma.compress(data, preset=0)])
def test_a_line_without_end_in_a_small_file(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "a"
    path.write_bytes(pack(b"x" * 60_000_000))
    assert path.stat().st_size < 1_000_000
    tracemalloc.start()
    with pytest.raises(DataError, match="longer than"):
        list(read_lines(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16_000_000


def test_an_archive_in_an_archive_is_not_unpacked_twice(tmp_path: Path) -> None:
    inner = gzip.compress(b"secret\n" * 1000, mtime=0)
    (tmp_path / "a").write_bytes(gzip.compress(inner))
    with pytest.raises(DataError):
        list(read_lines(tmp_path / "a"))


@pytest.mark.parametrize(
    ("key", "value"), [("width", 1 << 16), ("feedforward_width", 1 << 17), ("encoder_layers", 1000)]
)
def test_a_bundle_whose_settings_ask_for_more_than_its_weights(bundle_folder: Path, key: str, value: int) -> None:
    path = bundle_folder / "config.toml"
    text, count = re.subn(rf"(?m)^{key} = \d+$", f"{key} = {value}", path.read_text())
    assert count == 1
    path.write_text(text)
    sign_bundle(bundle_folder)
    with pytest.raises(BundleError, match="these weights belong to"):
        load_bundle(bundle_folder)
