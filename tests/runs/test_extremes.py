"""Extreme values of every key: refused with a sentence, or taken; never a traceback, and never without an end."""

import errno
from functools import cache
from pathlib import Path

import pytest

from openwork.base.config import apply_assignments, read_run_file, to_toml
from openwork.base.errors import OpenworkError
from openwork.base.fields import Key, all_keys
from openwork.inference.settings import TranslationSettings, read_translation_file
from openwork.runs.file.resolve import check_run_file, resolve_run
from openwork.runs.file.settings import RunSettings

EXTREMES = {
    "0": "0",
    "-1": "-1",
    "1": "1",
    "10**9": str(10**9),
    "10**18": str(10**18),
    "-10**18": str(-(10**18)),
    "10**400": str(10**400),
    "5,000 digits": "9" * 5000,
    "hexadecimal": "0x" + "f" * 5000,
    "1e308": "1e308",
    "-1e308": "-1e308",
    "1e999": "1e999",
    "1e-308": "1e-308",
    "nan": "nan",
    "inf": "inf",
    "-inf": "-inf",
    "empty text": '""',
    "NUL": '"\\u0000"',
    "long text": f'"{"x" * 20_000}"',
    "true": "true",
    "date": "1979-05-27T07:32:00Z",
    "empty list": "[]",
    "list of many": f"[{'0,' * 500}]",
    "deep list": "[" * 30 + "]" * 30,
    "deepest list": "[" * 5000 + "]" * 5000,
    "table": "{ a = 1 }",
    "deep table": "{ a = " * 30 + "1" + " }" * 30,
}


@cache
def keys() -> tuple[Key, ...]:
    return tuple(all_keys(RunSettings))


def run_file(key: Key, value: str) -> str:
    """A run file with one key of an extreme value, in a section of a kind that has it."""
    lines = ["[data]", 'corpus = "copy"', "[model]", f'kind = "{(*key.kinds, "transformer")[0]}"']
    if key.section.endswith("[]"):
        return "\n".join(['[[data.mix]]\ncorpus = "copy"', f"{key.last} = {value}"])
    if key.last == "corpus" or key.name == "model.kind":
        lines = [line for line in lines if not line.startswith(f"{key.last} ")]
    if (header := f"[{key.section}]") not in lines:
        lines.append(header)
    lines.insert(lines.index(header) + 1, f"{key.last} = {value}")
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("value", EXTREMES)
def test_of_every_key_of_a_run_file(tmp_path: Path, value: str):
    path = tmp_path / "run.toml"
    taken = 0
    for key in keys():
        path.write_text(run_file(key, EXTREMES[value]), encoding="utf-8")
        try:
            checked = check_run_file(path, [])
        except OSError as error:  # the command line makes a sentence of it
            assert error.errno == errno.ENAMETOOLONG, key
            continue
        for mistake in checked.mistakes:
            assert len(str(mistake)) < 1000 or value == "long text", key
        if not checked.mistakes:
            settings = resolve_run(read_run_file(path))
            assert resolve_run(apply_assignments(read_run_file(path), [])) == settings
            path.write_text(to_toml(settings), encoding="utf-8")
            assert resolve_run(read_run_file(path)) == settings, key
            taken += 1
    assert taken < len(keys())


@pytest.mark.slow
@pytest.mark.parametrize("value", EXTREMES)
def test_of_every_key_as_an_assignment(tmp_path: Path, value: str):
    path = tmp_path / "run.toml"
    path.write_text('[data]\ncorpus = "copy"\n')
    for key in keys():
        assignments = [f"{key.name.replace('[]', '.0')}={EXTREMES[value]}"]
        if key.kinds:
            assignments.insert(0, f'model.kind="{key.kinds[0]}"')
        try:
            check_run_file(path, assignments)
        except OSError as error:
            assert error.errno == errno.ENAMETOOLONG, key
        except OpenworkError as error:
            assert len(str(error)) < 1000 or value == "long text", key


@pytest.mark.slow
@pytest.mark.parametrize("value", EXTREMES)
def test_of_every_key_of_a_translation_file(tmp_path: Path, value: str):
    path = tmp_path / "translate.toml"
    for key in all_keys(TranslationSettings):
        path.write_text(f"{key.name} = {EXTREMES[value]}\n", encoding="utf-8")
        try:
            read_translation_file(path)
        except OpenworkError as error:
            assert len(str(error)) < 1000 or value == "long text", key


@pytest.mark.parametrize("value", ["10**18", "1e308", "5,000 digits", "NUL", "nan", "deepest list"])
@pytest.mark.parametrize(
    "name", ["model.encoder_layers", "training.steps", "training.r_drop", "decoding.length_penalty"]
)
def test_of_some_keys(tmp_path: Path, name: str, value: str):
    """The same for a few, each of which is refused."""
    path = tmp_path / "run.toml"
    key = next(key for key in keys() if key.name == name and (not key.kinds or "transformer" in key.kinds))
    path.write_text(run_file(key, EXTREMES[value]), encoding="utf-8")
    mistake = check_run_file(path, []).mistakes[0]
    assert "run.toml" in mistake.what
