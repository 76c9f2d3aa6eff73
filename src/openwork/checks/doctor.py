"""`openwork doctor`: the machine, its accelerated operations, the installed packages, and what is missing."""

import importlib.metadata
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from openwork import __version__
from openwork.base.cache import VARIABLE as CACHE_VARIABLE
from openwork.base.cache import find_cache
from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined, Padded, shown_width
from openwork.data.corpora.corpus import VARIABLE
from openwork.inference.prepared import native
from openwork.inference.prepared.products import available
from openwork.machine.available import memory_of_machine, system_lines
from openwork.machine.card import Card, card_of
from openwork.machine.device import choose_device
from openwork.machine.native.building import NotBuilt, find_compiler
from openwork.machine.precision import PrecisionName, choose_precision, matrix_rate

LIBRARIES = ("torch", "numpy", "tokenizers", "safetensors", "sacrebleu", "sacremoses", "pydantic", "typer", "jaxtyping")
LITTLE_DISK = 1 << 30  # bytes; a checkpoint of a small model takes a tenth of it
GIGABYTE = 1e9


# The extras of the package, and the purpose of each.
EXTRAS = {
    "spm": Joined("SentencePiece models"),
    "data": Joined("the corpus hsk"),
    "languages": Joined("detecting languages"),
    "vision": Joined("reading pictures"),
    "audio": Joined("reading sounds"),
    "tensorboard": Joined("curves for TensorBoard"),
    "experiments": Joined("searches and reports of openwork experiment"),
    "scale": Joined("workers of Ray, Parquet files"),
    "serve": Joined("a server of translations"),
    "export": Joined("graphs of ONNX"),
    "parity": Joined("tests against other toolkits"),
}


@dataclass(frozen=True)
class DoctorLine:
    """One line of the report: a name, what was found, and advice where something can be improved."""

    name: str
    found: str
    advice: str = ""


def examine(*, measure: bool = True) -> list[DoctorLine]:
    """Examines everything; `measure` also times matrix products, which takes a second or two."""
    parts = (_software, _machine, _extras, _places, *((_speed,) if measure else ()))
    return [finding for part in parts for finding in part()]


def doctor_lines(found: list[DoctorLine]) -> Iterator[str]:
    """The report for a person: what was found, in a column, then the advice."""
    width = max(shown_width(finding.name) for finding in found) + 2
    for finding in found:
        yield Joined(Padded(finding.name, width), finding.found)
    advised = [finding for finding in found if finding.advice]
    if not advised:
        yield msg("nothing is missing")
    for finding in advised:
        yield Joined(finding.name, AsIs(": "), finding.advice)


def doctor_values(found: list[DoctorLine]) -> list[dict[str, Any]]:
    return [{"name": one.name, "found": str(one.found), "advice": str(one.advice)} for one in found]


def _software() -> Iterator[DoctorLine]:
    system = f"Python {platform.python_version()}, {platform.platform()}"
    yield DoctorLine(AsIs("openwork"), AsIs(f"{__version__}, {system}"))
    versions = {name: _version(name) for name in LIBRARIES} | {"torch": torch.__version__}  # with the build
    yield DoctorLine("libraries", AsIs(", ".join(f"{name} {version}" for name, version in versions.items())))


def _machine() -> Iterator[DoctorLine]:
    yield DoctorLine("processor", AsIs(f"{processor_name()}: {torch.get_num_threads()} of {os.cpu_count()}"))
    yield DoctorLine(
        "instructions",
        AsIs(f"{torch.backends.cpu.get_cpu_capability()}; {', '.join(available())}"),
        "" if len(available()) > 1 else "no instructions for bf16 or int8: float32 is used",
    )
    if torch.cuda.is_available():
        memory = torch.cuda.get_device_properties(0).total_memory / GIGABYTE
        found = f"{torch.cuda.get_device_name(0)}, {memory:.0f} GB; CUDA {torch.version.cuda}"
        yield DoctorLine("graphics card", AsIs(found))
        if (card := card_of(torch.device("cuda"))) is not None:
            yield computing_on(card)
    else:
        yield DoctorLine(
            "graphics card",
            "none that torch can use: the processor computes everything",
            "torch is built for CUDA and finds no GPU: is its driver installed?" if torch.version.cuda else "",
        )
    memory = memory_of_machine()
    yield DoctorLine("memory", f"{memory.total / GIGABYTE:.1f} GB, {memory.free / GIGABYTE:.1f} GB of it free")
    try:
        yield DoctorLine("compiler", AsIs(Path(find_compiler()).name))
    except NotBuilt:
        yield DoctorLine("compiler", "none: training.compile is not possible")
    missing = native.problem()
    yield DoctorLine("translating", f"without compiled functions: {missing}" if missing else "with compiled functions")


def computing_on(card: Card) -> DoctorLine:
    """How trainings and translations compute on a GPU."""
    if not card.has_bfloat16:
        return DoctorLine("computing there", "trainings in float32, translations in float16")
    if not card.runs_kernels:
        return DoctorLine(
            "computing there",
            "trainings in bfloat16 on packed rows, translations in float16",
            "without Triton, which torch's builds for CUDA on Linux bring, there are no kernels for short sentences",
        )
    return DoctorLine("computing there", "trainings in bfloat16, captured as graphs; translations in float16")


def _extras() -> Iterator[DoctorLine]:
    for extra, use in EXTRAS.items():
        missing = [name for name in _packages_of(extra) if _version(name) == "-"]
        advice = Joined(AsIs(f"pip install {' '.join(missing)} "), "if you need it") if missing else ""
        yield DoctorLine(use, "not installed" if missing else "installed", advice)


def _places() -> Iterator[DoctorLine]:
    data = os.environ.get(VARIABLE)
    if data and not Path(data).is_dir():
        yield DoctorLine(VARIABLE, AsIs(data), "there is no such folder: no corpora are read from it")
    elif data:
        yield DoctorLine(VARIABLE, AsIs(data))
    if cache := find_cache(""):
        yield DoctorLine("downloaded corpora", AsIs(str(cache)))
    else:
        yield DoctorLine("downloaded corpora", "no cache", f"set {CACHE_VARIABLE} to a folder that you may write")
    for place in (Path.cwd(), Path(tempfile.gettempdir())):
        free = shutil.disk_usage(place).free
        yield DoctorLine(
            AsIs(str(place)),
            f"{free / GIGABYTE:.1f} GB free",
            "little free disk: checkpoints need some" if free < LITTLE_DISK else "",
        )


def _speed() -> Iterator[DoctorLine]:
    device = choose_device()
    precisions: tuple[PrecisionName, ...] = ("float32", "bfloat16")
    rates = {precision: matrix_rate(precision, device, seconds=0.5) / GIGABYTE for precision in precisions}
    yield DoctorLine("matrix products", AsIs(", ".join(f"{name} {rate:,.0f} GFLOP/s" for name, rate in rates.items())))
    chosen = choose_precision("auto", device)
    workers = 1 if device.type != "cpu" else torch.get_num_threads()
    yield DoctorLine("training chooses", f"{chosen}, workers: {workers}")


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "-"


def _packages_of(extra: str) -> list[str]:
    try:
        needed = importlib.metadata.requires("openwork") or []
    except importlib.metadata.PackageNotFoundError:  # not installed
        return []
    return [re.split(r"[\s<>=!~;\[]", one)[0] for one in needed if re.search(rf"extra\s*==\s*['\"]{extra}['\"]", one)]


def processor_name() -> str:
    """The processor's name as the system gives it; empty where it gives none."""
    lines = system_lines(Path("/proc/cpuinfo"))
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())
