"""Captions of a table of pictures: learnt, written by command and from Python, scored, checked, tuned and refused."""

import csv
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import openwork
from openwork.api.models import Captioner
from openwork.base.errors import ConfigError, DataError, UsageError
from openwork.bundles.bundle import load_bundle
from openwork.checks.check import Status
from openwork.checks.keeping import EXPORTED
from openwork.checks.verify import verify
from openwork.data.readers.file_lists import PICTURES
from openwork.evaluation.evaluate import EvaluationSet, evaluate_bundle

Image = pytest.importorskip("PIL.Image", reason="needs the extra vision")

pytestmark = pytest.mark.slow

RUN = """
[picture]
height = 4
width = 6
channels = 1
patch = 2
[text]
kind = "words"
[batches]
tokens = 56
[model]
preset = "captioner-small"
width = 16
heads = 2
feedforward_width = 16
encoder_layers = 1
decoder_layers = 1
dropout = 0.0
[training]
schedule = "constant"
learning_rate = 0.01
warmup = 5
steps = 60
validate_every = 30
metric = "exact"
label_smoothing = 0.0
precision = "float32"
"""
WORDS = {(0, 0): "all is dark", (1, 0): "light on the left", (0, 1): "light on the right", (1, 1): "light everywhere"}


def picture(lit: tuple[int, int], number: int) -> np.ndarray:
    """Halves that are bright or dark, with noise."""
    pixels = np.random.default_rng(number).integers(0, 90, (4, 6), np.uint8)
    for half, bright in enumerate(lit):
        pixels[:, 3 * half : 3 * half + 3] += np.uint8(150 * bright)
    return pixels


