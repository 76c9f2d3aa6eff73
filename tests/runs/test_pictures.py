"""Trainings on pictures: from a folder to labels on the command line and in Python, other sizes, refusals."""

import csv
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import openwork
from openwork.api.models import Classifier
from openwork.base.errors import ConfigError, DataError, OpenworkError, UsageError
from openwork.bundles.bundle import load_bundle
from openwork.checks.check import Status
from openwork.checks.keeping import EXPORTED
from openwork.checks.verify import verify
from openwork.data import pairs
from openwork.data.readers.file_lists import PICTURES, read_list
from openwork.data.readers.formats import without_skips
from openwork.data.records import UNSAID
from openwork.data.settings import OriginSettings
from openwork.data.sources import hold_out, source_of
from openwork.data.store import TokenStore
from openwork.evaluation.evaluate import EvaluationSet
from openwork.evaluation.labels import evaluate_labels
from openwork.runs.check_resume import check_resume
from openwork.runs.corpus import prepare_corpus
from openwork.runs.file.resolve import resolve
from openwork.runs.folder import RunFolder
from openwork.signals.pictures import read_picture
from openwork.signals.settings import PictureSettings

Image = pytest.importorskip("PIL.Image", reason="needs the extra vision")

pytestmark = pytest.mark.slow

RUN = """
[picture]
height = 4
width = 6
channels = 1
patch = 2
[batches]
tokens = 112
[model]
preset = "vit-small"
width = 16
heads = 2
feedforward_width = 16
layers = 1
dropout = 0.0
[training]
schedule = "constant"
learning_rate = 0.01
warmup = 5
steps = 40
validate_every = 20
label_smoothing = 0.0
precision = "float32"
"""


BERT = {"model.preset": "bert-small", "training.metric": "score"}


def picture(kind: str, number: int) -> np.ndarray:
    """Bright on the left or on the right half, with noise."""
    pixels = np.random.default_rng(number).integers(0, 90, (8, 12), np.uint8)
    pixels[:, :6] += np.uint8(150 * (kind == "left"))
    pixels[:, 6:] += np.uint8(150 * (kind == "right"))
    return pixels


def write_pictures(folder: Path, count: int, first: int = 0) -> Path:
    for kind in ("left", "right"):
        (folder / kind).mkdir(parents=True)
        for number in range(first, first + count):
            Image.fromarray(picture(kind, number)).save(folder / kind / f"{number:03}.png")
    return folder


