"""Each command of the command line, with something small that it can do; a test says when one is missing here."""

import io
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from journeys.command import TINY
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.cli.main import app, main

# {} is the folder that `prepared` fills. What a tiny translator cannot do is refused, in a sentence of its own.
WORK: dict[str, str] = {
    "demo": "--out {}/a.en",  # a file: refused, for the demo itself takes minutes
    "train": "{}/run.toml --preflight",
    "finish": "{}/none",  # a run is finished in tests/runs/test_run_length.py
    "translate": "--bundle {}/bundle",
    "classify": "--bundle {}/bundle",
    "tag": "--bundle {}/bundle",
    "fill": "--bundle {}/bundle",
    "answer": "--bundle {}/bundle",
    "complete": "--bundle {}/bundle",
    "transcribe": "{}/bundle {}/a.en",
    "daemon": "{}/none",  # started in tests/serving/test_daemon.py
    "serve": "{}/none",  # a server is started in tests/serving/test_server.py
    "caption": "{}/bundle",
    "forecast": "{}/bundle {}/a.en",
    "evaluate": "--bundle {}/bundle --source {}/a.en --reference {}/a.de --out {}/evaluation",
    "baseline": "--corpus sst2",
    "compare": "{}/a.en {}/a.de --reference {}/a.de --resamples 10 --trials 10",
    "score": "--bundle {}/bundle --source {}/a.en --target {}/a.de",
    "bits": "--bundle {}/bundle --test {}/a.en",
    "average": "{}/bundle {}/bundle --out {}/average",
    "shortlist": "--bundle {}/bundle --source {}/a.en --target {}/a.de --out {}/shortlist",
    "import": "hf {}/bundle --out {}/imported",
    "export": "{}/bundle --to ct2 --out {}/ct2",
    "quantise": "{}/bundle --to int8 --out {}/eight-bits",
    "prune": "{}/bundle --source {}/a.en --target {}/a.de --heads 1 --out {}/pruned",
    "distill": "{}/bundle --source {}/a.en",  # a student is trained in tests/runs/synthetic
    "backtranslate": "{}/bundle --source {}/a.en --out {}/back",
    "info": "{}/bundle",
    "verify": "{}/bundle",
    "experiment run": "{}/experiment.toml --out {}/experiment",
    "experiment resume": "{}/none",
    "experiment status": "{}/none",
    "experiment report": "{}/none",
    "experiment power": "--seeds 0.4 --sentences 12",
    "coach": "{}/none.toml",  # it trains for a minute
    "tokenize": "--bundle {}/bundle --show-work",
    "attention": "{}/bundle a",
    "explain": "a --bundle {}/bundle",
    "beam": "{}/bundle a",
    "runs": "{}/none",  # runs are made in tests/runs/test_compared.py
    "paper": "eq 1",
    "study": "",
    "doctor": "",
    "completion": "bash",
    "config show": "{}/run.toml --origin",
    "config explain": "training.warmup",
    "config schema": "translation",
    "config check": "{}/run.toml",
    "config recipes": "",
    "config from": "{}/train.sh",
    "data list": "",
    "data prepare": "copy --out {}/copy",
    "data stats": "{}/run.toml",
    "data clean": "--source {}/a.en --target {}/a.de --out {}/cleaned",
    "data check": "--source {}/a.en --target {}/a.de",
}

EXPERIMENT = """
[experiment]
kind = "factors"
base = "run.toml"
metric = "loss"

[budget]
updates = 2

[factors]
"model.dropout" = [0.1]
"""


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """The names of every command that does something, those within others too."""
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from leaves(inner, (*path, name))
    else:
        yield " ".join(path)


COMMANDS = sorted(leaves(typer.main.get_command(app)))


def arguments_of(command: str, folder: Path) -> list[str]:
    """The whole command line of its work in a prepared folder."""
    return [*command.split(), *(word.replace("{}", str(folder)) for word in WORK[command].split())]


def prepare(folder: Path, bundle: Bundle) -> Path:
    """Fills the folder with what `WORK` names."""
    folder.mkdir()
    write_bundle(folder / "bundle", bundle)
    for name in ("a.en", "a.de"):
        (folder / name).write_text("a b c\nd e\nf é 中\n", encoding="utf-8")
    (folder / "run.toml").write_text(TINY, encoding="utf-8")
    (folder / "experiment.toml").write_text(EXPERIMENT, encoding="utf-8")
    (folder / "train.sh").write_text("onmt_train -data x -rnn_size 64 -encoder_type transformer\n", encoding="utf-8")
    return folder


def run_main(monkeypatch: pytest.MonkeyPatch, arguments: list[str], stdout: Any, stderr: Any) -> int:
    """The command's exit code, within this process, with these two streams and a line of input."""
    with monkeypatch.context() as patched, tempfile.TemporaryFile() as given:
        given.write(b"a b\n")
        given.seek(0)
        patched.setattr(sys, "argv", ["openwork", *arguments])
        patched.setattr(sys, "stdin", io.TextIOWrapper(given))
        patched.setattr(sys, "stdout", stdout)
        patched.setattr(sys, "stderr", stderr)
        with pytest.raises(SystemExit) as ended:
            main()
    return int(ended.value.code or 0)
