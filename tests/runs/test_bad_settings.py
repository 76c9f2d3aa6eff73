"""Settings that cannot be: one sentence with file, line, cause and remedy, before anything is made."""

from collections.abc import Callable
from pathlib import Path

import pytest

from journeys.command import TINY, Finished, run_file, told

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]


def line_of(path: Path, text: str) -> int:
    """The number of the first line that begins with the text."""
    return next(n for n, line in enumerate(path.read_text().splitlines(), start=1) if line.startswith(text))


def refuse(call: Call, tmp_path: Path, *arguments: str | Path, code: int = 3) -> str:
    """The message of a training that is refused, and leaves nothing behind."""
    out = tmp_path / "out"
    result = call("train", *arguments, "--out", out)
    assert not out.exists()
    return told(result, code)


def test_unknown_key_with_the_nearest_name_and_its_line(call: Call, tmp_path: Path):
    path = run_file(tmp_path, TINY.replace("warmup = ", "wramup = "))
    message = refuse(call, tmp_path, path)
    assert f"{path}:{line_of(path, 'wramup')}: unknown key training.wramup" in message
    assert "did you mean warmup?" in message


def test_unknown_section(call: Call, tmp_path: Path):
    message = refuse(call, tmp_path, run_file(tmp_path, TINY.replace("[training]", "[trainig]")))
    assert "unknown key trainig" in message and "did you mean training?" in message


def test_key_in_the_wrong_section(call: Call, tmp_path: Path):
    message = refuse(call, tmp_path, run_file(tmp_path, TINY.replace("warmup = 10", "width = 10")))
    assert "It belongs in the section [model]" in message


def test_wrong_type_and_value_out_of_range(call: Call, tmp_path: Path):
    assert "write it without quotes: steps = 12" in refuse(call, tmp_path, run_file(tmp_path, steps='"12"'))
    message = refuse(call, tmp_path, run_file(tmp_path, dropout=1.5))
    assert "model.dropout = 1.5 is not allowed" in message and "less than 1" in message


def test_width_not_divisible_by_heads(call: Call, tmp_path: Path):
    path = run_file(tmp_path, heads=3)
    message = refuse(call, tmp_path, path)
    assert f"{path}:" in message
    assert "width 16 is not divisible by 3 heads\n  hint: take 2 heads, a width of 18" in message


def test_width_not_divisible_by_heads_of_the_command_line(call: Call, tmp_path: Path):
    assert "width 50 is not divisible by 4 heads" in refuse(
        call, tmp_path, "--corpus", "copy", "--set", "model.width=50", "--set", "model.heads=4"
    )


def test_three_way_tying_needs_one_vocabulary(call: Call, tmp_path: Path):
    """Two vocabularies of one size, as here, would pass for one if only the sizes were compared."""
    message = refuse(call, tmp_path, run_file(tmp_path), "--set", "text.shared=false")
    assert "text.shared = false" in message and 'model.tying = "target"' in message


def test_vocabulary_too_small_for_the_bytes(call: Call, tmp_path: Path):
    message = refuse(call, tmp_path, run_file(tmp_path, vocabulary_size=200))
    assert "vocabulary_size = 200 is not allowed" in message and "at least 300" in message


def test_unknown_preset_with_the_nearest_name(call: Call, tmp_path: Path):
    message = refuse(call, tmp_path, "--corpus", "copy", "--set", "model.preset=tinny")
    assert "there is no preset 'tinny'" in message and "did you mean tiny?" in message


@pytest.mark.parametrize("value", ["3", "tiny", "[1]"])
def test_a_section_that_is_a_value(call: Call, tmp_path: Path, value: str):
    assert "write it as a section: [model]" in refuse(call, tmp_path, run_file(tmp_path), "--set", f"model={value}")
    assert "write it as a section: [data]" in refuse(call, tmp_path, "--set", f"data={value}")
    assert "there is no preset" in refuse(call, tmp_path, run_file(tmp_path), "--set", f"model.preset.x={value}")


def test_other_family_without_a_run_file(call: Call, tmp_path: Path):
    """The preset that is chosen from the data's size gives way to a model of another kind."""
    result = call(
        "train", "--corpus", "copy", "--out", tmp_path / "out", "--set", "data.count=60",
        "--set", "training.steps=2", "--set", "training.cooldown=0",
        "--set", "model.kind=recurrent", "--set", "model.width=8",
        "--set", "training.validation_sentences=0", "--set", "training.metric=loss",
        "--set", "text.vocabulary_size=300",
    )  # fmt: skip
    assert result.code == 0, result.err