def given(folder: Path, name: str = "train") -> dict[str, Any]:
    return {"data.pictures": str(folder / name), "data.valid_pictures": str(folder / "valid")}


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with train and valid, the run file, and the run that was trained on them."""
    folder = tmp_path_factory.mktemp("pictures")
    write_pictures(folder / "train", 20)
    write_pictures(folder / "valid", 5, first=100)
    (folder / "train" / "left" / "notes.txt").write_text("no picture")
    (folder / "run.toml").write_text(RUN)
    openwork.train(folder / "run.toml", out=folder / "run", set=given(folder), progress=False)
    yield folder


def test_a_folder_is_learnt(trained: Path) -> None:
    model = openwork.load(trained / "run")
    assert isinstance(model, Classifier) and model.settings.picture is not None
    paths = [trained / "valid" / kind / "100.png" for kind in ("left", "right")]
    assert model.classify(paths) == ["left", "right"]
    assert model.classify(str(paths[1])) == model.classify(paths[1]) == "right"
    assert model.classify(picture("left", 100)) == "left"
    (best, other) = model.classify([picture("left", 7)], best=5)[0]
    assert best.label == "left" and best.probability + other.probability == pytest.approx(1.0)


def test_scores(trained: Path) -> None:
    tested = EvaluationSet.of_files(trained / "valid", PICTURES)
    result, saved = evaluate_labels(load_bundle(trained / "run"), tested, print, lambda count: None)
    assert result.scores[0].name == "accuracy" and result.scores[0].value == 100.0
    assert saved.sources[0].endswith("left/100.png")


def test_a_bundle_of_pictures_passes_its_checks(trained: Path) -> None:
    results = {one.name: one for one in verify(trained / "run", further=EXPORTED)}
    assert [one for one in results.values() if one.status is Status.FAILED] == []
    passed = {name for name, one in results.items() if one.status is Status.PASSED}
    assert passed >= {
        "files",
        "finite",
        "cached",
        "batch",
        "padding",
        "kernels",
        "scores",
        "written-again",
        "exported-hf",
    }


@pytest.mark.slow
def test_a_stopped_training_goes_on_as_if_nothing_had_happened(trained: Path) -> None:
    settings = resolve(trained / "run.toml", [], {"data": _section(trained)}, lambda line: None).settings
    found = check_resume(settings, lambda line: None)
    assert found and all(one.difference == 0 for one in found)


def _section(folder: Path) -> dict[str, str]:
    return {key.removeprefix("data."): value for key, value in given(folder).items()}


def test_a_table_is_read_as_a_folder(trained: Path, tmp_path: Path) -> None:
    pairs = list(without_skips(read_list(trained / "train", PICTURES), {}))
    table = trained / "train.csv"
    with table.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["label", "file"])
        rows.writerows([pair.target, Path(pair.source).relative_to(trained).as_posix()] for pair in pairs)
    assert list(without_skips(read_list(table, PICTURES), {})) == pairs
    skips: dict[str, Any] = {}
    list(without_skips(read_list(trained / "train", PICTURES), skips))
    assert [one.count for one in skips.values()] == [1]


def test_copies_of_a_folder_and_their_tables_are_divided_alike(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained / "train", tmp_path / "elsewhere" / "copy")
    held = []
    for folder in (trained / "train", tmp_path / "elsewhere" / "copy"):
        table = folder / "table.csv"
        pairs = list(without_skips(read_list(folder, PICTURES), {}))
        lines = [f"{Path(pair.source).relative_to(folder)},{pair.target}\n" for pair in pairs]
        table.write_text("".join(["file,label\n", *lines]))
        for given in (folder, table):
            found = source_of(OriginSettings(pictures=str(given)), "train", UNSAID)
            train, valid = hold_out(found, 0.3)
            held.append([Path(pair.source).relative_to(folder) for pair in valid.read()])
            assert len(held[-1]) + sum(1 for _ in train.read()) == len(pairs) == 40
        table.unlink()
    assert 0 < len(held[0]) < 40 and held == [held[0]] * 4


def test_a_convolutional_network_learns_the_same_folder(trained: Path, tmp_path: Path) -> None:
    run = trained / "run.toml"
    kept = run.read_text().split("[model]")[0] + '[model]\npreset = "cnn-small"\nwidth = 8\nlayers = 2\n[training]'
    (tmp_path / "run.toml").write_text(kept.replace("patch = 2\n", "") + run.read_text().split("[training]")[1])
    openwork.train(tmp_path / "run.toml", out=tmp_path / "run", set=given(trained), progress=False)
    bundle = load_bundle(tmp_path / "run")
    assert bundle.settings.picture == PictureSettings(height=4, width=6, channels=1, patch=1)
    assert getattr(bundle.settings.model, "columns", None) == 6
    model = openwork.load(tmp_path / "run")
    assert isinstance(model, Classifier)
    assert model.classify([trained / "valid" / kind / "100.png" for kind in ("left", "right")]) == ["left", "right"]
    assert [one for one in verify(tmp_path / "run", further=EXPORTED) if one.status is Status.FAILED] == []
    with pytest.raises(UsageError) as refused:
        model.explain(trained / "valid" / "left" / "100.png")
    assert refused.value.code == "U053"


TABLES = {
    "no such column": ("name,label\na.png,x\n", ":1:"),
    "a column twice": ("file,file,label\na.png,a.png,x\n", ":1:"),
    "another number of columns": ("file,label\na.png\n", ":2:"),
    "no such file": ("file,label\nnone.png,x\n", ":2:"),
    "an open quotation": ('file,label\n"a.png,x\n', ":2:"),
    "nothing": ("", ":1:"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_wrong_table_is_refused_by_line(name: str, tmp_path: Path) -> None:
    content, place = TABLES[name]
    (tmp_path / "table.csv").write_text(content)
    with pytest.raises(DataError) as refused:
        list(read_list(tmp_path / "table.csv", PICTURES))
    assert f"table.csv{place}" in refused.value.what and refused.value.code == "D150" and refused.value.hint


def test_a_folder_without_classes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError) as refused:
        list(read_list(tmp_path / "none", PICTURES))
    assert refused.value.code == "D147"
    Image.new("L", (4, 4)).save(tmp_path / "one.png")
    with pytest.raises(DataError) as refused:
        list(read_list(tmp_path, PICTURES))
    assert refused.value.code == "D148"


def test_a_damaged_picture_ends_the_training_with_its_name(trained: Path, tmp_path: Path) -> None:
    write_pictures(tmp_path / "train", 20)
    (tmp_path / "train" / "right" / "003.png").write_bytes(b"nothing")
    sets = {**given(trained), "data.pictures": str(tmp_path / "train")}
    with pytest.raises(DataError, match=r"right/003\.png") as refused:
        openwork.train(trained / "run.toml", out=tmp_path / "run", set=sets, progress=False)
    assert refused.value.code == "D141"


def test_other_pictures_do_not_continue_a_run(trained: Path, tmp_path: Path) -> None:
    write_pictures(tmp_path / "train", 20)
    section = {**_section(trained), "pictures": str(tmp_path / "train")}
    settings = resolve(trained / "run.toml", [], {"data": section}, lambda line: None).settings
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    before = prepare_corpus(settings, folder, lambda line: None)
    again = prepare_corpus(settings, folder, lambda line: None, started=True)
    assert again.train.fingerprint == before.train.fingerprint
    Image.fromarray(picture("left", 999)).save(tmp_path / "train" / "left" / "003.png")
    with pytest.raises(ConfigError) as refused:
        prepare_corpus(settings, folder, lambda line: None, started=True)
    assert refused.value.code == "C046"


def test_larger_pictures_and_other_labels_are_fine_tuned(trained: Path, tmp_path: Path) -> None:
    """Positions are interpolated, and the output matrix is fresh, since there is another label."""
    write_pictures(tmp_path / "train", 10)
    (tmp_path / "train" / "right").rename(tmp_path / "train" / "east")
    lines: list[str] = []
    (tmp_path / "run.toml").write_text(
        f'[fine_tuning]\nfrom_bundle = "{trained}/run"\n[picture]\nheight = 8\nwidth = 8\n[data]\n'
        f'pictures = "{tmp_path}/train"\nvalid_pictures = "{tmp_path}/train"\n[training]\nsteps = 20\n'
        'validate_every = 10\nlearning_rate = 0.01\nwarmup = 2\nschedule = "constant"\n'
    )
    from openwork.runs.train import train_bundle

    settings = resolve(tmp_path / "run.toml", [], {}, lines.append).settings
    assert settings.picture is not None and settings.picture.grid == (4, 4)
    assert settings.model.maximum_length == 17 and settings.picture.patch == 2
    train_bundle(settings, tmp_path / "run", lines.append)
    bundle = load_bundle(tmp_path / "run")
    assert set(bundle.tokenizers.target.names) == {"left", "east"}
    assert any("fresh: output" in line for line in lines)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"model.maximum_length": 5}, "C149"),
        ({"model.kind": ["vit"]}, "C013"),
        (
            {
                "model.preset": "bert-small",
                "training.metric": "score",
                "text.shared": False,
                "text.target_kind": "labels",
            },
            "C148",
        ),
        ({"picture.patch": 3}, "C145"),
        ({"picture.mean": [0.1, 0.2]}, "C146"),
    ],
)
def test_settings_that_do_not_fit_are_refused(change: dict[str, Any], code: str, trained: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        openwork.train(trained / "run.toml", out=tmp_path, set={**given(trained), **change}, progress=False)
    assert refused.value.code == code


def test_a_translator_is_not_trained_on_pictures(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(f'[data]\npictures = "{trained}/train"\n')
    with pytest.raises(ConfigError) as refused:
        openwork.train(tmp_path / "run.toml", out=tmp_path / "run", progress=False)
    assert refused.value.code == "C147"


def test_what_is_for_texts_refuses_pictures_in_a_sentence(trained: Path) -> None:
    model = openwork.load(trained / "run")
    assert isinstance(model, Classifier)
    with pytest.raises(UsageError) as refused:
        _ = model.bundle.tokenizers.source
    assert refused.value.code == "U111"
    for wrong in (3, [None], [b"a.png"]):
        with pytest.raises(OpenworkError) as refused:
            model.classify(wrong)
        assert refused.value.code == "U114"


def test_the_bundle_keeps_how_a_picture_is_prepared(trained: Path) -> None:
    bundle = load_bundle(trained / "run")
    assert bundle.settings.picture == PictureSettings(height=4, width=6, channels=1, patch=2)
    assert bundle.golden == () and json.loads((trained / "run/bundle/golden.json").read_text()) == []
    assert not (trained / "run/bundle/source.tokenizer.json").exists()


def test_each_file_is_read_once_for_all_its_views_and_without_room_the_store_is_the_same(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def counting(source: Any, settings: PictureSettings) -> np.ndarray:
        read.extend([source] if isinstance(source, str) else [])
        return read_picture(source, settings)

    monkeypatch.setattr("openwork.signals.patches.read_picture", counting)
    views = {"picture.shift": 1, "picture.mirror": True, "training.steps": 2, "training.validate_every": 2}
    rows = []
    for name, room in (("kept", 1 << 20), ("no-room", 0)):
        monkeypatch.setattr(pairs, "KEPT_BYTES", room)
        read.clear()
        openwork.train(trained / "run.toml", out=tmp_path / name, set=given(trained) | views, progress=False)
        store = TokenStore.open(tmp_path / name / "stores/train")
        rows.append([store.pair(row)[0].tolist() for row in range(len(store))])
        files = len(store) // 10
        of_training = [path for path in read if f"{trained}/train" in path]
        assert (len(of_training), len(set(of_training))) == (files * (10 if room == 0 else 1), files)
    assert rows[0] == rows[1]
