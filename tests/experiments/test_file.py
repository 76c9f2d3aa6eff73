"""Reading experiment files: dotted and nested keys, ready spaces, unknown factors, bases that there are not."""

from pathlib import Path

import pytest

from experiments.samples import GRID, HEAD, write_experiment
from journeys.command import TINY
from openwork.base.errors import ConfigError
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.experiments.experiment import Point
from openwork.experiments.file import read_experiment
from openwork.experiments.search.spaces import READY
from openwork.models.settings import TransformerSettings

FACTORS = HEAD.format(kind="factors", more="")
SEARCH = HEAD.format(kind="search", more="")


@pytest.mark.parametrize(
    ("text", "code", "words", "near"),
    [
        (SEARCH + '[space]\nuse = "document"\n', "C132", "no ready space 'document'", "documents"),
        (FACTORS + '[factors]\n"training.seed" = [1, 2]\n', "C133", "training.seed cannot be varied", "leave it out"),
        (FACTORS + '[factors]\n"training.steps" = [1, 2]\n', "C133", "training.steps cannot be varied", ""),
        (FACTORS + '[factors]\n"training.leaning_rate" = [0.1]\n', "C134", "unknown setting", "training.learning_rate"),
        (FACTORS + '[factors]\ndropout = [0.1]\n', "C134", "unknown setting dropout", "model.dropout"),
        (FACTORS + '[[variants]]\nname = "a"\nsettings = {"model.haeds" = 1}\n', "C134", "model.haeds", "model.heads"),
        (GRID.replace('"base.toml"', '"qqq"'), "C135", "neither a run file nor a recipe", "recipes"),
    ],
)  # fmt: skip
def test_what_a_file_names_must_be_there(tmp_path: Path, text: str, code: str, words: str, near: str):
    with pytest.raises(ConfigError, match=words) as refused:
        read_experiment(write_experiment(tmp_path, text))
    assert refused.value.code == code and near in (refused.value.hint or "")


def test_nested_tables_are_dotted_keys(tmp_path: Path):
    nested = (
        SEARCH
        + "[space.training]\nwarmup = [1, 2]\nlearning_rate = {low = 0.1, high = 1}\n[space.model]\nheads = [1]\n"
    )
    assert list(read_experiment(write_experiment(tmp_path, nested)).settings.space) == [
        "training.warmup", "training.learning_rate", "model.heads",
    ]  # fmt: skip


@pytest.mark.parametrize("name", READY)
def test_a_ready_space_is_written_out_and_can_be_changed(tmp_path: Path, name: str):
    text = SEARCH + f'[space]\nuse = "{name}"\n"model.dropout" = [0.5]\n'
    space = read_experiment(write_experiment(tmp_path, text)).settings.space
    assert set(space) == set(READY[name]) and space["model.dropout"] == (0.5,)


def test_a_value_that_a_variant_never_takes_is_refused_before_anything_is_trained(tmp_path: Path):
    experiment = read_experiment(write_experiment(tmp_path, FACTORS + '[factors]\n"model.dropout" = [0.1, 1.5]\n'))
    with pytest.raises(ConfigError, match=r"trying\.toml:\d+: variant base: .*dropout") as refused:
        experiment.check()
    assert "--set" not in refused.value.what


def test_a_variant_of_another_kind_begins_without_the_model_of_the_base(tmp_path: Path):
    text = FACTORS + '[[variants]]\nname = "lstm"\nsettings = {"model.preset" = "lstm-small"}\n'
    text += '[[variants]]\nname = "wide"\nsettings = {"model.width" = 32}\n'
    experiment = read_experiment(write_experiment(tmp_path, text))
    lstm, wide = (experiment.run_settings(Point(name, None, {}, 7)) for name in ("lstm", "wide"))
    assert lstm.model.kind == "recurrent" and lstm.training == wide.training
    assert isinstance(wide.model, TransformerSettings) and (wide.model.width, wide.model.heads) == (32, 2)
    assert wide.training.seed == 7 and wide.training.metric == "bleu"


def test_heads_are_removed_from_a_trained_run_or_from_one_that_is_trained(tmp_path: Path, tiny_bundle: Bundle):
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.toml").write_text(TINY)
    (run / "records.jsonl").touch()
    write_bundle(run / "bundle", tiny_bundle)
    text = HEAD.format(kind="heads", more="").partition("[budget]")[0].replace("base.toml", "run")
    assert read_experiment(write_experiment(tmp_path, text)).settings.experiment.bundle == str(run)
    assert read_experiment(write_experiment(tmp_path, text.replace('"run"', '"run/bundle"'))).settings.budget is None
    with pytest.raises(ConfigError, match="no budget"):
        read_experiment(write_experiment(tmp_path, text.replace('"run"', '"base.toml"')))