def test_attention_of_a_recurrent_model_that_does_not_fit(call: Call, tmp_path: Path):
    recurrent = ("--corpus", "copy", "--set", "model.kind=recurrent")
    message = refuse(call, tmp_path, *recurrent, "--set", "model.width=7", "--set", "model.attention=dot")
    assert "attention dot needs an even width, and width is 7" in message and 'set attention = "general"' in message
    message = refuse(call, tmp_path, *recurrent, "--set", "model.attention_width=7", "--set", "model.attention=none")
    assert 'attention_width is set, but attention is "none"' in message and "leave out attention_width" in message


def test_assignment_without_equals_sign(call: Call, tmp_path: Path):
    message = refuse(call, tmp_path, run_file(tmp_path), "--set", "model.width", code=2)
    assert "--set model.width: not an assignment" in message and "hint:" in message


def test_unknown_key_of_an_assignment(call: Call, tmp_path: Path):
    message = refuse(call, tmp_path, run_file(tmp_path), "--set", "model.widht=8")
    assert "--set model.widht=8: unknown key model.widht" in message and "did you mean width?" in message


def test_unknown_data_key_of_an_assignment(call: Call, tmp_path: Path):
    message = refuse(call, tmp_path, "--set", "data.tvs=x")
    assert "--set data.tvs=x: unknown key data.tvs" in message and "did you mean tsv?" in message


def test_not_toml(call: Call, tmp_path: Path):
    path = run_file(tmp_path, TINY.replace("steps = 12", "steps = = 12"))
    assert f"{path}:{line_of(path, 'steps')}: not valid TOML" in refuse(call, tmp_path, path)


def test_missing_run_file_and_a_folder_for_one(call: Call, tmp_path: Path):
    assert "no such run file" in refuse(call, tmp_path, tmp_path / "nothing.toml")
    assert "there is no run" in refuse(call, tmp_path, tmp_path)


def test_no_data_given(call: Call, tmp_path: Path):
    assert "give --source and --target" in refuse(call, tmp_path, code=2)


def test_half_of_the_data_given(call: Call, tmp_path: Path):
    assert "source and target go together" in refuse(call, tmp_path, "--source", "a.en")


def test_two_origins_of_data(call: Call, tmp_path: Path):
    message = refuse(call, tmp_path, "--source", "a", "--target", "b", "--corpus", "copy")
    assert "exactly one of" in message


def test_no_folder_for_the_run(call: Call):
    assert "--out is missing" in told(call("train", "--corpus", "copy"), 2)


def test_nothing_to_evaluate_on(call: Call, bundle_folder: Path):
    told(call("evaluate", "--bundle", bundle_folder), 2, "name what to evaluate on", "--corpus")


def test_more_translations_than_the_beam_holds(call: Call, bundle_folder: Path):
    told(call("translate", "--bundle", bundle_folder, "--beam", "2", "--best", "3"), 2, "needs a beam of at least 3")


def test_length_penalty_that_is_no_number(call: Call, bundle_folder: Path):
    told(call("translate", "--bundle", bundle_folder, "--length-penalty", "nan"), 2, "--length-penalty")
    told(call("translate", "--bundle", bundle_folder, "--length-penalty", "inf"), 2, "--length-penalty")


def test_side_that_is_none(call: Call, bundle_folder: Path):
    told(call("tokenize", "--bundle", bundle_folder, "--side", "left"), 2, "there is no such side", "source or target")


@pytest.mark.parametrize("number", ["1000", "x", "-1", "²", "9" * 5000])
def test_number_that_is_no_piece(call: Call, bundle_folder: Path, number: str):
    result = call("tokenize", "--bundle", bundle_folder, "--decode", stdin=f"270\n{number}\n".encode())
    told(result, 3, "line 2: ", "is not a piece's number")


def test_neither_folder_nor_preset(call: Call):
    told(call("info", "paper-bas"), 2, "paper-bas: neither a folder nor a preset", "did you mean paper-base?")


def test_presets_are_listed_and_told(call: Call):
    """Where nothing is wrong: what a person sees who looks for a name."""
    assert "paper-base" in call("info").out.decode()
    assert '"width": 512' in call("info", "paper-base", "--json").out.decode()
