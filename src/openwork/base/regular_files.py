"""Safe reading of untrusted folders: only regular files of bounded sizes, opened without waiting.

A link may lead to any file of this machine, a pipe may block for ever, and a device such as /dev/zero never ends.
"""

import hashlib
import os
import stat
from collections.abc import Iterable
from errno import ELOOP
from io import BufferedReader
from pathlib import Path
from typing import NoReturn

from openwork.base.errors import BundleError

# No link is followed, no pipe is waited for, no child process gets the file; Windows knows none of these.
CAUTIOUS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_HUB_FILES = "blobs"  # where Hugging Face's cache keeps the files to which the links in a snapshot lead


def open_regular(path: Path, most: int) -> BufferedReader:
    """Opens a regular file of at most `most` bytes for reading.

    Raises BundleError for a link, a pipe, a device, a folder and a larger file, OSError for errors of the system.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | CAUTIOUS)
    except ValueError as error:  # a name with NUL
        raise OSError(str(error)) from error
    except OSError as error:
        if error.errno == ELOOP:
            _refuse(path)
        raise
    try:
        _check_opened(path, os.fstat(descriptor), most)
    except BundleError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def _check_opened(path: Path, opened: os.stat_result, most: int) -> None:
    if not stat.S_ISREG(opened.st_mode):
        _refuse(path)
    if opened.st_size > most:
        raise BundleError(
            f"{path}: too large for what it should hold",
            why=f"more than {most:,} bytes",
            hint="copy the whole folder again, and trust no other copy",
            code="B069",
        )


def read_regular(path: Path, most: int) -> bytes:
    """The content of a regular file of at most `most` bytes; see `open_regular`."""
    with open_regular(path, most) as file:
        return file.read()


def sha256_regular(path: Path, most: int) -> str:
    """The SHA-256, in hexadecimal, of a regular file of at most `most` bytes."""
    with open_regular(path, most) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_regular(paths: Iterable[Path]) -> None:
    """BundleError for the first path that is neither a regular file nor a folder, such as a link."""
    for path in paths:
        mode = path.lstat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            _refuse(path)


def check_downloaded(folder: Path) -> None:
    """BundleError for a link out of a folder of another toolkit, and for a path that is neither a file nor a folder.

    Links in Hugging Face's cache are allowed, from `snapshots/REVISION/NAME` to `blobs`.
    """
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return  # its readers report that it does not exist
    homes = [folder]
    if folder.resolve().parent.name == "snapshots":
        homes.append(folder.resolve().parents[1] / _HUB_FILES)
    for path in entries:
        leads_within = path.is_symlink() and path.exists() and any(is_within(path, home) for home in homes)
        check_regular([path.resolve() if leads_within else path])


def is_within(path: Path, folder: Path) -> bool:
    """Whether a path, links followed, lies in the folder."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # links in a circle, a name with NUL
        return False


def _refuse(path: Path) -> NoReturn:
    raise BundleError(
        f"{path}: not a regular file of its folder",
        why="a link, a pipe or a device may lead to any other file, or never end",
        hint="put the file itself in its place, if you trust it",
        code="B070",
    )


def unreadable(path: Path, error: OSError) -> BundleError:
    return BundleError(
        f"{path}: cannot be read",
        why=error.strerror or str(error),
        hint="check that it is a file, and that you may read it",
        code="B001",
    )
