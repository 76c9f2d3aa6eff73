"""Files of no, one and two lines, to train on and validate with, with and without settings: a sentence or a bundle."""

from pathlib import Path

import pytest

from journeys.command import run_file, told
from runs.test_bad_corpus import CHOSEN, FILE_RUN, Call

pytestmark = pytest.mark.slow

CONTENTS = {"none": ("", ""), "one": ("one\n", "eins\n"), "two": ("one\ntwo\n", "eins\nzwei\n"), "blank": ("\n", "\n")}
TRAINED = {
    "none": "no sentence pair to train on",
    "one": "too few pairs to hold some out",
    "two": "too few pairs to hold some out",
    "blank": "no sentence pair to train on",
}
VALIDATED = {"none": "there is nothing to validate with", "blank": "there is nothing to validate with"}


def files_of(folder: Path, kind: str) -> tuple[Path, Path]:
    """A source and a target of some lines."""
    paths = folder / f"{kind}.en", folder / f"{kind}.de"
    for path, content in zip(paths, CONTENTS[kind], strict=True):
        path.write_text(content)
    return paths


@pytest.fixture(params=["run file", "run file and metric", "chosen", "settings"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str | Path, ...]:
    """None, a run file, or single settings."""
    if request.param.startswith("run file"):
        metric = "bleu" if request.param.endswith("metric") else "loss"
        return (run_file(tmp_path, FILE_RUN.replace('metric = "loss"', f'metric = "{metric}"')),)
    return CHOSEN if request.param == "settings" else ()


@pytest.mark.parametrize("kind", CONTENTS)
def test_to_train_on(call: Call, tmp_path: Path, settings: tuple[str | Path, ...], kind: str):
    source, target = files_of(tmp_path, kind)
    result = call("train", *settings, "--source", source, "--target", target, "--out", tmp_path / "out")
    told(result, 3, TRAINED[kind], "hint:")
    assert not (tmp_path / "out/checkpoints").exists()


@pytest.mark.parametrize("valid", CONTENTS)
@pytest.mark.parametrize("kind", CONTENTS)
def test_to_validate_with(call: Call, tmp_path: Path, settings: tuple[str | Path, ...], kind: str, valid: str):
    """What can train at all, does."""
    source, target = files_of(tmp_path, kind)
    valid_source, valid_target = files_of(tmp_path, valid)
    given = ["--source", source, "--target", target, "--valid-source", valid_source, "--valid-target", valid_target]
    result = call("train", *(settings or CHOSEN), *given, "--out", tmp_path / "out")
    if kind in ("none", "blank"):
        told(result, 3, TRAINED[kind], "hint:")
    elif valid in VALIDATED:
        told(result, 3, VALIDATED[valid], "hint:")
    else:
        assert result.code == 0, result.err
        assert (tmp_path / "out/bundle/bundle.json").is_file()


def test_sources_that_are_blank_where_translations_are_scored(call: Call, tmp_path: Path):
    source, target = files_of(tmp_path, "two")
    blank = tmp_path / "blank.en"
    blank.write_text("\n\n")
    given = ["--source", source, "--target", target, "--valid-source", blank, "--valid-target", target]
    result = call("train", *CHOSEN, *given, "--out", tmp_path / "out")
    assert result.code == 3
    assert "sources are blank" in result.err
    assert 'set training.metric = "loss"' in result.err
    result = call("train", *CHOSEN, *given, "--set", "training.metric=loss", "--out", tmp_path / "out")
    assert result.code == 0, result.err
