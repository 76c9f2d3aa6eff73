"""Folders of runs that cannot go on as asked, and disks that are full: said in a sentence, and nothing is lost."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from disks import filled, mounted
from journeys.command import TINY, Finished, run_file, told, tree
from openwork.base.config import read_run_file
from openwork.runs import corpus as corpus_module
from openwork.runs.file.resolve import resolve_run
from openwork.runs.file.settings import RunSettings
from openwork.runs.preflight import resources
from openwork.runs.train import train_bundle
from openwork.text.pair import TokenizerPair
from openwork.training.loop import LoopState, Observer
from openwork.training.observers.control import INTERRUPTED
from openwork.training.step import StepReport

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]


class Leave(Observer):
    """Interrupts the run after an update, as a Ctrl-C would."""

    def __init__(self, step: int) -> None:
        self.step = step

    def stepped(self, run: LoopState, report: StepReport) -> None:
        if report.step == self.step:
            run.stop(INTERRUPTED)


@pytest.fixture(scope="session")
def half_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `run.toml` and the run `out`, left after 10 of its 12 updates: checkpoints 4, 8 and 10."""
    folder = tmp_path_factory.mktemp("half")
    settings = resolve_run(read_run_file(run_file(folder)))
    outcome = train_bundle(settings, folder / "out", lambda text: None, [Leave(10)])
    assert outcome.bundle is None
    assert names(folder / "out/checkpoints") == ["step-00000004", "step-00000008", "step-00000010"]
    return folder


@pytest.fixture
def run(half_run: Path, tmp_path: Path) -> Path:
    """A fresh copy of the half run's folder, to be spoilt."""
    return shutil.copytree(half_run, tmp_path / "run")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def go_on(call: Call, run: Path, *more: str | Path) -> Finished:
    return call("train", run / "run.toml", "--out", run / "out", *more)


def cut_in_half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


# ------------------------------------------------------------------------------------------------ checkpoints


def test_run_goes_on_where_it_was_left(call: Call, run: Path):
    result = go_on(call, run)
    assert result.code == 0, result.err
    assert "continuing after update 10" in result.err
    assert (run / "out/bundle/bundle.json").is_file()


@pytest.mark.parametrize("part", ["weights.safetensors", "optimiser.safetensors", "state.json"])
def test_checkpoint_cut_in_half_is_passed_over_and_told(call: Call, run: Path, part: str):
    cut_in_half(run / "out/checkpoints/step-00000010" / part)
    result = go_on(call, run)
    assert result.code == 0, result.err
    assert "passed over a damaged checkpoint" in result.err and "step-00000010" in result.err
    assert "continuing after update 8" in result.err
    assert (run / "out/bundle/bundle.json").is_file()


def test_passing_over_leads_to_the_same_weights(call: Call, run: Path, tmp_path: Path):
    undisturbed = shutil.copytree(run, tmp_path / "undisturbed")
    assert go_on(call, undisturbed).code == 0
    cut_in_half(run / "out/checkpoints/step-00000010/weights.safetensors")
    assert go_on(call, run).code == 0
    weights = "out/bundle/weights.safetensors"
    assert (run / weights).read_bytes() == (undisturbed / weights).read_bytes()


def test_no_checkpoint_left_whole(call: Call, run: Path):
    for path in (run / "out/checkpoints").iterdir():
        cut_in_half(path / "weights.safetensors")
    before = tree(run)
    told(go_on(call, run), 4, "step-00000010", "damaged", "delete this folder")
    assert tree(run).keys() == before.keys()


# ------------------------------------------------------------------------------------------------ the run's folder


def test_finished_run_is_left_alone(call: Call, run: Path):
    assert go_on(call, run).code == 0
    before = tree(run)
    told(go_on(call, run), 1, "this run is finished", "openwork translate ")
    assert tree(run) == before


def test_run_with_other_settings(call: Call, run: Path):
    before = tree(run)
    message = told(go_on(call, run, "--set", "model.width=32", "--set", "training.seed=2"), 3, "other settings")
    assert "model.width: 16 -> 32" in message and "training.seed: 1 -> 2" in message
    assert tree(run) == before


