"""Keys explained, and the schema of the run file held against the run files that there are."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from architecture.house import REPOSITORY
from base.json_schema import flaws
from openwork.base.config import Layer
from openwork.base.errors import UsageError
from openwork.models.presets import PRESETS
from openwork.runs.file.keys import explain_key, key_lines, known_keys, leaves, run_file_schema
from openwork.runs.file.resolve import resolve_run
from openwork.runs.file.settings import RunSettings

RUN_FILES = sorted([*(REPOSITORY / "recipes").glob("*.toml"), *(REPOSITORY / "examples").glob("*.toml")])


def test_every_setting_is_known_and_described():
    """No value of a run is missing from the list of keys, and none is without its meaning."""
    values = resolve_run(Layer({"data": {"corpus": "copy"}})).model_dump(mode="json")
    names = {key.name for key in known_keys()}
    others = {"picture", "sound", "series"}  # sections that a run of texts has not
    assert {name for name, _ in leaves(values)} <= names | others
    assert [key.name for key in known_keys() if not (key.description and key.takes)] == []


def test_defaults_are_those_of_the_settings():
    values = dict(leaves(resolve_run(Layer({"data": {"corpus": "copy"}})).model_dump(mode="json")))
    for key in known_keys():
        kinds = key.kinds or ("transformer",)
        if key.default and key.name in values and "transformer" in kinds:
            assert tomllib.loads(f"value = {key.default}")["value"] == values[key.name], key.name


def test_a_key_is_explained():
    found = explain_key("training.warmup")[0]
    assert (
        found.forms[0].takes == "a whole number, at least 1 and at most 1000000000" and found.forms[0].default == "4000"
    )
    text = "\n".join(found.lines())
    assert "updates in which the rate rises linearly" in text and "section:  [training]" in text
    assert "used in:  copy: 200" in text


def test_the_paper_of_an_option_is_named():
    assert "  from:     Vaswani et al. 2017, section 3.1" in explain_key("model.width")[0].lines()


def test_the_values_of_an_option_are_explained():
    lines = explain_key("model.positions")[0].lines()
    named = {value for key in explain_key("model.positions")[0].forms for value, _ in key.values}
    assert {"sinusoidal", "rotary", "learned"} <= named
    assert all(any(line.split()[:1] == [value] for line in lines) for value in named)


def test_every_option_of_a_model_says_where_it_comes_from():
    """Or what its values are, each of which names its source."""
    assert [key.name for key in known_keys() if key.kinds and not (key.origin or key.values)] == []


def test_related_keys_share_a_word_or_are_spoken_of():
    assert {"data.valid_target", "data.source"} <= set(explain_key("data.valid_source")[0].related)
    assert "decoding.beam" in explain_key("decoding.best")[0].related  # "at most beam"
    assert not any(name.startswith("model.") for name in explain_key("training.warmup")[0].related)


def test_last_part_alone_means_every_key_of_that_name():
    assert [found.name for found in explain_key("beam")] == ["decoding.beam"]
    assert {"training.patience", "decoding.patience"} == {found.name for found in explain_key("patience")}


def test_kinds_differ_in_one_key():
    width = explain_key("model.width")[0]
    of_transformer = next(key.kinds for key in width.forms if "transformer" in key.kinds)
    of_recurrent = next(key.kinds for key in width.forms if "recurrent" in key.kinds)
    assert not {*of_transformer} & {*of_recurrent}


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("decoding.baem", "decoding.beam"), ("baem", "decoding.beam"), ("trainig.warmup", "training.warmup")],
)
def test_nearest_name(wrong: str, right: str):
    with pytest.raises(UsageError, match="no run file has such a key") as refused:
        explain_key(wrong)
    assert right in refused.value.hint


def test_nothing_near():
    with pytest.raises(UsageError) as refused:
        explain_key("qqqqqq")
    assert "openwork config explain" in refused.value.hint


def test_lines():
    lines = key_lines()
    assert len(lines) == len(known_keys()) and all("\n" not in line for line in lines)
    assert any(
        line.startswith("decoding.beam: a whole number, at least 1 and at most 1000; default 4; ") for line in lines
    )
    assert len(key_lines("decoding")) == len([key for key in known_keys() if key.section == "decoding"]) > 5
    assert key_lines("nonsense") == []


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return run_file_schema()


@pytest.mark.parametrize("path", RUN_FILES, ids=lambda path: path.stem)
def test_schema_allows_every_run_file_that_there_is(path: Path, schema: dict[str, Any]):
    assert list(flaws(tomllib.loads(path.read_text("utf-8")), schema, schema)) == []


COPY = '[data]\ncorpus = "copy"\n'


@pytest.mark.parametrize(
    "text",
    [
        COPY + "[training]\nstepz = 3",
        COPY + '[training]\nsteps = "3"',
        COPY + "[training]\nsteps = 0",
        COPY + '[training]\nschedule = "papper"',
        COPY + '[model]\npreset = "tinny"',
        COPY + '[model]\nkind = "perceptron"',
        COPY + '[model]\nkind = "recurrent"\nheads = 2',
        COPY + "[model]\nattention_width = 2",  # the recurrent model's, and this is none
        COPY + "[modle]\nwidth = 3",
        COPY + "[decoding]\nbeam = true",
        "[model]\nwidth = 8",  # no data, and no base that might have some
    ],
)
def test_schema_refuses_what_we_refuse(text: str, schema: dict[str, Any]):
    assert list(flaws(tomllib.loads(text), schema, schema)) != []


@pytest.mark.parametrize(
    "text",
    [COPY, 'base = "other.toml"\n[training]\nsteps = 3', *(f'{COPY}[model]\npreset = "{name}"' for name in PRESETS)],
)
def test_schema_allows_bases_and_presets(text: str, schema: dict[str, Any]):
    assert list(flaws(tomllib.loads(text), schema, schema)) == []


def test_schema_describes_every_section(schema: dict[str, Any]):
    assert {"base", *RunSettings.model_fields} == set(schema["properties"])
    assert schema["$schema"].startswith("https://json-schema.org/")
