"""The folder of an experiment: the same file goes on, another is refused, damaged results are named."""

from pathlib import Path

import pytest

from experiments.samples import GRID, PROTOCOL, begun, carried_out, write_experiment
from openwork.base.errors import ConfigError, DataError
from openwork.experiments.file import read_experiment
from openwork.experiments.folder import ExperimentFolder, experiment_folder, settings_text
from openwork.experiments.result import read_json


@pytest.mark.parametrize("text", [GRID, PROTOCOL])
def test_the_file_in_the_folder_is_the_experiment(tmp_path: Path, text: str):
    before = read_experiment(write_experiment(tmp_path, text))
    kept, folder = begun(tmp_path, text)
    assert list(kept.settings.space) == list(before.settings.space), "a grid goes through it in this order"
    folder.begin(before, before.base)  # the same goes on
    assert read_experiment(folder.settings_file).settings == kept.settings
    assert settings_text(kept.settings) == folder.settings_file.read_text(encoding="utf-8")


def test_another_experiment_does_not_go_on_in_the_folder(tmp_path: Path):
    _, folder = begun(tmp_path, GRID)
    other = read_experiment(write_experiment(tmp_path, GRID.replace("updates = 4", "updates = 5")))
    with pytest.raises(ConfigError, match=r"has other settings: budget\.updates") as refused:
        folder.begin(other, other.base)
    assert refused.value.code == "C136"
    other = read_experiment(write_experiment(tmp_path, GRID))
    (tmp_path / "base.toml").write_text((tmp_path / "base.toml").read_text().replace("width = 16", "width = 32"))
    other = read_experiment(tmp_path / "trying.toml")
    with pytest.raises(ConfigError, match=r"experiment\.base"):
        folder.begin(other, other.base)


def test_more_workers_or_another_command_are_no_other_experiment(tmp_path: Path):
    _, folder = begun(tmp_path, GRID)
    other = read_experiment(write_experiment(tmp_path, GRID.replace("sampler", "workers = 2\ncommand = 'x'\nsampler")))
    folder.begin(other, other.base)


def test_an_experiment_has_a_folder_of_its_own(tmp_path: Path):
    experiment = read_experiment(write_experiment(tmp_path, GRID))
    for place, code in ((tmp_path / "base.toml", "C051"), (tmp_path, "C052")):
        with pytest.raises(ConfigError) as refused:
            ExperimentFolder(place).begin(experiment, experiment.base)
        assert refused.value.code == code
    with pytest.raises(ConfigError, match="there is no experiment") as refused:
        experiment_folder(tmp_path)
    assert refused.value.code == "C137"


@pytest.mark.slow
@pytest.mark.parametrize("content", ["{", "[]", '{"format": 1}', '{"number": 1, "surprise": 2}'])
def test_a_damaged_result_is_named(tmp_path: Path, content: str):
    experiment, folder = begun(tmp_path, GRID)
    carried_out(experiment, folder, lambda point: 1.0, most=1)
    folder.trial(1).result.write_text(content)
    with pytest.raises(DataError, match=r"0001/trial\.json: this file of an experiment is damaged") as refused:
        folder.board()
    assert refused.value.code == "D134"


def test_no_file_is_no_result(tmp_path: Path):
    assert read_json(tmp_path / "none") is None
