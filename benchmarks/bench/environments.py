"""An environment of its own for each peer, under .bench: made once, by package names and versions from a file.

Peers need versions that contradict ours and one another's. torch comes first and alone, as in the Makefile's setup,
because asked for with the rest pip would take the CUDA build, which is several GB. What a peer asks for and does not
need (a linter, an old protobuf) is left out: such a peer is installed without its dependencies, and those that it uses
stand in its file.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

REQUIREMENTS = Path(__file__).parent.parent / "peers"
STAMP = "installed"
LOG = "installing.log"
TORCH_INDEX = "OPENWORK_TORCH_INDEX"  # where PyTorch's own CPU builds are; the Makefile knows


class CannotPrepare(Exception):
    """The environment of a peer could not be made; the text says why."""


@dataclass(frozen=True)
class Environment:
    """Where a peer is installed. `needs`: files of requirements; those named ...-alone go without dependencies."""

    name: str
    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def needs(self) -> list[Path]:
        names = (f"requirements-{self.name}.txt", f"requirements-{self.name}-alone.txt")
        return [REQUIREMENTS / name for name in names if (REQUIREMENTS / name).is_file()]

    @property
    def stamp(self) -> str:
        """What is wanted, in short: another text makes the environment anew."""
        return hashlib.sha256("".join(path.read_text() for path in self.needs).encode()).hexdigest()


def prepare(root: Path, name: str, device: str, say: Callable[[str], None]) -> Environment:
    """The environment, made if it is not there yet; CannotPrepare with the end of pip's words."""
    environment = Environment(name, root / name)
    done = environment.folder / STAMP
    if done.is_file() and done.read_text() == environment.stamp:
        return environment
    say(f"preparing {name} (once)")
    _run([sys.executable, "-m", "venv", "--clear", str(environment.folder)], environment)
    install = [str(environment.python), "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
    for wanted in _torch(environment):
        _install_torch(install, wanted, device, environment)
    for path in environment.needs:
        alone = ["--no-deps"] if path.stem.endswith("-alone") else []
        _run([*install, *alone, "-r", str(path)], environment)
    done.write_text(environment.stamp)
    return environment


def _torch(environment: Environment) -> list[str]:
    lines = [line.strip() for path in environment.needs for line in path.read_text().splitlines()]
    return [line for line in lines if line.startswith("torch==")]


def torch_commands(install: Sequence[str], wanted: str, device: str, index: str) -> list[list[str]]:
    """The ways to install torch in the order in which they are tried: for a CPU never the CUDA build."""
    alone = [*install, "--no-deps"]
    if device != "cpu":
        return [[*alone, wanted]]
    ways = [[*alone, f"{wanted}+cpu"]]
    if index:
        ways.append([*alone, "--retries", "1", "--timeout", "20", wanted, "--index-url", index])
    return ways


def _install_torch(install: Sequence[str], wanted: str, device: str, environment: Environment) -> None:
    ways = torch_commands(install, wanted, device, os.environ.get(TORCH_INDEX, ""))
    for number, way in enumerate(ways):
        try:
            return _run(way, environment)
        except CannotPrepare:
            if number == len(ways) - 1:
                raise


def _run(command: Sequence[str], environment: Environment) -> None:
    environment.folder.mkdir(parents=True, exist_ok=True)
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    with (environment.folder / LOG).open("a") as log:
        log.write(ended.stdout + ended.stderr)
    if ended.returncode != 0:
        told = [line for line in ended.stderr.splitlines() if line.startswith("ERROR")] or ended.stderr.splitlines()
        raise CannotPrepare(f"{environment.name} cannot be installed: {' '.join(told[-2:])}")
