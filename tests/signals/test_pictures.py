"""Pictures as rows of numbers: what is read, what is refused, and the order of the pixels."""

import io
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from openwork.base.errors import DataError, OpenworkError, UsageError
from openwork.signals import content
from openwork.signals.patches import PicturePatches, cut, moved
from openwork.signals.pictures import read_picture
from openwork.signals.settings import PictureSettings

Image = pytest.importorskip("PIL.Image", reason="needs the extra vision")
GREY = PictureSettings(height=4, width=4, channels=1, patch=2)


def test_patches_by_hand() -> None:
    """The first channel of a patch row by row, then the next; patches row by row."""
    pixels = np.arange(2 * 4 * 2, dtype=np.uint8).reshape(2, 4, 2)
    assert cut(pixels, 2).tolist() == [[0, 2, 8, 10, 1, 3, 9, 11], [4, 6, 12, 14, 5, 7, 13, 15]]


def test_a_model_reads_scaled_numbers() -> None:
    settings = PictureSettings(height=2, width=2, channels=3, patch=2, mean=(0.0, 0.5, 1.0), deviation=(1.0, 0.5, 0.25))
    found = settings.form.read(np.array([[255] * 12], np.uint8))
    np.testing.assert_allclose(found, [[1.0] * 4 + [1.0] * 4 + [0.0] * 4], atol=1e-6)
    assert settings.form.read(np.zeros((1, 12), np.uint8))[0].tolist() == [0.0] * 4 + [-1.0] * 4 + [-4.0] * 4


@pytest.mark.parametrize("ending", ["png", "jpg", "bmp", "pgm", "gif", "webp"])
def test_every_format_is_read(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"one.{ending}"
    Image.new("L", (8, 8), 200).save(path)
    found = read_picture(str(path), GREY)
    assert found.shape == (4, 4, 1) and abs(found.astype(int) - 200).max() <= 2


def test_colours_and_first_frames(tmp_path: Path) -> None:
    path = tmp_path / "moving.gif"
    frames = [Image.new("RGB", (4, 4), colour) for colour in ((255, 0, 0), (0, 0, 255))]
    frames[0].save(path, save_all=True, append_images=frames[1:])
    settings = GREY.model_copy(update={"channels": 3})
    assert read_picture(str(path), settings)[0, 0].tolist() == [255, 0, 0]
    pixels = np.zeros((4, 4, 3), np.uint8)
    pixels[:, :, 2] = 9
    assert np.array_equal(read_picture(pixels, settings), pixels)


def test_a_path_and_its_pixels_give_the_same(tmp_path: Path) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (7, 5), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "one.png")
    from_path, from_pixels = PicturePatches(GREY).encode_batch([str(tmp_path / "one.png"), pixels])
    assert np.array_equal(from_path, from_pixels) and from_path.shape == (4, 4) and from_path.dtype == np.uint8


def test_a_turned_photograph_is_upright(tmp_path: Path) -> None:
    pixels = np.zeros((4, 4), np.uint8)
    pixels[0] = 255
    picture = Image.fromarray(pixels)
    exif = picture.getexif()
    exif[0x0112] = 3  # turned by half
    picture.save(tmp_path / "one.png", exif=exif)
    assert read_picture(str(tmp_path / "one.png"), GREY)[:, 0, 0].tolist() == [0, 0, 0, 255]


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png(width: int, height: int, rows: bytes) -> bytes:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def of(kind: str, **options: Any) -> bytes:
    made = io.BytesIO()
    Image.new(options.pop("mode", "L"), (64, 64), 7).save(made, kind, **options)
    return made.getvalue()


