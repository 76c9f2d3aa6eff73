"""Every module loads where the modules that only Unix has are missing, as on Windows."""

import subprocess
import sys

import pytest

from architecture.house import house

UNIX_ALONE = "fcntl resource pwd grp termios tty pty syslog"
# Hidden from openwork alone: what psutil and torch import on this system, they import on others differently.
PROGRAM = """
import builtins, importlib, sys

hidden, wanted, before = sys.argv[1].split(), sys.argv[2].split(), builtins.__import__

def importing(name, globals=None, *more):
    if name in hidden and (globals or {}).get("__name__", "").startswith("openwork"):
        raise ModuleNotFoundError(f"{globals['__name__']} imports {name}")
    return before(name, globals, *more)

builtins.__import__ = importing
for name in wanted:
    importlib.import_module(name)
print(len(wanted))
"""


def loaded(*names: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, UNIX_ALONE, " ".join(names)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_no_module_needs_what_only_unix_has():
    # kernels are loaded where a GPU is, with the package that compiles them
    names = [name for name in house().modules if name != "__main__" and not name.endswith("_kernels")]
    names = [f"openwork.{name}".rstrip(".") for name in names]
    done = loaded(*names)
    assert (done.stderr, done.stdout) == ("", f"{len(names)}\n")


@pytest.mark.slow
def test_it_would_be_noticed(tmp_path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "openwork_of_unix.py").write_text("import termios\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert "openwork_of_unix imports termios" in loaded("openwork_of_unix").stderr
