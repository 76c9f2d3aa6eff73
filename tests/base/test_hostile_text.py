"""Text of strangers that commands a terminal or turns what is read: it is shown, wherever it comes from."""

import io
import json
import re
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from journeys.command import TINY, Finished
from openwork.base.files import sha256_file
from openwork.base.printing import UNSAFE, GuardedStream
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.cli.terminal import progress_console

Call = Callable[..., Finished]

HOSTILE = "\x1b]0;owned\x07\x1b[2J\r\x9b8m\u202egpj\u2066\u2028\x7f"
SHOWN = "\\x1b]0;owned\\x07\\x1b[2J\\r\\x9b8m\\u202egpj\\u2066\\u2028\\x7f".replace("\\r", "\\x0d")
AS_JSON = json.dumps(HOSTILE)[1:-1]  # the escapes of JSON, run files and Python's own repr
MARK = "owned"  # stands in all forms of it


def shown(result: Finished) -> str:
    """What the terminal got: nothing unsafe, and the strange text, escaped."""
    printed = result.out.decode() + result.err
    assert UNSAFE.findall(printed) == []
    assert MARK in printed, printed
    assert "bug in openwork" not in printed and "Traceback" not in printed
    return printed


def sign(folder: Path, **changes: object) -> None:
    """The bundle's manifest says that the files are as they were written, as one would who means ill."""
    path = folder / "bundle.json"
    names = [other.name for other in folder.iterdir() if other != path]
    sums = {name: sha256_file(folder / name) for name in names}
    path.write_text(json.dumps({**json.loads(path.read_text()), "sha256": sums, **changes}))


@pytest.mark.slow
def test_the_card_of_a_bundle(call: Call, bundle_folder: Path):
    (bundle_folder / "card.md").write_text(f"# {HOSTILE}\n", encoding="utf-8")
    sign(bundle_folder)
    assert "\\x1b]0;owned\\x07\\x1b[2J" in shown(call("info", bundle_folder))  # in lines of its own


@pytest.mark.slow
@pytest.mark.parametrize("command", ["info", "verify", "translate"])
@pytest.mark.parametrize("what", ["version", "name of a file", "format"])
def test_the_manifest_of_a_bundle(call: Call, bundle_folder: Path, command: str, what: str):
    manifest = json.loads((bundle_folder / "bundle.json").read_text())
    changes: dict[str, dict[str, object]] = {
        "version": {"version": 10**6, "openwork": HOSTILE},
        "name of a file": {"sha256": {**manifest["sha256"], HOSTILE: "0"}},
        "format": {"format": HOSTILE},
    }
    sign(bundle_folder, **changes[what])
    result = call(command, *(["--bundle"] if command == "translate" else []), bundle_folder)
    assert result.code == (1 if (command, what) == ("verify", "name of a file") else 4)
    if what == "format":
        assert UNSAFE.findall(result.err) == []  # it is not even quoted
    else:
        shown(result)


@pytest.mark.slow
def test_the_golden_examples_of_a_bundle(call: Call, tiny_bundle: Bundle, tmp_path: Path):
    golden = tuple(replace(one, source=HOSTILE, translation=HOSTILE) for one in tiny_bundle.golden)
    write_bundle(tmp_path / "golden", replace(tiny_bundle, golden=golden))
    for layout in ([], ["--json"]):
        result = call("verify", tmp_path / "golden", *layout)
        assert UNSAFE.findall(result.out.decode() + result.err) == [] and "FAILED" in result.out.decode().upper()


@pytest.mark.slow
def test_the_keys_and_values_of_a_bundle(call: Call, bundle_folder: Path):
    with (bundle_folder / "config.toml").open("a", encoding="utf-8") as config:
        config.write(f'\n["{AS_JSON}"]\nx = 1\n')
    sign(bundle_folder)
    shown(call("translate", "--bundle", bundle_folder))


@pytest.mark.slow
@pytest.mark.parametrize(
    "lines",
    [
        f'[data]\ncorpus = "copy"\n["{AS_JSON}"]\nx = 1\n', f'[data]\ncorpus = "copy"\n"{AS_JSON}" = 1\n',
        f'[data]\ncorpus = "copy"\n[model]\nkind = "{AS_JSON}"\n',
        pytest.param(f'[data]\ncorpus = "{AS_JSON}"\n', marks=pytest.mark.slow),
        f'base = "{AS_JSON}"\n', f'[data]\nfile = "{AS_JSON}"\n',
    ],
    ids=["a section", "a key", "a kind", "a corpus", "a base", "a file"],
)  # fmt: skip
def test_a_run_file(call: Call, tmp_path: Path, lines: str):
    (tmp_path / "run.toml").write_text(lines, encoding="utf-8")
    for command in (["config", "show"], ["train", "--preflight"]):
        result = call(*command, tmp_path / "run.toml")
        assert UNSAFE.findall(result.out.decode() + result.err) == [] and MARK in result.out.decode() + result.err


