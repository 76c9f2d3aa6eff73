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
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path

import torch

from openwork.base.cache import find_cache
from openwork.base.files import remove
from openwork.base.messages import msg
from openwork.machine.available import system_lines
from openwork.machine.device import has_avx512

SHARED = Path(__file__).parent  # headers for all functions
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


@dataclass(frozen=True)
class Functions:
    """Those of some C++ files of a folder, which may include its headers and those here. `name`: what they compute."""

    name: str
    folder: Path
    sources: tuple[str, ...]

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        return tuple(self.folder / name for name in self.sources)

    @cached_property
    def headers(self) -> tuple[Path, ...]:
        return (*sorted(SHARED.glob("*.h")), *sorted(self.folder.glob("*.h")))


@cache
def library(functions: Functions) -> ctypes.CDLL:
    """The compiled functions; NotBuilt where there are none."""
    if os.environ.get(SWITCH) == "off":
        raise NotBuilt(f"{SWITCH} is off")
    compiler = find_compiler()
    folder = find_cache(CACHE)
    if folder is None:
        raise NotBuilt(f"there is no cache to keep {functions.name} in, compiled")
    prefix = f"functions-{_fingerprint(functions, compiler)}-"
    try:
        path = _find_whole(folder, prefix) or _compile(functions, compiler, folder, prefix)
        _refuse_foreign(folder)
        _refuse_foreign(path)
    except OSError as error:
        raise NotBuilt(f"{functions.name} cannot be compiled: {error}") from error
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise NotBuilt(f"{path} cannot be loaded: {error}") from error


def problem(functions: Functions) -> str:
    """Why the functions are not available on this machine; empty: they are."""
    if not (has_avx512() or torch.backends.cpu.get_cpu_capability() == "AVX2" or platform.machine() in ARM):
        return msg("the processor has neither AVX2 nor NEON")
    try:
        library(functions)
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


def _fingerprint(functions: Functions, compiler: str) -> str:
    """The hash of all that the compiled code depends on; machines with different processors may share a home."""
    instructions = next((line for line in system_lines(Path("/proc/cpuinfo")) if line.startswith("flags")), "")
    sources = [path.read_text(encoding="utf-8") for path in (*functions.paths, *functions.headers)]
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


def _compile(functions: Functions, compiler: str, folder: Path, prefix: str) -> Path:
    call = partial(_call, functions, compiler)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(prefix="openwork-", dir=folder) as work:
            objects = [str(Path(work) / f"{source.stem}.o") for source in functions.paths]
            with ThreadPoolExecutor() as pool:
                list(pool.map(partial(call, "-c"), map(str, functions.paths), objects))
            made = Path(work) / "functions.so"
            call("-shared", *objects, str(made))
            made.chmod(0o700)
            path = folder / _name(prefix, made)
            os.replace(made, path)
            return path
    except (OSError, subprocess.SubprocessError) as error:
        raise NotBuilt(f"{functions.name} cannot be compiled: {error}") from error


def _call(functions: Functions, compiler: str, task: str, *files: str) -> None:
    """Makes the last of the files of the others."""
    command = [compiler, *FLAGS, f"-I{SHARED}", task, *files[:-1], "-o", files[-1]]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=PATIENCE)
    if done.returncode != 0:
        raise NotBuilt(f"{compiler} cannot compile {functions.name}: {_first_error(done.stderr)}")


def _first_error(output: str) -> str:
    lines = output.splitlines()
    return next((line for line in lines if "error" in line), lines[-1] if lines else "it says nothing")


def _refuse_foreign(path: Path) -> None:
    """NotBuilt for a path that another user owns or may write: loading it would run that user's code."""
    about = path.stat()
    if about.st_uid != getattr(os, "getuid", lambda: about.st_uid)() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise NotBuilt(f"{path} could have been written by others")
