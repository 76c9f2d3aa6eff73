"""What a run file's name may lead to: pipes, files of any length, numbers and depth that no setting has."""

import os
from pathlib import Path

import pytest

from openwork.base.config import LARGEST, Layer, apply_assignments, read_run_file
from openwork.base.errors import ConfigError, UsageError
from openwork.base.fields import shortened, show_value


def test_a_pipe_is_refused_at_once(tmp_path: Path):
    os.mkfifo(tmp_path / "run.toml")
    with pytest.raises(ConfigError, match="this is a pipe, not a run file"):
        read_run_file(tmp_path / "run.toml")


def test_a_file_without_end():
    with pytest.raises(ConfigError, match="longer than a run file may be"):
        read_run_file("/dev/zero")


def test_the_longest_file(tmp_path: Path):
    path = tmp_path / "run.toml"
    path.write_text("a = 1\n" + "#" * (LARGEST - 6))
    assert read_run_file(path).mapping == {"a": 1}
    path.write_text("a = 1\n" + "#" * (LARGEST - 5))
    with pytest.raises(ConfigError, match="longer than"):
        read_run_file(path)


@pytest.mark.parametrize("number", [str(2**63), str(-(2**63) - 1), "9" * 5000, "0x" + "f" * 5000])
def test_a_number_of_more_than_64_bits(tmp_path: Path, number: str):
    (tmp_path / "run.toml").write_text(f"[data]\ncount = {number}\n")
    with pytest.raises(ConfigError, match=r"run\.toml.*a whole number of more than 64 bits"):
        read_run_file(tmp_path / "run.toml")
    with pytest.raises(ConfigError, match=r"--set.*a whole number of more than 64 bits"):
        apply_assignments(Layer(), [f"data.count={number}"])


def test_numbers_of_64_bits_are_numbers(tmp_path: Path):
    (tmp_path / "run.toml").write_text(f"[data]\ncount = {2**63 - 1}\nleast = {-(2**63)}\n")
    assert read_run_file(tmp_path / "run.toml").mapping == {"data": {"count": 2**63 - 1, "least": -(2**63)}}


@pytest.mark.parametrize("value", ["[" * 5000 + "]" * 5000, "[" * 30 + "]" * 30, "{ a = " * 30 + "1" + " }" * 30])
def test_depth_in_an_assignment(value: str):
    with pytest.raises(ConfigError, match="are nested"):
        apply_assignments(Layer(), [f"data.columns={value}"])


def test_depth_of_a_key():
    with pytest.raises(ConfigError, match="are nested"):
        apply_assignments(Layer(), [".".join("a" * 5000) + "=1"])


def test_places_of_a_list_that_are_none():
    """A list's place is written as Python writes the number; of the others none is a place."""
    layer = Layer({"mix": [{"weight": 1}]})
    assert apply_assignments(layer, ["mix.0.weight=2"]).mapping == {"mix": [{"weight": 2}]}
    for place in ("00", "²", "\u0660", "9" * 5000):
        changed = apply_assignments(layer, [f"mix.{place}.weight=2"]).mapping["mix"]
        assert changed == {place: {"weight": 2}}


def test_nul(tmp_path: Path):
    (tmp_path / "run.toml").write_text('[data]\nmix = [{ source = "a\\u0000b" }]\n')
    with pytest.raises(ConfigError, match=r"run\.toml:2: data\.mix\.0\.source holds a NUL character"):
        read_run_file(tmp_path / "run.toml")


def test_a_message_is_not_filled_by_a_value():
    with pytest.raises(UsageError) as refused:
        apply_assignments(Layer(), ["x" * 5000])
    assert len(refused.value.what) < 300
    assert len(show_value("x" * 5000)) < 300
    assert shortened("x" * 200) == "x" * 200
