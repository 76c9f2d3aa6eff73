"""Compilation of the C++ functions, once for each processor; the library is kept in the user's cache.

The name of the library has a fingerprint of the sources and of the processor's instructions, and the checksum of its
bytes. A library that another user could have written is not loaded. One with a wrong checksum is compiled again, since
loading it could end the process.
"""

import ctypes
import hashlib
import os
import platform
import shutil
import stat
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path

import torch

from openwork.base.cache import find_cache
from openwork.base.files import remove
from openwork.base.messages import msg
from openwork.machine.available import system_lines
from openwork.machine.device import has_avx512

FOLDER_OF_SOURCES = Path(__file__).parent
SOURCES = tuple(FOLDER_OF_SOURCES / name for name in ("encoder.cpp", "step.cpp", "best.cpp", "sentence.cpp"))
SHARED = tuple(sorted(FOLDER_OF_SOURCES.glob("*.h")))
COMPILERS = ("c++", "g++", "clang++")
ARM = ("aarch64", "arm64")  # names of processors with NEON
OWN = "-mcpu=native" if platform.machine() in ARM else "-march=native"  # all instructions of this processor
FLAGS = ("-std=c++17", "-O3", OWN, "-ffp-contract=fast", "-fPIC", "-w")
PATIENCE = 120  # seconds; it takes two to three
CACHE = "native"  # folder of the user's cache
SWITCH = "OPENWORK_NATIVE"
"""With this variable "off", nothing is compiled."""


class NotBuilt(Exception):
    """There is no library; the text gives the reason."""


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """The compiled functions; NotBuilt where there are none."""
    if os.environ.get(SWITCH) == "off":
        raise NotBuilt(f"{SWITCH} is off")
    compiler = find_compiler()
    folder = find_cache(CACHE)
    if folder is None:
        raise NotBuilt("there is no cache to keep the compiled step in")
    prefix = f"functions-{_fingerprint(compiler)}-"
    try:
        path = _find_whole(folder, prefix) or _compile(compiler, folder, prefix)
        _refuse_foreign(folder)
        _refuse_foreign(path)
    except OSError as error:
        raise NotBuilt(f"the decoder's step cannot be compiled: {error}") from error
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise NotBuilt(f"{path} cannot be loaded: {error}") from error


def problem() -> str:
    """Why the functions are not available on this machine; empty: they are."""
    if not (has_avx512() or torch.backends.cpu.get_cpu_capability() == "AVX2" or platform.machine() in ARM):
        return msg("the processor has neither AVX2 nor NEON")
    try:
        library()
    except NotBuilt as error:
        return str(error)
    return ""


def find_compiler() -> str:
    """The C++ compiler of this machine: the one of the variable CXX, or a usual one; NotBuilt without any."""
    named = os.environ.get("CXX")
    for name in (named,) if named else COMPILERS:
        if found := shutil.which(name):
            return found
    raise NotBuilt(f"no C++ compiler: {named or ', '.join(COMPILERS)}")


def _fingerprint(compiler: str) -> str:
    """The hash of all that the compiled code depends on; machines with different processors may share a home."""
    instructions = next((line for line in system_lines(Path("/proc/cpuinfo")) if line.startswith("flags")), "")
    sources = [path.read_text(encoding="utf-8") for path in (*SOURCES, *SHARED)]
    hashed = "\n".join([*sources, *FLAGS, compiler, platform.version(), platform.machine(), instructions])
    return hashlib.sha256(hashed.encode()).hexdigest()[:16]


def _find_whole(folder: Path, prefix: str) -> Path | None:
    """The library with the checksum of its name. Damaged ones are removed."""
    for path in sorted(folder.glob(f"{prefix}*.so")):
        if path.is_file() and path.name == _name(prefix, path):
            return path
        remove(path)
    return None


def _name(prefix: str, path: Path) -> str:
    with path.open("rb") as file:
        return f"{prefix}{hashlib.file_digest(file, 'sha256').hexdigest()}.so"


def _compile(compiler: str, folder: Path, prefix: str) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(prefix="openwork-", dir=folder) as work:
            objects = [str(Path(work) / f"{source.stem}.o") for source in SOURCES]
            with ThreadPoolExecutor() as pool:
                own = partial(_call, compiler, "-c")
                list(pool.map(own, map(str, SOURCES), objects))
            made = Path(work) / "functions.so"
            _call(compiler, "-shared", *objects, str(made))
            made.chmod(0o700)
            path = folder / _name(prefix, made)
            os.replace(made, path)
            return path
    except (OSError, subprocess.SubprocessError) as error:
        raise NotBuilt(f"the decoder's step cannot be compiled: {error}") from error


def _call(compiler: str, task: str, *files: str) -> None:
    """Makes the last of the files of the others."""
    command = [compiler, *FLAGS, task, *files[:-1], "-o", files[-1]]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=PATIENCE)
    if done.returncode != 0:
        raise NotBuilt(f"{compiler} cannot compile the decoder's step: {_first_error(done.stderr)}")


def _first_error(output: str) -> str:
    lines = output.splitlines()
    return next((line for line in lines if "error" in line), lines[-1] if lines else "it says nothing")


def _refuse_foreign(path: Path) -> None:
    """NotBuilt for a path that another user owns or may write: loading it would run that user's code."""
    about = path.stat()
    if about.st_uid != getattr(os, "getuid", lambda: about.st_uid)() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise NotBuilt(f"{path} could have been written by others")
