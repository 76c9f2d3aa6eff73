"""A translation file says what the options of `openwork translate` say, and no less clearly what is wrong with it."""

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from base.json_schema import flaws
from journeys.command import Finished, told
from openwork.cli.translate import LineOptions
from openwork.inference.settings import LineSettings
from openwork.runs.file.keys import translation_file_schema

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]
LINES = b"a b c\nd e f g\nb b\n"


@pytest.fixture
def by_file(call: Call, bundle_folder: Path, tmp_path: Path) -> Callable[..., Finished]:
    """Translates with a file that names the bundle relative to itself."""
    (tmp_path / "bundle").symlink_to(bundle_folder)
    (tmp_path / "terms.tsv").write_text("a b\tzebra\nf\tfox\n", encoding="utf-8")

    def run(text: str, *options: str, stdin: bytes = LINES) -> Finished:
        file = tmp_path / "careful.toml"
        file.write_text(f'bundle = ["bundle"]\n{text}\n', encoding="utf-8")
        return call("translate", "--settings", file, *options, stdin=stdin)

    return run


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", []),
        ("as_json = true\n[decoding]\nbeam = 6\nbest = 3", ["--json", "--beam", "6", "--best", "3"]),
        ("stream = true", ["--stream"]),
        ("alternatives = 1\n[decoding]\nbest = 2", ["--alternatives", "1", "--best", "2"]),
        ('terms = "terms.tsv"', ["--terms", "terms.tsv"]),
        ('[decoding]\nprefix = "ff"\nforbidden = ["a", "b"]', ["--prefix", "ff", "--forbid", "a", "--forbid", "b"]),
        ("[decoding]\nsamples = 2\nseed = 5", ["--samples", "2", "--seed", "5"]),
    ],
)
def test_a_file_is_its_options(
    by_file: Callable[..., Finished], call: Call, tmp_path: Path, text: str, options: list[str]
) -> None:
    given = [tmp_path / one if one.endswith(".tsv") else one for one in options]
    by_options = call("translate", "--bundle", tmp_path / "bundle", *given, stdin=LINES)
    result = by_file(text)
    assert result.code == by_options.code == 0
    assert result.out == by_options.out


@pytest.mark.usefixtures("by_file")
def test_two_bundles_in_a_file_are_an_ensemble(call: Call, tmp_path: Path) -> None:
    one, other = tmp_path / "bundle", tmp_path / "elsewhere"
    (tmp_path / "two.toml").write_text('bundle = ["bundle", "elsewhere"]', encoding="utf-8")
    told(call("translate", "--settings", tmp_path / "two.toml", stdin=LINES), 4, "elsewhere")
    other.symlink_to(one)
    together = call("translate", "--bundle", one, "--bundle", other, "--json", stdin=LINES)
    assert call("translate", "--settings", tmp_path / "two.toml", "--json", stdin=LINES).out == together.out


def test_requests_come_as_json(by_file: Callable[..., Finished]) -> None:
    line = json.dumps({"text": "a b c", "prefix": "ff"}).encode()
    assert by_file("requests = true", stdin=line + b"\n").lines[0].startswith("ff")


def test_an_option_goes_before_the_file(by_file: Callable[..., Finished]) -> None:
    assert (
        by_file("[decoding]\nbeam = 5\nforbidden = ['a']", "--beam", "1").out
        == by_file("", "--beam", "1", "--forbid", "a").out
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[decoding]\nbeem = 3", "careful.toml:3: "),
        ("[decoding]\nbeam = 0", "careful.toml:3: "),
        ('[decoding]\nbeam = "three"', "careful.toml:3: "),
        ("[decoding]\nbeam = 4\ngroups = 3", "careful.toml:4: "),
        ("decoding = 3", "careful.toml:2: "),
        ("streem = true", "did you mean stream?"),
        ("alternatives = -1", "careful.toml:2: "),
        ("stream = true\nas_json = true", "--stream does not go with --json"),
        ("[decoding]\nbest = 9\nbeam = 3", "--best 9 needs a beam of at least 9"),
    ],
)
def test_mistakes_are_told_with_their_line(by_file: Callable[..., Finished], text: str, said: str) -> None:
    told(by_file(text), 2 if said.startswith("--") else 3, said)


def test_without_a_bundle_nothing_is_done(call: Call, tmp_path: Path) -> None:
    told(call("translate", stdin=LINES), 2, "no bundle was named")
    told(call("translate", "--settings", tmp_path / "none.toml", stdin=LINES), 3, "none.toml")


def test_the_schema_knows_every_option_about_lines() -> None:
    schema: dict[str, Any] = translation_file_schema()
    options = {field.name for field in fields(LineOptions)}
    assert options == set(LineSettings.model_fields)
    assert {"base", "decoding", *options} == set(schema["properties"])
    right = {"bundle": ["a", "b"], "terms": "t.tsv", "alternatives": 2, "stream": True, "decoding": {"beam": 3}}
    assert list(flaws(right, schema, schema)) == []
    assert list(flaws({"streem": True}, schema, schema)) != []
