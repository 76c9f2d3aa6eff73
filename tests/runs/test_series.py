"""Trainings on series: from a file to scored forecasts on the command line, tuned further, and refusals."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import openwork
from openwork.base.errors import OpenworkError
from openwork.bundles.bundle import load_bundle
from openwork.checks.check import Status
from openwork.checks.verify import verify
from openwork.cli.main import app
from openwork.runs.corpus import training_splits
from openwork.runs.file.resolve import check_run_file, resolve
from openwork.signals.bins import Bins

RUN = """
[data]
series = "table.csv"
columns = ["up", "wave"]
[series]
context = 6
horizon = 3
season = 4
bins = 21
limit = 2.0
scaling = "standard"
[model]
preset = "gpt-small"
width = 16
heads = 2
feedforward_width = 16
layers = 1
maximum_length = 16
dropout = 0.0
[training]
schedule = "constant"
learning_rate = 0.01
warmup = 5
steps = 60
validate_every = 30
label_smoothing = 0.0
precision = "float32"
"""

SECTION, MODEL = (RUN[RUN.index(one) : RUN.index(other)] for one, other in (("[series]", "[mo"), ("[model]", "[tr")))


def write(folder: Path, run: str = RUN) -> Path:
    waves = [(0.0, 3.0, 1.0, -2.0)[place % 4] for place in range(80)]
    rows = [f"{place},{place / 8 + wave},{5 + 2 * wave}\n" for place, wave in enumerate(waves)]
    (folder / "table.csv").write_text("day,up,wave\n" + "".join(rows))
    (folder / "run.toml").write_text(run.replace("table.csv", str(folder / "table.csv")))
    return folder / "run.toml"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("series")
    openwork.train(write(folder), out=folder / "run", progress=False)
    return folder


def test_the_splits_are_windows_of_bins(tmp_path: Path) -> None:
    """56 values to learn from have 48 windows of 9, and 8 to validate 6 origins, of each of the two series."""
    settings = resolve(write(tmp_path), [], {}, print).settings
    assert settings.training.metric == "loss" and settings.text.kind == "labels" and settings.series is not None
    splits = training_splits(settings)
    train, valid = list(splits.train.read()), list(splits.valid.read())
    assert len(train) == 2 * 48 and len(valid) == 2 * 6
    assert {(len(pair.source.split()), len(pair.target.split())) for pair in train} == {(1, 8)}
    assert {(len(pair.source.split()), len(pair.target.split())) for pair in valid} == {(6, 3)}
    names = set(Bins(settings.series).names)
    assert all(set(f"{pair.source} {pair.target}".split()) <= names for pair in [*train, *valid])
    wider = resolve(write(tmp_path), ["series.bins=31"], {}, print).settings
    assert training_splits(wider).train.identity != splits.train.identity


@pytest.mark.slow
def test_a_learnt_wave_goes_on(trained: Path) -> None:
    """The wave repeats, so the forecast of a trained model is nearer than the last value; its bundle passes verify."""
    bundle = load_bundle(trained / "run")
    assert bundle.settings.series is not None and bundle.settings.series.bins == 21
    assert bundle.tokenizers.target.names == Bins(bundle.settings.series).names  # type: ignore[attr-defined]
    assert not [check for check in verify(trained / "run") if check.status is Status.FAILED]
    pytest.importorskip("statsmodels", reason="needs the extra series")
    arguments = [
        "evaluate",
        str(trained / "run"),
        "--series",
        str(trained / "table.csv"),
        "--columns",
        "wave,up",
        "--json",
    ]
    done = CliRunner().invoke(app, [*arguments, "--season", "1"])
    assert done.exit_code == 0, done.output
    scores = {one["name"]: one["value"] for one in json.loads(done.stdout)["scores"]}
    assert scores["MASE: model"] < 0.7 * scores["MASE: last value"]


@pytest.mark.slow
def test_training_goes_on_from_a_bundle_with_its_bins(trained: Path, tmp_path: Path) -> None:
    further = RUN[: RUN.index("[series]")].replace("table.csv", str(trained / "table.csv"))
    tuning = f'[fine_tuning]\nfrom_bundle = "{trained / "run"}"\n[training]\nsteps = 2\nmetric = "loss"\n'
    (tmp_path / "run.toml").write_text(f"{further}{tuning}")
    openwork.train(tmp_path / "run.toml", out=tmp_path / "run", progress=False)
    assert load_bundle(tmp_path / "run").settings.series == load_bundle(trained / "run").settings.series
    with pytest.raises(OpenworkError) as refused:
        openwork.train(tmp_path / "run.toml", out=tmp_path / "other", set={"series.bins": 31}, progress=False)
    assert refused.value.code == "B080"


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (SECTION, "", "C159"),
        (MODEL, '[model]\npreset = "tiny"\n', "C160"),
        ("[series]", '[text]\nkind = "words"\n[series]', "C160"),
        ('series = "table.csv"', 'mix = [{series = "table.csv"}]', "C161"),
        ('columns = ["up", "wave"]', 'columns = ["none"]', "D161"),
        ("horizon = 3", "horizon = 30", "D160"),
    ],
)
def test_what_does_not_fit_series_is_refused(old: str, new: str, code: str, tmp_path: Path) -> None:
    path = write(tmp_path, RUN.replace(old, new))
    mistakes = [mistake.code for mistake in check_run_file(path, []).mistakes]
    if not mistakes:
        with pytest.raises(OpenworkError) as refused:
            training_splits(resolve(path, [], {}, print).settings)
        mistakes = [refused.value.code]
    assert code in mistakes