def write_table(folder: Path, name: str, count: int, first: int = 0) -> Path:
    """A CSV file with the columns text and file, and its pictures."""
    (folder / name).mkdir(parents=True)
    with (folder / f"{name}.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "file"])
        for number in range(first, first + count):
            for lit, words in WORDS.items():
                place = f"{name}/{lit[0]}{lit[1]}{number:03}.png"
                Image.fromarray(picture(lit, number)).save(folder / place)
                rows.writerow([words, place])
    return folder / f"{name}.csv"


@pytest.fixture(scope="session")
def captions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with tables to train and validate with, and the run that was trained on them."""
    folder = tmp_path_factory.mktemp("captions")
    train, valid = write_table(folder, "train", 12), write_table(folder, "valid", 3, first=100)
    (folder / "run.toml").write_text(RUN + f'[data]\npictures = "{train}"\nvalid_pictures = "{valid}"\n')
    openwork.train(folder / "run.toml", out=folder / "run", progress=False)
    yield folder


def test_captions_are_learnt(captions: Path) -> None:
    model = openwork.load(captions / "run")
    assert isinstance(model, Captioner)
    paths = [captions / "valid" / f"{a}{b}100.png" for a, b in WORDS]
    assert [one.text for one in model.caption(paths)] == list(WORDS.values())
    alone = model.caption(picture((1, 0), 100))
    assert alone.text == "light on the left" == model.caption(str(paths[1])).text
    assert len(model.caption(paths[0], best=2, beam=2)) == 2


def test_scores_are_those_of_texts(captions: Path) -> None:
    tested = EvaluationSet.of_files(captions / "valid.csv", PICTURES)
    result, saved = evaluate_bundle(load_bundle(captions / "run"), tested, print, lambda count: None)
    assert result.exact == 1.0 and saved.references[0] == "all is dark"


def test_the_command_answers_each_path(captions: Path) -> None:
    paths = [str(captions / "valid" / f"{a}{b}101.png") for a, b in WORDS]
    lines = "\n".join([paths[0], "", *paths[1:]]) + "\n"
    command = [sys.executable, "-m", "openwork", "caption", str(captions / "run")]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=600)
    words = list(WORDS.values())
    assert done.stdout.splitlines() == [words[0], "", *words[1:]] and done.returncode == 0, done.stderr


def test_a_bundle_of_captions_passes_its_checks(captions: Path) -> None:
    results = {one.name: one for one in verify(captions / "run", further=EXPORTED)}
    assert [one for one in results.values() if one.status is Status.FAILED] == []
    passed = {name for name, one in results.items() if one.status is Status.PASSED}
    assert passed >= {"files", "finite", "cached", "batch", "padding", "kernels", "scores", "written-again"}


def tuned(captions: Path, out: Path, bundle: Path, **change: Any) -> openwork.TrainedModel:
    openwork.train(
        captions / "run.toml", out=out, set={"fine_tuning.from_bundle": str(bundle), **change}, progress=False
    )
    return openwork.load(out)


def test_its_own_bundle_goes_on(captions: Path, tmp_path: Path) -> None:
    model = tuned(captions, tmp_path / "run", captions / "run", **{"training.steps": 4, "training.validate_every": 4})
    assert isinstance(model, Captioner)
    assert model.caption(picture((0, 1), 100)).text == "light on the right"


def test_a_classifier_gives_its_encoder(captions: Path, tmp_path: Path) -> None:
    for lit in ((1, 0), (0, 1)):
        (tmp_path / "classes" / f"{lit[0]}").mkdir(parents=True)
        for number in range(4):
            Image.fromarray(picture(lit, number)).save(tmp_path / "classes" / f"{lit[0]}" / f"{number}.png")
    vit = RUN.replace('preset = "captioner-small"', 'preset = "vit-small"').replace('[text]\nkind = "words"\n', "")
    vit = vit.replace("encoder_layers = 1\ndecoder_layers = 1", "layers = 1").replace('metric = "exact"\n', "")
    (tmp_path / "vit.toml").write_text(vit)
    both = {f"data.{key}": str(tmp_path / "classes") for key in ("pictures", "valid_pictures")}
    sets = {**both, "training.steps": 2, "training.validate_every": 2}
    openwork.train(tmp_path / "vit.toml", out=tmp_path / "vit", set=sets, progress=False)
    model = tuned(captions, tmp_path / "run", tmp_path / "vit", **{"training.steps": 2, "training.validate_every": 2})
    assert isinstance(model, Captioner)
    theirs, ours = (dict(load_bundle(tmp_path / name).model.named_parameters()) for name in ("vit", "run"))
    shared = [name for name in ours if name in theirs and name.startswith(("encoder.", "source_embedding."))]
    assert "source_embedding.projection.weight" in shared and len(shared) > 10
    for name in shared:
        assert (theirs[name] - ours[name]).abs().max() < 0.1, name  # two updates with a rate of 0.01 away


def test_questions_are_answered(captions: Path, tmp_path: Path) -> None:
    """The answer about a half follows from the picture and the question, of which neither alone tells it."""
    with (tmp_path / "asked.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "question", "text"])
        for number in range(12):
            for lit in WORDS:
                for half, name in enumerate(("left", "right")):
                    place = captions / "train" / f"{lit[0]}{lit[1]}{number:03}.png"
                    rows.writerow([place, name, "light" if lit[half] else "dark"])
    words = RUN.replace("patch = 2\n", 'patch = 2\nwords = ["left", "right"]\n').replace("tokens = 56", "tokens = 64")
    table = f'[data]\npictures = "{tmp_path}/asked.csv"\nvalid_pictures = "{tmp_path}/asked.csv"\n'
    (tmp_path / "run.toml").write_text(words + table)
    sets = {"training.steps": 120, "training.validate_every": 60}
    openwork.train(tmp_path / "run.toml", out=tmp_path / "run", set=sets, progress=False)
    model = openwork.load(tmp_path / "run")
    assert isinstance(model, Captioner) and model.settings.picture is not None
    assert model.settings.picture.words == ("left", "right")
    for lit in WORDS:
        for half, name in enumerate(("left", "right")):
            assert model.caption(picture(lit, 100), question=name).text == ("light" if lit[half] else "dark")
    with pytest.raises(DataError) as refused:
        model.caption(picture((0, 1), 100), question="above")
    assert refused.value.code == "D165"
    command = [sys.executable, "-m", "openwork", "caption", str(tmp_path / "run")]
    line = f"{captions / 'valid' / '10100.png'}\tright\n"
    done = subprocess.run(command, input=line, capture_output=True, text=True, timeout=600)
    assert done.stdout == "dark\n", done.stderr
    assert [one for one in verify(tmp_path / "run", further=EXPORTED) if one.status is Status.FAILED] == []


def test_a_classifier_asks_nothing(captions: Path, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(
        f'[data]\npictures = "{captions}/train.csv"\n[picture]\nwords = ["left"]\n[model]\npreset = "vit-small"\n'
    )
    with pytest.raises(ConfigError) as refused:
        openwork.train(tmp_path / "run.toml", out=tmp_path / "run", progress=False)
    assert refused.value.code == "C162"


def test_what_writes_no_captions_is_refused(captions: Path, bundle_folder: Path) -> None:
    from openwork.inference.captions import check_captions

    with pytest.raises(UsageError) as refused:
        check_captions(load_bundle(bundle_folder), bundle_folder)
    assert refused.value.code == "U129" and "openwork translate is for it" in refused.value.hint
    done = subprocess.run(
        [sys.executable, "-m", "openwork", "transcribe", str(captions / "run"), "a.wav"], capture_output=True, text=True
    )
    assert done.returncode == 2 and "openwork caption is for it" in done.stderr


def test_low_rank_attention_is_refused(captions: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        sets = {"model.attention_pattern": "low-rank", "model.positions": "learned", "model.maximum_length": 64}
        openwork.train(captions / "run.toml", out=tmp_path, set=sets, progress=False)
    assert refused.value.code == "C158"


def test_captions_are_not_explained_step_by_step(captions: Path) -> None:
    path = str(captions / "valid" / "00100.png")
    command = [sys.executable, "-m", "openwork", "explain", str(captions / "run"), path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 2 and "of the kind captioner" in done.stderr
