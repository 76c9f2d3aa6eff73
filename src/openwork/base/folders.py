"""Atomic writing of folders, without losing files of others in them."""

import contextlib
import ctypes
import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from openwork.base.errors import OpenworkError
from openwork.base.files import flush_to_disk, remove, writing

_ASIDE = ".openwork.old"
_MANY = 1000  # files and folders that are flushed by one call, which takes a moment where theirs take seconds
_LONGEST_NAME = 255  # bytes, on all common file systems
_HERE, _RENAME_EXCHANGE = -100, 2  # AT_FDCWD, and the flag of renameat2


@contextlib.contextmanager
def atomic_folder(path: Path | str, own: Sequence[str] = ()) -> Iterator[Path]:
    """Yields a new empty folder, which replaces `path` when the block ends without error.

    In an older folder at `path`, only files named in `own` ("source/tokenizer.json") or like new ones are replaced. If
    it holds nothing else, the two folders are exchanged in one step. Otherwise, or if this process runs in it, the old
    files are removed and the new ones moved one by one, first `own[0]`, which identifies the folder: a crash can leave
    files missing, but never old and new ones mixed. On an earlier error the old folder is unchanged.
    """
    path = Path(os.path.realpath(path))
    is_fixed = path.is_dir() and (_is_here(path) or path.is_mount())  # such a folder cannot be exchanged
    with writing(path, path if is_fixed else None) as (path, partial):
        if path.exists() and not path.is_dir():
            raise OpenworkError(
                f"{path}: a file stands where a folder should be written", hint="choose another name", code="E001"
            )
        _bring_back(path)
        partial.mkdir()
        yield partial
        names = _flushed(partial)
        if is_fixed or not holds_only(path, {*own, *names}):
            _put_into(path, partial, names, own)
        else:
            _exchange(partial, path)
        flush_to_disk(path if is_fixed else path.parent)


@contextlib.contextmanager
def locked(lock: Path, busy: OpenworkError) -> Iterator[None]:
    """Meanwhile no other process has the lock; `busy` is raised where one has it. The system releases it at the end."""
    held = FileLock(lock, timeout=0, fallback_to_soft=False)
    with contextlib.suppress(OSError, NotImplementedError):  # a file system without locks
        try:
            held.acquire()
        except Timeout as error:
            raise busy from error
    try:
        yield
    finally:
        held.release()


def holds_only(folder: Path, own: set[str]) -> bool:
    """Whether every file in the folder and below, links included, has one of these names."""
    return all(name in own for name in _names_in(folder))


def blocked_name(folder: Path, names: Sequence[str]) -> Path | None:
    """A folder, or a link to one, in the place of one of these files, if there is one."""
    for name in names:
        path = folder / name
        for parent in path.relative_to(folder).parents:
            inner = folder / parent
            if parent != Path() and (inner.is_symlink() or (inner.exists() and not inner.is_dir())):
                return inner
        if path.is_dir():
            return path
    return None


def _names_in(folder: Path) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        inner = Path(place)
        for name in (*files, *(one for one in folders if (inner / one).is_symlink() or not os.listdir(inner / one))):
            yield (inner / name).relative_to(folder).as_posix()


def _is_here(folder: Path) -> bool:
    try:
        return Path.cwd().is_relative_to(folder)
    except OSError:  # the current folder is gone
        return False


def _flushed(folder: Path) -> list[str]:
    """Flushes the folder to the disk and returns the names of its files."""
    paths = [folder, *folder.rglob("*")]
    if len(paths) > _MANY and sys.platform == "linux":  # elsewhere it may return before all is written
        os.sync()
    else:
        for path in paths:
            flush_to_disk(path)
    return [path.relative_to(folder).as_posix() for path in paths if path.is_file()]


def _put_into(path: Path, new: Path, names: Sequence[str], own: Sequence[str]) -> None:
    """Replaces the folder's own files, and no others."""
    blocked = blocked_name(path, names)
    if blocked is not None:
        raise OpenworkError(
            f"{blocked}: a folder or a link stands where a file should be written",
            hint="choose another name",
            code="E029",
        )
    mark = own[0] if own else ""
    for name in [one for one in _names_in(path) if one in {*own, *names} and one != mark]:
        if not (path / name).is_dir():
            (path / name).unlink()
    for name in sorted(names, key=lambda name: (name != mark, name)):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(new / name, path / name)
    for place in {(path / name).parent for name in names}:
        flush_to_disk(place)


def _exchange(new: Path, path: Path) -> None:
    """Renames `new` to `path`. A folder cannot replace a full one: the two are exchanged, or where the system cannot do
    that the old one is renamed first."""
    if not path.exists():
        os.rename(new, path)
        return
    if _swap(new, path):
        return  # the caller removes what is now called `new`
    old = _put_aside(path)
    os.rename(path, old)
    try:
        os.rename(new, path)
    except OSError:
        os.rename(old, path)
        raise
    remove(old)


def _swap(one: Path, other: Path) -> bool:
    """Exchanges two names in one step, so that each always exists; False where the system cannot do that."""
    try:
        rename = ctypes.CDLL(None).renameat2  # Linux
    except (OSError, AttributeError):
        return False
    return rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _RENAME_EXCHANGE) == 0


def _put_aside(path: Path) -> Path:
    if len(os.fsencode(path.name)) <= _LONGEST_NAME - len(f".{_ASIDE}"):
        return path.with_name(f".{path.name}{_ASIDE}")
    return path.with_name(f".{path.name[:50]}.{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]}{_ASIDE}")


def _bring_back(path: Path) -> None:
    """Cleans up after a process that was killed while an old folder was renamed."""
    old = _put_aside(path)
    if old.is_dir() and path.exists():
        remove(old)
    elif old.is_dir():
        os.rename(old, path)
