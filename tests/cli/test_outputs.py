"""Every output of every command, in folders full of strange things and on top of what the command reads: all stays."""

import inspect
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import typer

from journeys.command import TINY, Finished, told
from openwork.base.config import read_run_file
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.cli.main import app
from openwork.interop.forms import write_hugging_face_folder
from openwork.runs.file.resolve import resolve_run
from openwork.runs.train import train_bundle
from openwork.training.loop import LoopState, Observer
from openwork.training.observers.control import INTERRUPTED
from openwork.training.step import StepReport

Call = Callable[..., Finished]
Arguments = tuple[str | Path, ...]

# Parameters that name what is read.
READ = {
    "bundle", "bundle_by_name", "named", "source", "target", "valid_source", "valid_target", "reference", "file",
    "train_source", "train_reference", "train_file", "text", "run_file", "from_bundle", "folder", "paths",
    "source_tokenizer", "target_tokenizer", "tokenizer", "shortlist", "draft", "terms", "first", "second", "against",
    "examples", "settings", "experiment", "pictures", "valid_pictures", "sounds", "valid_sounds", "files", "series",
    "bundles", "token_file", "certificate", "key", "memory", "relations", "folders", "runs",
}  # fmt: skip
TEXTS = ("home/s.en", "home/s.de")
BUNDLE = ("--bundle", "home/bundle")
# Each output: the command, without it.
OUTPUTS: dict[tuple[str, str], Arguments] = {
    ("translate", "out"): (*BUNDLE, "--source", "home/shards"),
    ("export", "out"): ("home/bundle", "--to", "hf"),
    ("quantise", "out"): ("home/bundle", "--to", "int4"),
    ("prune", "out"): ("home/bundle", "--source", TEXTS[0], "--target", TEXTS[1], "--heads", "1"),
    ("distill", "out"): ("home/bundle", "--source", TEXTS[0]),
    ("backtranslate", "out"): ("home/bundle", "--source", TEXTS[0]),
    ("data clean", "out"): ("--source", TEXTS[0], "--target", TEXTS[1]),
    ("import", "out"): ("hf", "home/hf"),
    ("average", "out"): ("home/bundle", "home/other"),
    ("evaluate", "out"): (*BUNDLE, "--source", TEXTS[0], "--reference", TEXTS[1], "--beam", "1"),
    ("baseline", "out"): (
        *("--train-source", TEXTS[0], "--train-reference", TEXTS[1], "--source", TEXTS[0], "--reference", TEXTS[1]),
        *("--by", "lead"),
    ),
    ("train", "out"): ("home/run.toml",),
    ("experiment run", "out"): ("home/trials.toml",),
    ("demo", "out"): (),
    ("data prepare", "out"): ("copy",),
    ("shortlist", "out"): (*BUNDLE, "--source", TEXTS[0], "--target", TEXTS[1]),
    ("config from", "out"): ("home/train.sh",),
    ("data check", "html"): ("--source", TEXTS[0], "--target", TEXTS[1]),
    ("explain", "html"): ("a b", *BUNDLE),
    ("attention", "html"): ("home/bundle", "a b"),
    ("attention", "svg"): ("home/bundle", "a b"),
    ("attention", "csv"): ("home/bundle", "a b"),
    ("info", "html"): ("home/bundle",),
    ("study", "html"): ("score-scale",),
    ("beam", "html"): ("home/bundle", "a b"),
    ("runs", "html"): ("home/runs",),
}
TRAINED = ("demo", "train", "distill")  # runs, which a test below is about
OVERWRITING = ("export", "import", "average", "quantise", "prune")
FILES = {output for output in OUTPUTS if output[1] != "out" or output[0] in ("shortlist", "config from")}
EXPERIMENT = """
[experiment]
kind = "factors"
base = "run.toml"
metric = "loss"
seeds = [1]

[budget]
updates = 4

[[variants]]
name = "alone"
"""
each_output = pytest.mark.parametrize("output", OUTPUTS, ids=" ".join)


