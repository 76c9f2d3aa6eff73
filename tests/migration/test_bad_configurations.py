"""Files that are no configuration: a sentence with file and line, exit code 3, and never a traceback."""

import gzip
import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from journeys.command import Finished, told
from migration.translated import SAMPLES, translate
from openwork.base.errors import OpenworkError
from openwork.migration.report import report_lines, report_values
from openwork.migration.run_text import run_text
from openwork.migration.translation import TOOLKITS

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]

BAD = {
    "missing": (None, "no such file"),
    "binary.yaml": (b"a: 1\nb: \x00\x01\n", "binary.yaml:2: the line holds a NUL byte"),
    "latin.yaml": ("type: transformer\nname: caf\xe9\n".encode("latin-1"), "latin.yaml:2: invalid UTF-8"),
    "cut.yaml.gz": (gzip.compress(b"type: transformer\n" * 500)[:-20], "gzip archive is damaged"),
    "empty.sh": (b"", "the file is empty"),
    "blank.yaml": (b"\n \n", "the file is empty"),
    "comments.sh": (b"# nothing\n", "it is not clear which toolkit"),
    "broken.yaml": (b"a: 1\nb: [1, 2\nc: 3\n", "broken.yaml:3: not valid YAML"),
    "list.yaml": (b"- a\n", "not a table of options"),
    "corpus.txt": (b"a line\n" * 30_000, "more than 20,000 lines"),
    "huge.sh": (b"marian " + b"x" * 2_000_000, "huge.sh:1: the line is longer"),
    "unclear.yaml": (b"learning: 3\n", "it is not clear which toolkit"),
    "prose.txt": (b"Dear reader, nothing of this is an option.\n", "it is not clear which toolkit"),
    "no_options.sh": (b"marian\n", "it has no option of Marian"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(name: str, call: Call, tmp_path: Path):
    content, words = BAD[name]
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    out = tmp_path / "run.toml"
    told(call("config", "from", path, "--out", out), 3, words)
    assert not out.exists()


def test_a_folder(call: Call, tmp_path: Path):
    told(call("config", "from", tmp_path), 3, "this is a folder")


def test_what_was_looked_for_is_listed(call: Call, tmp_path: Path):
    (tmp_path / "c.yaml").write_text("x: 1\n")
    message = told(call("config", "from", tmp_path / "c.yaml"), 3, "--toolkit")
    assert all(toolkit.title in message for toolkit in TOOLKITS.values())


def test_unknown_toolkit(call: Call):
    sample = SAMPLES / "marian_wmt17.yml"
    told(call("config", "from", sample, "--toolkit", "marien"), 2, "no such toolkit: 'marien'", "did you mean marian?")


def test_a_file_that_is_there_is_not_overwritten(call: Call, tmp_path: Path):
    out = tmp_path / "run.toml"
    out.write_text("mine")
    told(call("config", "from", SAMPLES / "marian_wmt17.yml", "--out", out), 2, "there already")
    assert out.read_text() == "mine"


def test_the_run_file_is_printed_and_the_report_is_said(call: Call):
    result = call("config", "from", SAMPLES / "marian_wmt17.yml")
    assert result.code == 0 and tomllib.loads(result.out.decode())["model"]["attention_bias"] is True
    assert "no counterpart (" in result.err and "needs attention" in result.err


def test_with_out_the_report_is_printed_and_the_file_passes_the_check(call: Call, tmp_path: Path):
    out = tmp_path / "run.toml"
    result = call("config", "from", SAMPLES / "joeynmt_small.yaml", "--out", out)
    assert result.code == 0 and "mapped (" in result.out.decode() and tomllib.loads(out.read_text())
    assert call("config", "check", out).code == 0


def test_json(call: Call):
    values = json.loads(call("config", "from", SAMPLES / "sockeye_base.sh", "--json").out)
    assert values["toolkit"] == "sockeye" and values["accepted"] is True and tomllib.loads(values["run_file"])
    (entry,) = [entry for entry in values["attention"] if entry["option"] == "--initial-learning-rate"]
    assert entry["line"] == 9 and entry["settings"] == {"training.learning_rate": 0.00100007}


OPTIONS = sorted({name for toolkit in TOOLKITS.values() for name in toolkit.table})
VALUES = st.one_of(
    st.sampled_from(
        ["0", "-1", "1e400", "nan", "true", "{}", "[1, 2]", "6:6", "a:b", "", "x y", "null", "0.1", "9" * 30]
    ),
    st.text(max_size=6),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    toolkit=st.sampled_from(sorted(TOOLKITS)),
    options=st.lists(st.tuples(st.sampled_from(OPTIONS), VALUES), min_size=1, max_size=8),
    as_yaml=st.booleans(),
)
def test_any_option_with_any_value(toolkit: str, options: list[tuple[str, str]], as_yaml: bool, tmp_path: Path):
    """A translation, or an error for people; each option told once; and a run file that TOML can read."""
    if as_yaml:
        text, name = "\n".join(f"{option}: {value}" for option, value in options), "c.yaml"
    else:
        text, name = " ".join(f"--{option} {value}" for option, value in options), "c.sh"
    try:
        translation = translate(tmp_path, text, name, toolkit)
    except OpenworkError as error:
        assert error.what
        return
    assert translation.settings is not None or translation.problem
    assert report_lines(translation)
    json.dumps(report_values(translation))
    tomllib.loads(run_text(translation))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=80), name=st.sampled_from(["c.sh", "c.yaml", "c"]))
def test_any_text(text: str, name: str, tmp_path: Path):
    try:
        translation = translate(tmp_path, text, name, "fairseq")
    except OpenworkError:
        return
    tomllib.loads(run_text(translation))
