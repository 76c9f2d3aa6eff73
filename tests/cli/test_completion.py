"""Completion scripts that a shell accepts, and the answers they get from the command line."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from journeys.command import COMMAND, PATIENCE, openwork
from openwork.cli.completion import SHELLS, VARIABLE

pytestmark = pytest.mark.slow


def answers(*words: str) -> list[str]:
    """What could stand at the cursor, behind these words."""
    asked = {VARIABLE: "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    result = openwork(env={**os.environ, **asked})
    assert result.code == 0, result.err
    return result.lines


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("openwork", "tra"), {"train", "transcribe", "translate"}),
        (("openwork", "config", "sc"), {"schema"}),
        (("openwork", "score", "--so"), {"--source"}),
    ],
)
def test_answers(words: tuple[str, ...], expected: set[str]):
    assert set(answers(*words)) == expected


@pytest.mark.parametrize("shell", SHELLS)
def test_script_is_for_our_name_and_variable(shell: str):
    result = openwork("completion", shell)
    assert result.code == 0 and result.err == ""
    text = result.out.decode()
    assert f"{VARIABLE}=complete_{shell}" in text and "openwork" in text


def test_bash_takes_the_script_and_completes(tmp_path: Path):
    """The whole way: bash reads the script, calls the function as it does on Tab, and gets the words."""
    if not shutil.which("bash"):
        pytest.skip("needs bash")
    program = tmp_path / "openwork"
    program.write_text(f'#!/bin/sh\nexec {" ".join(COMMAND)} "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$(openwork completion bash)"; complete -p openwork; '
        "COMP_WORDS=(openwork tra); COMP_CWORD=1; _openwork_completion openwork; echo ${COMPREPLY[@]}"
    )
    path = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=PATIENCE, env=path, check=True
    )
    assert "complete -o default -F _openwork_completion openwork" in done.stdout
    assert set(done.stdout.splitlines()[-1].split()) == {"train", "transcribe", "translate"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_shell_accepts_the_script(shell: str, tmp_path: Path):
    if not shutil.which(shell):
        pytest.skip(f"needs {shell}")
    (tmp_path / "script").write_bytes(openwork("completion", shell).out)
    subprocess.run([shell, "-n", tmp_path / "script"], timeout=PATIENCE, check=True)


def test_answering_loads_nothing_heavy():
    code = "import sys; from openwork.cli.main import main\ntry: main()\nfinally: print('LOADED', *sys.modules)"
    asked = {VARIABLE: "complete_bash", "COMP_WORDS": "openwork tra", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **asked}, timeout=PATIENCE
    )
    loaded = done.stdout.splitlines()[-1].split()
    assert loaded[0] == "LOADED" and not {"torch", "numpy", "tokenizers", "sacrebleu"} & set(loaded)