REFUSED = {
    "text": (b"not a picture\n", "D141", "no known format"),
    "empty": (b"", "D141", "no known format"),
    "cut short": (of("PNG")[:60], "D141", ""),
    "half a JPEG": (of("JPEG")[:300], "D141", ""),
    "a format that is not read": (of("TIFF"), "D141", "no known format"),
    "large": (png(9_000, 9_000, b"\0" * 100), "D142", "more than 64,000,000"),
    "a bomb": (png(40_000, 40_000, b"\0" * 100), "D142", "more than 64,000,000"),
    "sixteen bits": (of("PNG", mode="I;16"), "D143", "8 bits"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_picture_is_refused_by_name(name: str, tmp_path: Path) -> None:
    content, code, said = REFUSED[name]
    path = tmp_path / "bad.png"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"bad\.png") as refused:
        read_picture(str(path), GREY)
    assert refused.value.code == code and refused.value.hint
    assert said in f"{refused.value.what} {refused.value.why}"


@pytest.mark.slow
def test_damage_at_any_place_is_an_error_or_a_picture(tmp_path: Path) -> None:
    generator, path = np.random.default_rng(5), tmp_path / "bad"
    for kind in ("PNG", "JPEG", "GIF", "BMP", "WEBP", "PPM"):
        whole = np.frombuffer(of(kind), np.uint8)
        for _ in range(40):
            changed = whole.copy()
            changed[generator.integers(0, len(changed), 4)] = generator.integers(0, 256, 4)
            path.write_bytes(changed[: generator.integers(1, len(changed) + 1)].tobytes())
            try:
                assert read_picture(str(path), GREY).shape == (4, 4, 1)
            except OpenworkError as error:
                assert str(path) in error.what


def test_missing_and_oversized_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (tmp_path / "none.png", tmp_path):
        with pytest.raises(DataError) as refused:
            read_picture(str(path), GREY)
        assert refused.value.code == "D144"
    with pytest.raises(DataError) as refused:
        read_picture("nul\0.png", GREY)
    assert refused.value.code in ("D144", "D145")
    (tmp_path / "large.png").write_bytes(of("PNG"))
    monkeypatch.setattr(content, "MOST_BYTES", 50)
    with pytest.raises(DataError, match=r"large\.png") as refused:
        read_picture(str(tmp_path / "large.png"), GREY)
    assert refused.value.code == "D146"


@pytest.mark.parametrize("pixels", [np.zeros((4, 4)), np.zeros((4, 4, 2), np.uint8), np.zeros((0, 4), np.uint8), [[1]]])
def test_pixels_of_another_form_are_refused(pixels: Any) -> None:
    with pytest.raises(UsageError) as refused:
        read_picture(pixels, GREY)
    assert refused.value.code == "U113"


def test_one_sentence_without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(UsageError, match="Pillow") as refused:
        read_picture("one.png", GREY)
    assert refused.value.code == "U112" and "pip install pillow" in refused.value.hint


@pytest.mark.parametrize(
    "changes", [{"height": 5}, {"mean": (0.1, 0.2)}, {"deviation": (1.0, 1.0)}, {"deviation": (0.0,)}]
)
def test_settings_that_do_not_fit(changes: dict[str, Any]) -> None:
    with pytest.raises((ValidationError, OpenworkError)):
        PictureSettings.model_validate({**GREY.model_dump(), **changes})


def test_other_settings_have_another_fingerprint() -> None:
    others = [GREY, GREY.model_copy(update={"mean": (0.1,)}), GREY.model_copy(update={"patch": 4})]
    assert len({PicturePatches(one).fingerprint for one in others}) == 3


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any, **options: Any) -> None:
        raise PermissionError(13, "Permission denied")

    Image.new("L", (4, 4)).save(tmp_path / "one.png")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError) as refused:
        read_picture(str(tmp_path / "one.png"), GREY)
    assert refused.value.code == "D145"


def test_a_picture_is_moved_by_hand() -> None:
    """Down and to the right; the pixels at the edge fill what is left open."""
    pixels = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], np.uint8)[..., None]
    assert moved(pixels, (0, 0))[..., 0].tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert moved(pixels, (1, 0))[..., 0].tolist() == [[1, 2, 3], [1, 2, 3], [4, 5, 6]]
    assert moved(pixels, (0, -1))[..., 0].tolist() == [[2, 3, 3], [5, 6, 6], [8, 9, 9]]
    assert moved(pixels, (-5, 5))[..., 0].tolist() == [[7, 7, 7], [7, 7, 7], [7, 7, 7]]
    settings = PictureSettings(height=3, width=3, channels=1, patch=3, shift=1)
    encoder = PicturePatches(settings)
    (found,) = encoder.encode_batch([pixels[..., 0]], *settings.views[1])
    assert found.tolist() == [[1, 2, 3, 1, 2, 3, 4, 5, 6]]
    (found,) = encoder.encode_batch([pixels[..., 0]], shift=(1, 0), is_mirrored=True)
    assert found.tolist() == [[3, 2, 1, 3, 2, 1, 6, 5, 4]]
    assert len(settings.views) == 5 and PictureSettings().views == (((0, 0), False),)
    both = PictureSettings(shift=2, mirror=True).views
    assert len(set(both)) == 10 and ((0, -2), True) in both


def test_opened_pictures_and_those_of_a_file_give_the_same_rows(tmp_path: Path) -> None:
    """Grey and coloured, in the size of the settings and in another, with a question and without."""
    path = str(tmp_path / "one.png")
    Image.fromarray(np.random.default_rng(1).integers(0, 256, (5, 9, 3), np.uint8)).save(path)
    for channels, (height, width), words in ((1, (5, 9), None), (3, (10, 6), ("what", "where"))):
        settings = PictureSettings(height=height, width=width, channels=channels, patch=1, words=words)
        encoder = PicturePatches(settings)
        sources = [path] if words is None else [path, f"{path}\twhere what"]
        for view in ({}, {"shift": (0, -1), "is_mirrored": True}):
            found = encoder.encode_batch([encoder.opened(source) for source in sources], **view)
            for ours, theirs in zip(found, encoder.encode_batch(sources, **view), strict=True):
                assert np.array_equal(ours, theirs)
    assert encoder.encode_batch([]) == []