def test_run_whose_data_has_changed(call: Call, pair_files: tuple[Path, Path], tmp_path: Path):
    """To go on with other pairs would be another run under the same name."""
    source, target = pair_files
    data = f'source = "{source}"\ntarget = "{target}"'
    path = run_file(tmp_path, TINY.replace('corpus = "copy"\ncount = 120', data))
    settings = resolve_run(read_run_file(path))
    assert train_bundle(settings, tmp_path / "out", lambda text: None, [Leave(6)]).bundle is None
    for file in pair_files:
        file.write_text(file.read_text() + "x y z\n")
    before = tree(tmp_path / "out/checkpoints")
    told(call("train", path, "--out", tmp_path / "out"), 3, "not the pairs that this run started with", "hint:")
    assert tree(tmp_path / "out/checkpoints") == before


def test_vocabulary_that_cannot_be_made_again(call: Call, run: Path, monkeypatch: pytest.MonkeyPatch):
    """It is damaged, and the same data gives another one, as a later version of a library may make it."""
    (run / "out/tokenizers/tokenizer.json").write_text("{}")
    make = corpus_module.new_tokenizers

    def otherwise(settings: RunSettings, *more: Any) -> TokenizerPair:
        text = settings.text.model_copy(update={"placeholders": 1})
        return make(settings.model_copy(update={"text": text}), *more)

    monkeypatch.setattr(corpus_module, "new_tokenizers", otherwise)
    told(go_on(call, run), 4, "the vocabulary of this run is damaged", "give another --out")


def test_two_trainings_in_one_folder(call: Call, run: Path):
    with FileLock(run / "out/.lock"):
        told(go_on(call, run), 1, "another openwork is training in this folder")
    assert go_on(call, run).code == 0


def test_out_is_a_file(call: Call, run: Path, tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    told(call("train", run / "run.toml", "--out", tmp_path / "file"), 3, "--out is a file")
    assert (tmp_path / "file").read_text() == "mine"


def test_out_is_a_folder_with_other_things(call: Call, run: Path, tmp_path: Path):
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter.tex").write_text("mine")
    told(call("train", run / "run.toml", "--out", folder), 3, "other things in it", "new or empty folder")
    assert tree(folder) == {"chapter.tex": b"mine"}


def test_out_lies_below_a_file(call: Call, run: Path, tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    told(call("train", run / "run.toml", "--out", tmp_path / "file/out"), 1, "cannot be made")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folder(call: Call, run: Path, tmp_path: Path):
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o555)
    told(call("train", run / "run.toml", "--out", folder / "out"), 1, "cannot be made", "Permission denied")


# ------------------------------------------------------------------------------------------------ full disks


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk", "2m") as disk:
        yield disk


def test_disk_gets_full_while_saving(call: Call, run: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch):
    """The old checkpoints stay, no half one stays beside them, and with room the run goes on to its end."""
    here = shutil.copytree(run, small_disk / "run")
    filler = filled(small_disk, 24 * 1024)  # a file fits still, a checkpoint does not
    before = tree(here / "out/checkpoints")
    told(go_on(call, here), 1, "the disk has too little room for the checkpoints", "free some")
    with monkeypatch.context() as before_it_got_full:
        before_it_got_full.setattr(resources, "free_disk", lambda place: 1 << 40)
        told(go_on(call, here), 1, "step-00000012: the disk is full", "what was there before is unchanged", "free some")
    assert tree(here / "out/checkpoints") == before
    filler.unlink()
    result = go_on(call, here)
    assert result.code == 0, result.err


def test_system_refuses_a_file_while_saving(call: Call, run: Path, monkeypatch: pytest.MonkeyPatch):
    """The same where no disk can be mounted: the system says ENOSPC at the second part of a checkpoint."""
    real = Path.write_bytes

    def write_bytes(path: Path, data: bytes) -> int:
        if path.name == "optimiser.safetensors":
            real(path, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(path, data)

    before = tree(run / "out/checkpoints")
    with monkeypatch.context() as full:
        full.setattr(Path, "write_bytes", write_bytes)
        told(go_on(call, run), 1, "step-00000012: the disk is full")
    assert tree(run / "out/checkpoints") == before
    assert go_on(call, run).code == 0


def test_bundle_does_not_fit_on_the_disk(call: Call, run: Path, monkeypatch: pytest.MonkeyPatch):
    def write_text(path: Path, *_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    real = Path.write_text
    with monkeypatch.context() as full:
        full.setattr(Path, "write_text", lambda p, *a, **k: (write_text if p.name == "card.md" else real)(p, *a, **k))
        told(go_on(call, run), 1, "bundle: the disk is full")
    assert not (run / "out/bundle").exists()
    assert not [path for path in (run / "out").iterdir() if path.name.endswith(".partial")]
    assert go_on(call, run).code == 0