def leaves(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, inner in getattr(command, "commands", {}).items():
        yield from leaves(inner, f"{path} {name}".strip())
    if not hasattr(command, "commands"):
        yield path, command.callback


def is_path(annotation: Any) -> bool:
    return annotation is Path or any(map(is_path, get_args(annotation)))


def test_every_output_of_every_command_is_tried_here():
    """A parameter that takes a path is known as read, or stands in the table above."""
    paths = {
        (name, parameter.name)
        for name, callback in leaves(typer.main.get_command(app))
        for parameter in inspect.signature(callback, eval_str=True).parameters.values()
        if is_path(parameter.annotation)
    }
    assert {one for one in paths if one[1] not in READ} == set(OUTPUTS)


@pytest.fixture
def home(tiny_bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the commands read, and a folder full of strange things."""
    home = tmp_path / "home"
    strange = home / "strange"
    (strange / ".ssh").mkdir(parents=True)
    (strange / "chapters/one").mkdir(parents=True)
    (strange / "empty").mkdir()
    for name in (".ssh/id", "thesis.tex", "chapters/one/notes", "model.bin", "card.md", "train.source", "report.html"):
        (strange / name).write_text(f"{name}: years of work\n")
    (home / "outside").write_text("linked to\n")
    (strange / "config.json").symlink_to(home / "outside")
    (strange / "source").symlink_to(home, target_is_directory=True)
    for name in ("bundle", "other"):
        write_bundle(home / name, tiny_bundle)
    write_hugging_face_folder(home / "hf", tiny_bundle)
    for text in TEXTS:
        (tmp_path / text).write_text("a b c\nd e\n")
    (home / "shards").mkdir()
    (home / "shards" / "a.txt").write_text("a b c\nd e\n")
    (home / "run.toml").write_text(TINY)
    (home / "runs" / "one").mkdir(parents=True)
    (home / "runs" / "one" / "run.toml").write_text(TINY)
    (home / "runs" / "one" / ".lock").touch()
    (home / "trials.toml").write_text(EXPERIMENT)
    (home / "train.sh").write_text("fairseq-train data --arch transformer --lr 0.1 --max-tokens 100\n")
    monkeypatch.chdir(tmp_path)
    return home


def state(folder: Path) -> dict[str, tuple[int, int, str | bytes]]:
    """Everything in the folder: which thing it is, and what it holds or where it leads."""
    found = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        held = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        found[str(path.relative_to(folder))] = (path.lstat().st_ino, path.lstat().st_mode, held)
    return found


def put_out(call: Call, output: tuple[str, str], place: str | Path, *more: str) -> Finished:
    return call(*output[0].split(), *OUTPUTS[output], f"--{output[1]}", place, *more)


def refused(call: Call, home: Path, output: tuple[str, str], place: str | Path) -> None:
    """It ends as an error that says what, and not a byte has changed, with --overwrite either."""
    for more in ((), ("--overwrite",)) if output[0] in OVERWRITING else ((),):
        before = state(home)
        done = put_out(call, output, place, *more)
        assert done.code in (1, 2, 3) and "\nerror" in f"\n{done.err}" and "mistake" not in done.err, done
        assert state(home) == before


@pytest.mark.slow
@each_output
def test_strange_things_stay(call: Call, home: Path, output: tuple[str, str], monkeypatch: pytest.MonkeyPatch):
    strange = home / "strange"
    refused(call, home, output, strange)
    refused(call, home, output, strange / "thesis.tex")
    refused(call, home, output, strange / "config.json")  # a link
    os.link(strange / "thesis.tex", home / "the same")
    refused(call, home, output, home / "the same")
    os.mkfifo(home / "pipe")
    refused(call, home, output, home / "pipe")
    monkeypatch.setitem(OUTPUTS, output, tuple(from_home(home, part) for part in OUTPUTS[output]))
    monkeypatch.chdir(strange)
    refused(call, home, output, ".")
    refused(call, home, output, "..")


def from_home(home: Path, part: str | Path) -> str | Path:
    return home.parent / part if str(part).startswith("home/") else part


@pytest.mark.slow
@each_output
def test_what_a_command_reads_stays(call: Call, home: Path, output: tuple[str, str]):
    reads = [home.parent / part for part in OUTPUTS[output] if str(part).startswith("home/")]
    for read in {*reads, *([home / "bundle"] if output[0] != "import" else [])}:
        refused(call, home, output, read)
        refused(call, home, output, f"{read}/../{read.name}")
        (home / "link").symlink_to(read)
        refused(call, home, output, home / "link")
        (home / "link").unlink()
        if read.is_file():
            os.link(read, home / "link")
            refused(call, home, output, home / "link")
            (home / "link").unlink()
        else:
            refused(call, home, output, read / "weights.safetensors")
            refused(call, home, output, read / "model.safetensors")
        if (read / "bundle.json").is_file() or output == ("import", "out"):
            refused(call, home, output, read / "new")


@pytest.mark.slow
@pytest.mark.parametrize(
    "output", [one for one in OUTPUTS if one not in FILES and one[0] not in ("demo", "train", "distill")]
)
def test_an_own_folder_keeps_what_others_put_there(
    call: Call, home: Path, output: tuple[str, str], monkeypatch: pytest.MonkeyPatch
):
    """Also the folder in which one stands: it is filled, and stays that folder."""
    monkeypatch.setitem(OUTPUTS, output, tuple(from_home(home, part) for part in OUTPUTS[output]))
    out = home / "out"
    out.mkdir()
    monkeypatch.chdir(out)
    before = out.stat().st_ino
    assert put_out(call, output, ".").code == 0
    made = {name for name, (_, mode, _) in state(out).items() if stat.S_ISREG(mode)}
    assert out.stat().st_ino == before and made and not any("partial" in name for name in os.listdir(home))
    monkeypatch.chdir(home)
    for path in (home / "strange").iterdir():
        if path.name not in ("source", "card.md", "model.bin", "config.json"):  # names that an export may need
            shutil.move(path, out / path.name)
    strange = {name: what for name, what in state(out).items() if name not in made and name != "."}
    assert len(strange) > 6, strange
    done = put_out(call, output, out)
    if output[0] in OVERWRITING:
        told(done, 2, "there already", "or add --overwrite")
        done = put_out(call, output, out, "--overwrite")
    assert done.code == 0, done.err
    after = state(out)
    assert {name: after[name] for name in strange} == strange
    assert made <= after.keys()


@pytest.mark.slow
@pytest.mark.parametrize("output", sorted(FILES))
def test_an_own_file_is_replaced_or_refused(call: Call, home: Path, output: tuple[str, str]):
    assert put_out(call, output, home / "out").code == 0
    before = state(home)
    again = put_out(call, output, home / "out")
    if output in (("config from", "out"), ("attention", "csv")):  # it may have been edited since
        told(again, 2, "there already")
        assert state(home) == before
    else:
        assert again.code == 0, again.err
        changed = {name for name, what in state(home).items() if before[name] != what}
        assert changed <= {"out", "."}


@pytest.mark.slow
def test_what_others_put_into_a_run_stays(call: Call, home: Path):
    """While it goes on: checkpoints are cleared away, and the bundle is written."""

    class Leave(Observer):
        def stepped(self, run: LoopState, report: StepReport) -> None:
            if report.step == 10:
                run.stop(INTERRUPTED)

    out, path = home / "out", home / "run.toml"
    train_bundle(resolve_run(read_run_file(path)), out, lambda _: None, [Leave()])
    (out / "bundle").mkdir()
    folders = (out, out / "bundle", out / "stores/train", out / "checkpoints", *(out / "checkpoints").iterdir())
    for folder in folders:
        shutil.copytree(home / "strange/.ssh", folder / ".ssh")
        shutil.copy(home / "strange/thesis.tex", folder)
    strange = {path: path.read_bytes() for folder in folders for path in (folder / ".ssh/id", folder / "thesis.tex")}
    done = call("train", path, "--out", out)
    assert done.code == 0, done.err
    assert {path: path.read_bytes() for path in strange} == strange
    assert len(folders) == 7 and not (out / "checkpoints/step-00000004/weights.safetensors").exists()
    assert call("translate", "--bundle", out, stdin=b"a b\n").code == 0


@pytest.mark.slow
def test_a_run_file_of_ones_own_is_no_run(call: Call, home: Path):
    """It would be written anew, without its comments."""
    (home / "mine").mkdir()
    (home / "mine/run.toml").write_text(f"# why it is so\n{TINY}")
    before = state(home)
    told(call("train", home / "mine/run.toml", "--out", home / "mine"), 3, "--out is a folder with other things in it")
    assert state(home) == before
