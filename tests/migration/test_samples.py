"""A typical recipe of each toolkit: recognised, every option told exactly once, and a run file that ours accept."""

import re
import tomllib
from collections import Counter
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import yaml

from migration.translated import SAMPLES, value
from openwork.base.config import read_run_file
from openwork.migration.draft import Verdict
from openwork.migration.report import report_values
from openwork.migration.run_text import run_text
from openwork.migration.translation import TOOLKITS, ConfigTranslation, translate_configuration
from openwork.runs.file.resolve import resolve_run

RECIPES = {
    "fairseq_iwslt14.sh": "fairseq",
    "fairseq_hydra.yaml": "fairseq",
    "opennmt_base.yaml": "opennmt-py",
    "eole_base.yaml": "eole",
    "marian_wmt17.yml": "marian",
    "marian_wmt17.sh": "marian",
    "sockeye_base.sh": "sockeye",
    "joeynmt_small.yaml": "joeynmt",
    "joeynmt_recurrent.yaml": "joeynmt",
}


@pytest.fixture(params=RECIPES)
def recipe(request: pytest.FixtureRequest) -> Path:
    return SAMPLES / request.param


def translated(path: Path) -> ConfigTranslation:
    return translate_configuration(path, None, {})


def test_each_toolkit_has_a_sample():
    assert set(RECIPES.values()) == set(TOOLKITS) and {path.name for path in SAMPLES.iterdir()} == set(RECIPES)


def test_recognised(recipe: Path):
    assert translated(recipe).toolkit.name == RECIPES[recipe.name]


def options_by_another_way(path: Path) -> Counter[str]:
    """The options of a sample, counted without our readers."""
    if path.suffix != ".sh":
        return Counter(leaves(yaml.safe_load(path.read_text())))
    text = re.sub(r"(?m)^\s*#.*$", "", path.read_text())
    text = re.sub(r"'[^']*'", "quoted", text)  # what is quoted holds no options in the samples
    found = Counter(re.findall(r"(?<=\s)-{1,2}[a-zA-Z][\w-]*", text.replace('"', " ")))
    if "python -m" in text:
        found["-m"] -= 1
    return +found


def leaves(table: dict[str, Any], prefix: str = "") -> list[str]:
    return [
        name
        for key, item in table.items()
        for name in (leaves(item, f"{prefix}{key}.") if isinstance(item, dict) and item else [f"{prefix}{key}"])
    ]


def test_every_option_is_told_exactly_once(recipe: Path):
    told = Counter(finding.option.shown for finding in translated(recipe).findings)
    options = Counter(
        {shown: count for shown, count in told.items() if recipe.suffix != ".sh" or shown.startswith("-")}
    )
    assert options == options_by_another_way(recipe)
    values = report_values(translated(recipe))
    listed = [entry["option"] for verdict in Verdict for entry in values[verdict]]
    assert Counter(listed) == told


def test_unknown_options_are_never_dropped(recipe: Path):
    (mystery,) = [finding for finding in translated(recipe).findings if "mystery" in finding.option.shown]
    assert mystery.verdict is Verdict.MISSING and "does not know this option" in mystery.note


def test_options_that_are_not_ours_have_a_reason(recipe: Path):
    findings = translated(recipe).findings
    assert all(finding.note for finding in findings if finding.verdict in (Verdict.MISSING, Verdict.ATTENTION))
    unknown = [finding.option.shown for finding in findings if "does not know" in finding.note]
    assert len(unknown) == 1, f"a typical recipe holds only known options, besides the mystery: {unknown}"


def test_the_run_file_is_accepted_and_says_what_was_meant(recipe: Path, tmp_path: Path):
    translation = translated(recipe)
    assert translation.settings is not None and not translation.problem
    path = tmp_path / "run.toml"
    path.write_text(run_text(translation), encoding="utf-8")
    assert resolve_run(read_run_file(path)) == translation.settings


def test_each_line_says_where_it_came_from(recipe: Path):
    translation = translated(recipe)
    lines = run_text(translation).splitlines()
    written = [number for number, line in enumerate(lines) if re.match(r"\w+ = ", line) and not in_mix(lines, number)]
    plain = [line for line in translation.lines if line.key != "data.mix"]
    assert len(written) == len(plain) > 10
    for number in written:
        above = "".join(takewhile(lambda line: line.startswith("#"), reversed(lines[:number])))
        comment = lines[number].partition("  # ")[2] or above
        assert recipe.name in comment or translation.toolkit.title in comment or "placeholder" in comment


def in_mix(lines: list[str], number: int) -> bool:
    header = next(line for line in reversed(lines[:number]) if line.startswith("["))
    return header.startswith("[[")


def test_lines_stand_in_sections_once(recipe: Path):
    tables = tomllib.loads(run_text(translated(recipe)))
    assert set(tables) <= {"data", "text", "filters", "batches", "model", "training", "decoding"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "fairseq_iwslt14.sh",
            {
                "model.heads": 4,
                "model.feedforward_width": 1024,
                "model.tying": "target",
                "training.optimiser": "adamw",
                "training.smoothing_form": "others",
                "decoding.beam": 5,
            },
        ),
        (
            "fairseq_hydra.yaml",
            {
                "model.width": 1024,
                "model.norm": "pre",
                "training.schedule": "inverse-square-root",
                "training.learning_rate": 0.0007,
                "training.r_drop": 5.0,
                "batches.tokens": 3584,
            },
        ),
        (
            "opennmt_base.yaml",
            {
                "training.schedule": "paper",
                "training.schedule_scale": 2.0,
                "model.norm": "pre",
                "training.accumulate": 4,
                "training.ema": 0.9995,
            },
        ),
        (
            "eole_base.yaml",
            {
                "model.width": 1024,
                "model.feedforward": "swiglu",
                "model.positions": "rotary",
                "model.normalisation": "rms",
                "training.precision": "bfloat16",
            },
        ),
        (
            "marian_wmt17.yml",
            {
                "training.warmup": 16000,
                "training.ema": 0.9999,
                "training.steps": 300_000,
                "text.source_file": "run/vocab.spm",
                "model.attention_bias": True,
            },
        ),
        (
            "marian_wmt17.sh",
            {
                "model.width": 1024,
                "training.learning_rate": 0.0002,
                "decoding.beam": 12,
                "training.seed": 1111,
                "model.norm": "pre",
            },
        ),
        ("sockeye_base.sh", {"training.learning_rate": 0.00100007, "training.accumulate": 10, "batches.tokens": 5000}),
        (
            "joeynmt_small.yaml",
            {
                "model.width": 256,
                "model.attention_dropout": 0.3,
                "text.sampling": 0.1,
                "training.optimiser": "adamw",
                "decoding.no_repeat": 4,
            },
        ),
        ("joeynmt_recurrent.yaml", {"model.kind": "recurrent", "text.kind": "characters", "model.width": 200}),
    ],
)
def test_what_the_recipes_mean(name: str, expected: dict[str, Any]):
    translation = translated(SAMPLES / name)
    assert {key: value(translation, key) for key in expected} == expected