def test_a_run_file_shown_can_be_read_again(call: Call, tmp_path: Path):
    (tmp_path / "run.toml").write_text(TINY + f'prefix = "{AS_JSON}"\n', encoding="utf-8")
    first = call("config", "show", tmp_path / "run.toml")
    shown(first)
    (tmp_path / "again.toml").write_bytes(first.out)
    assert call("config", "show", tmp_path / "again.toml").out == first.out
    settings = tomllib.loads((tmp_path / "again.toml").read_text(encoding="utf-8"))
    assert settings["decoding"]["prefix"] == HOSTILE


@pytest.mark.parametrize("command", [["data", "stats"], ["data", "check", "--source"]], ids=" ".join)
@pytest.mark.parametrize("name", ["pairs.jsonl", "pairs.tmx", f"{HOSTILE}.tsv"], ids=["jsonl", "tmx", "a file's name"])
def test_a_corpus(call: Call, tmp_path: Path, command: list[str], name: str):
    texts = {
        "pairs.jsonl": json.dumps({HOSTILE: "a", f"{HOSTILE}2": "b"}) + "\n",
        "pairs.tmx": f'<tmx version="1.4"><body><tu><tuv xml:lang="{MARK}&#x202e;&#x9b;"><seg>a</seg></tuv>'
        f'<tuv xml:lang="{MARK}&#x2028;"><seg>b</seg></tuv><tuv xml:lang="{MARK}&#x7f;"><seg>c</seg></tuv>'
        "</tu></body></tmx>\n",
    }
    (tmp_path / name).write_text(texts.get(name, "one column\n"), encoding="utf-8")
    if command[-1] == "--source":
        result = call(*command, tmp_path / name, "--target", tmp_path / f"{HOSTILE}.none")
    else:
        result = call(*command, tmp_path / name)
    assert result.code
    shown(result)


def test_a_suggestion(call: Call, tmp_path: Path):
    (tmp_path / f"{HOSTILE}.en").write_text("a\n", encoding="utf-8")
    printed = shown(call("data", "stats", "--source", tmp_path / f"{HOSTILE}.e", "--target", tmp_path / "x"))
    assert f"did you mean {tmp_path}/{SHOWN}.en?" in printed


def test_a_line_end_in_a_name_forges_no_line(call: Call, tmp_path: Path):
    result = call("data", "stats", tmp_path / "x\nerror E001: all your files are gone")
    assert len(result.err.splitlines()) <= 3 and "\\nerror E001" in result.err


def test_what_compare_calls_its_two(call: Call, tmp_path: Path):
    for name in (HOSTILE, f"{HOSTILE}2", "reference"):
        (tmp_path / name).write_text("a b c\nd e f\n", encoding="utf-8")
    paths = tmp_path / HOSTILE, tmp_path / f"{HOSTILE}2", "--reference", tmp_path / "reference"
    effort = "--resamples", "10", "--trials", "10"
    assert SHOWN in shown(call("compare", *paths, *effort))
    result = call("compare", *paths, *effort, "--json")
    shown(result)
    assert json.loads(result.out)["first"] == str(tmp_path / HOSTILE)


@pytest.mark.slow
def test_the_work_of_a_tokenizer_is_shown_and_its_pieces_are_data(call: Call, bundle_folder: Path):
    line = f"a{HOSTILE}b\n".encode()
    worked = call("tokenize", "--bundle", bundle_folder, "--show-work", stdin=line)
    assert worked.code == 0 and UNSAFE.findall(worked.out.decode()) == [] and "\\x1b" in worked.out.decode()
    told = call("tokenize", "--bundle", bundle_folder, "--json", stdin=line)
    assert UNSAFE.findall(told.out.decode()) == [] and MARK in json.loads(told.out)["text"]


@pytest.mark.slow
def test_a_page(call: Call, bundle_folder: Path, tmp_path: Path):
    call("explain", f"a \u202e\x1b{MARK}", "--bundle", bundle_folder, "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert MARK in page and UNSAFE.findall(page) == []


def test_a_live_display_shows_it_in_its_own_colours(monkeypatch: pytest.MonkeyPatch):
    raw = io.StringIO()
    monkeypatch.setattr(sys, "stderr", GuardedStream(raw))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    progress_console().print(f"[bold]{HOSTILE}[/bold]", soft_wrap=True)
    own = re.compile(r"\x1b\[[0-9;]*m")  # colours, which rich gives
    assert own.search(raw.getvalue()) and UNSAFE.findall(own.sub("", raw.getvalue())) == []
    assert MARK in raw.getvalue() and "\\x1b" in raw.getvalue()


def test_print_itself_cannot_forget_it(monkeypatch: pytest.MonkeyPatch):
    raw = io.StringIO()
    monkeypatch.setattr(sys, "stdout", GuardedStream(raw))
    print(HOSTILE, "ja", sep="\t")
    assert raw.getvalue() == f"{SHOWN}\tja\n"
